// `svc ads`: pools of ads and what becomes of them, for AI companies; sealed campaigns and ads, for advertisers of a sandbox.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Envelope } from "../client/business-answers.ts";
import { forms, ofForm } from "../client/business-client.ts";
import { ownersPasskey, sealAlone } from "../node/sandbox/sealer.ts";
import { businessOptions, connectBusiness, jsonOption } from "./business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "./command.ts";
import { connect, connectionOptions, homeOf, loadSandbox } from "./connection.ts";
import { loadOwner } from "./owner.ts";
import { formatTable } from "./terminal.ts";

const companyOptions = {
  json: jsonOption,
  company: { type: "string", value: "N|UUID", help: "AI company of the sandbox that asks (default 1)" },
  ...connectionOptions,
} as const;

const pool: Command = {
  name: "ads pool",
  usage: "KEYWORD…",
  summary: "ask for ads of a country by subject terms, in your order",
  details: [
    "Each KEYWORD is compared whole with those of the ads. Sort keys: net_price, published_at, keyword_matches, random.",
  ],
  options: {
    country: { type: "string", short: "c", value: "CC", help: "country of the ads (default US)" },
    sort: { type: "string", short: "s", value: "KEYS", help: "up to three, as key:asc or key:desc" },
    limit: { type: "string", short: "n", value: "N", help: "ads, 1 to 20 (default 20)" },
    session: { type: "string", value: "LABEL", help: "your label of the conversation, for repeats" },
    ...companyOptions,
  },
  run: runPool,
};

const formats = ["text", "card", "carousel", "list", "voice", "other"] as const;

const render: Command = {
  name: "ads render",
  usage: "RENDER_TOKEN|RECORD_ID",
  summary: "confirm that an ad or a sponsored row is shown; answers its label and a click token",
  options: {
    search: {
      type: "string",
      value: "RETRIEVAL_ID",
      help: "the search of products that answered the sponsored row RECORD_ID",
    },
    format: { type: "string", value: "FORMAT", help: `${formats.join(", ")} (default text)` },
    ...companyOptions,
  },
  run: runRender,
};

const click: Command = {
  name: "ads click",
  usage: "CLICK_TOKEN",
  summary: "confirm that an ad was followed",
  options: companyOptions,
  run: runClick,
};

const publish: Command = {
  name: "ads publish",
  usage: "FILE",
  summary: "seal a campaign, an ad or a sponsored product in a sandbox, and publish it",
  details: [
    "FILE has the exact bytes of a campaign (svc/ad_campaign/1), of an ad (svc/ads/1) or of a sponsored product (svc/ad_product/1). The",
    "owner of the sample business seals it, with the passkey in sandbox.json, or the owner of your own business with the one that svc grant made for --config.",
    "Elsewhere people seal in their portal; --seal sends the envelope that was sealed there.",
  ],
  options: {
    seal: { type: "string", value: "FILE", help: "the seal over the file, as JSON, that was made elsewhere" },
    json: jsonOption,
    business: { type: "string", value: "N|UUID", help: "business of the sandbox that publishes (default 1)" },
    ...connectionOptions,
  },
  run: runPublish,
};

export const adsCommands: readonly Command[] = [pool, render, click, publish];

async function runPool(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const keywords = args.positionals;
  if (keywords.length === 0) throw new UsageError("Name at least one subject. See: svc help ads pool");
  const { client } = await connect("ai_company", args, context);
  const [limit, session] = [args.text("limit"), args.text("session")];
  const answer = await client.adPool({
    ...{ country: args.text("country") ?? "US", keywords },
    sort_by: args.text("sort") ?? "net_price:desc,random:asc",
    ...(limit === null ? {} : { limit: Number(limit) }),
    ...(session === null ? {} : { session_ref: session }),
  });
  const { text, body } = ofForm(forms.pool, answer);
  const { terminal } = context;
  if (args.flag("json")) {
    terminal.write(`${text}\n`);
    return exitCodes.done;
  }
  const rows = body.ads.map(({ ad_id, creative, label, net_price }) => [
    ...[ad_id, String(creative.headline), label.advertiser, `${net_price.amount} ${net_price.currency}`],
  ]);
  if (rows.length === 0) terminal.note("No ad has one of these keywords.");
  else
    for (const line of formatTable(["AD", "HEADLINE", "ADVERTISER", "NET PRICE"], rows, terminal.columns))
      terminal.print(line);
  for (const { ad_id, render_token } of body.ads) terminal.print(`${ad_id} ${render_token}`);
  return body.ads.length === 0 ? exitCodes.negative : exitCodes.done;
}

async function runRender(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const named = onlyArgument(args, render);
  const retrieval_id = args.text("search");
  const asked = args.text("format") ?? "text";
  const format = formats.find((each) => each === asked);
  if (format === undefined) throw new UsageError(`--format is one of ${formats.join(", ")}.`);
  const { client } = await connect("ai_company", args, context);
  const { text, body } = await client.renderAd(
    retrieval_id === null ? { render_token: named, format } : { retrieval_id, record_id: named, format },
  );
  const said = `${body.record_id ?? body.ad_id} rendered at ${body.rendered_at}; ${body.label.text}: ${body.label.advertiser}`;
  context.terminal.print(args.flag("json") ? text : `${said}\n${body.click_token}`);
  return exitCodes.done;
}

async function runClick(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const click_token = onlyArgument(args, click);
  const { client } = await connect("ai_company", args, context);
  const { text, body } = await client.clickAd({ click_token });
  context.terminal.print(args.flag("json") ? text : `${body.ad_id} clicked at ${body.clicked_at}`);
  return exitCodes.done;
}

async function runPublish(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const record = await bytesOf(onlyArgument(args, publish), context);
  const { client, identity } = await connect("business", args, context);
  const sealFile = args.text("seal");
  const seal =
    sealFile === null
      ? await sealFor(args, context, identity, { record, context: (await client.sealContext()).body })
      : await sealIn(sealFile, context);
  const { text, body } = await client.publishAd(record, seal);
  const said =
    "ad_id" in body
      ? `${body.ad_id}  version ${body.version}, ${body.state}`
      : `${body.campaign_id}  ${body.state}`;
  context.terminal.print(args.flag("json") ? text : said);
  return exitCodes.done;
}

async function sealFor(
  args: Arguments,
  context: CommandContext,
  businessUuid: string,
  given: Omit<Parameters<typeof sealAlone>[1], "atMs">,
): Promise<Envelope> {
  const config = args.text("config");
  const facts = { ...given, atMs: context.now() };
  if (config !== null) return sealAlone(await loadOwner(config, context), facts);
  const { anchors, businesses } = await loadSandbox(homeOf(args, context));
  const owner = businesses.find((each) => each.business_uuid === businessUuid)?.owner;
  if (owner === undefined) throw new UsageError("sandbox.json has no passkey of this business.");
  return sealAlone(ownersPasskey(owner.private_jwk, anchors.passkeys), facts);
}

async function sealIn(file: string, context: CommandContext): Promise<Envelope> {
  try {
    return JSON.parse(new TextDecoder().decode(await bytesOf(file, context))) as Envelope;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} is not a seal as JSON.`);
  }
}

async function bytesOf(file: string, { cwd }: CommandContext): Promise<Uint8Array> {
  const bytes = await readFile(resolve(cwd, file)).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code ?? error.message}).`);
  });
  return new Uint8Array(bytes);
}

// `svc ads image`: sends an image of an ad, which a creative then names by its hash.

export const adsImage: Command = {
  name: "ads image",
  usage: "FILE",
  summary: "send an image of an ad, and show the hash by which a creative names it",
  details: ["A still PNG, JPEG or WebP of at most 2 MiB. Sending it again changes nothing."],
  options: {
    json: { type: "boolean", help: "print the service's answer as JSON" },
    ...businessOptions,
  },
  run: runAdsImage,
};

async function runAdsImage(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const file = onlyArgument(args, adsImage);
  const bytes = await readFile(resolve(context.cwd, file)).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code ?? error.message}).`);
  });
  const { business } = await connectBusiness(args, context);
  const image = await business.uploadImage(new Uint8Array(bytes));
  const { sha256, media_type, width, height } = image;
  const line = `${sha256} ${media_type} ${width}x${height} ${image.bytes} bytes`;
  context.terminal.print(args.flag("json") ? JSON.stringify(image) : line);
  return exitCodes.done;
}

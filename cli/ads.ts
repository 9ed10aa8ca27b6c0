// `svc ads`: pools of ads and what becomes of them, for AI companies; sealed campaigns and ads, for advertisers of a sandbox.

import { forms, ofForm } from "../client/business-client.ts";
import { sealAlone } from "../node/sandbox/sealer.ts";
import { type Command, UsageError } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { bytesOf, envelopeIn, ownerOf } from "./owner.ts";
import {
  businessAndConnection,
  companyQuery,
  connectBusiness,
  givenOf,
  oneOnEachLine,
  printTable,
} from "./query.ts";

const pool = companyQuery(
  {
    name: "ads pool",
    usage: "KEYWORD…",
    summary: "ask for ads of a country by subject terms, in your order",
    details: [
      "Each KEYWORD is compared whole with those of the ads. Sort keys: net_price, published_at, keyword_matches, random.",
    ],
    options: `
    -c, --country CC  country of the ads (default US)
    -s, --sort KEYS   up to three, as key:asc or key:desc
    -n, --limit N     ads, 1 to 20 (default 20)
    --session LABEL   your label of the conversation, for repeats
    --save FILE       write an evidence file that \`svc verify FILE\` checks offline`,
    ask: (call) => {
      const keywords = call.positionals;
      if (keywords.length === 0) throw new UsageError("Name at least one subject. See: svc help ads pool");
      const limit = call.text("limit");
      const request = {
        country: call.text("country") ?? "US",
        keywords,
        sort_by: call.text("sort") ?? "net_price:desc,random:asc",
        ...(limit === null ? {} : { limit: Number(limit) }),
        ...givenOf(call, { session: "session_ref" }),
      };
      return async (client) => ofForm(forms.pool, await client.adPool(request));
    },
    show: ({ ads }, { terminal }) => {
      if (ads.length === 0) terminal.note("No ad has one of these keywords.");
      const rows = ads.map(({ ad_id, creative, label, net_price }) => [
        ad_id,
        String(creative.headline),
        label.advertiser,
        `${net_price.amount} ${net_price.currency}`,
      ]);
      printTable(terminal, ["AD", "HEADLINE", "ADVERTISER", "NET PRICE"], rows);
      for (const { ad_id, render_token } of ads) terminal.print(`${ad_id} ${render_token}`);
    },
    isNo: ({ ads }, call) => ads.length === 0 && !call.flag("json"),
  },
  { option: oneOnEachLine, isExact: true },
);

const formats = ["text", "card", "carousel", "list", "voice", "other"] as const;

const render = companyQuery(
  {
    name: "ads render",
    usage: "RENDER_TOKEN|RECORD_ID",
    summary: "confirm that an ad or a sponsored row is shown; answers its label and a click token",
    options: `
    --search RETRIEVAL_ID  the search of products that answered the sponsored row RECORD_ID
    --format FORMAT        ${formats.join(", ")} (default text)`,
    ask: (call) => {
      const { argument } = call;
      const retrieval_id = call.text("search");
      const asked = call.text("format") ?? "text";
      const format = formats.find((each) => each === asked);
      if (format === undefined) throw new UsageError(`--format is one of ${formats.join(", ")}.`);
      const subject =
        retrieval_id === null ? { render_token: argument } : { retrieval_id, record_id: argument };
      return (client) => client.renderAd({ ...subject, format });
    },
    show: ({ record_id, ad_id, rendered_at, label, click_token }, { terminal }) => {
      terminal.print(
        `${record_id ?? ad_id} rendered at ${rendered_at}; ${label.text}: ${label.advertiser}\n${click_token}`,
      );
    },
  },
  { option: oneOnEachLine, isExact: false },
);

const click = companyQuery(
  {
    name: "ads click",
    usage: "CLICK_TOKEN",
    summary: "confirm that an ad was followed",
    ask:
      ({ argument }) =>
      (client) =>
        client.clickAd({ click_token: argument }),
    show: ({ ad_id, clicked_at }, { terminal }) => terminal.print(`${ad_id} clicked at ${clicked_at}`),
  },
  { option: oneOnEachLine, isExact: false },
);

const publish: Command = {
  name: "ads publish",
  usage: "FILE",
  summary: "seal a campaign, an ad or a sponsored product in a sandbox, and publish it",
  details: [
    "FILE has the exact bytes of a campaign (svc/ad_campaign/1), of an ad (svc/ads/1) or of a sponsored product (svc/ad_product/1). The",
    "owner of the sample business seals it, with the passkey in sandbox.json, or the owner of your own business with the one that svc grant made for --config.",
    "Elsewhere people seal in their portal; --seal sends the envelope that was sealed there.",
  ],
  options: `
    --seal FILE        the seal over the file, as JSON, that was made elsewhere
${oneOnEachLine}
    --business N|UUID  business of the sandbox that publishes (default 1)
${connectionOptions}`,
  run: async (call) => {
    const record = await bytesOf(call.argument, call);
    const { client, identity } = await connect("business", call);
    const sealFile = call.text("seal");
    const seal =
      sealFile === null
        ? await sealAlone(await ownerOf(call, identity), {
            record,
            type: "ads",
            context: (await client.sealContext()).body,
            atMs: call.now(),
          })
        : await envelopeIn(sealFile, call);
    const { text, body } = await client.publishAd(record, seal);
    const said =
      "ad_id" in body
        ? `${body.ad_id}  version ${body.version}, ${body.state}`
        : `${body.campaign_id}  ${body.state}`;
    call.terminal.print(call.flag("json") ? text : said);
  },
};

export const adsCommands: readonly Command[] = [pool, render, click, publish];

// `svc ads image`: sends an image of an ad, which a creative then names by its hash.

export const adsImage: Command = {
  name: "ads image",
  usage: "FILE",
  summary: "send an image of an ad, and show the hash by which a creative names it",
  details: ["A still PNG, JPEG or WebP of at most 2 MiB. Sending it again changes nothing."],
  options: `
    --json  print the service's answer as JSON${businessAndConnection}`,
  run: async (call) => {
    const bytes = await bytesOf(call.argument, call);
    const { business } = await connectBusiness(call);
    const image = await business.uploadImage(bytes);
    const { sha256, media_type, width, height } = image;
    const line = `${sha256} ${media_type} ${width}x${height} ${image.bytes} bytes`;
    call.terminal.print(call.flag("json") ? JSON.stringify(image) : line);
  },
};

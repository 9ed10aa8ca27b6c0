// `svc hold list|confirm|reject`: what waits for a decision, and the decision. In a sandbox the owner decides with a passkey in
// a file: that of sandbox.json for a sample business, that of the configuration for a business of one's own. In production
// the document comes from where its people seal.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Envelope, HeldPushes } from "../../client/business-answers.ts";
import type { JsonAnswer } from "../../client/json-answer.ts";
import { sealDecision, sealOwnersDecision } from "../../node/sandbox/sealer.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  noArguments,
  onlyArgument,
  UsageError,
} from "../command.ts";
import { connect, connectionOptions, homeOf, loadSandbox } from "../connection.ts";
import { loadOwner } from "../owner.ts";
import { visible } from "../terminal.ts";
import { showHeldReasons } from "./held-reasons.ts";

const businessOption = {
  business: { type: "string", value: "N|UUID", help: "business of the sandbox (default 1)" },
  json: { type: "boolean", help: "print the service's answer exactly as it came" },
} as const;

const list: Command = {
  name: "hold list",
  usage: "",
  summary: "show the held pushes of a business, and why they wait",
  options: { ...businessOption, ...connectionOptions },
  run: listHolds,
};

const details = [
  "In a sandbox the owner of the sample business decides, with the passkey that sandbox.json contains, or the owner of your own",
  "business, with the passkey that svc grant made for --config.",
  "Elsewhere people seal decisions in their portal; --document sends one that was sealed there.",
];
const decisionOptions = {
  document: { type: "string", value: "FILE", help: "a decision that was sealed elsewhere, as JSON" },
  ...businessOption,
  ...connectionOptions,
} as const;

const confirm: Command = {
  name: "hold confirm",
  usage: "PUSH_ID",
  summary: "publish a held push",
  details,
  options: decisionOptions,
  run: (args, context) => decide("confirm", confirm, args, context),
};

const reject: Command = {
  name: "hold reject",
  usage: "PUSH_ID",
  summary: "end a held push; nothing of it is published",
  details,
  options: decisionOptions,
  run: (args, context) => decide("reject", reject, args, context),
};

export const holdCommands: readonly Command[] = [list, confirm, reject];

async function listHolds(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, list);
  const { client } = await connect("business", args, context);
  const { terminal } = context;
  let cursor: string | null = null;
  let shown = 0;
  do {
    const { text, body }: JsonAnswer<HeldPushes> = await client.holdsPage(cursor === null ? {} : { cursor });
    cursor = body.next_cursor;
    shown += body.holds.length;
    if (args.flag("json")) terminal.write(`${text}\n`);
    else
      for (const hold of body.holds) {
        const until = hold.hold_expires_at === null ? "" : `, until ${hold.hold_expires_at}`;
        terminal.print(`${hold.push_id}  ${hold.records} records, received ${hold.received_at}${until}`);
        showHeldReasons(terminal, hold.held_reasons);
      }
  } while (cursor !== null);
  if (shown === 0 && !args.flag("json")) terminal.print("Nothing is held.");
  return exitCodes.done;
}

async function decide(
  decision: "confirm" | "reject",
  command: Command,
  args: Arguments,
  context: CommandContext,
): Promise<ExitCode> {
  const pushId = onlyArgument(args, command);
  const connection = await connect("business", args, context);
  const document = await documentOf(args, context, {
    business_uuid: connection.identity,
    push_id: pushId,
    decision,
  });
  const { text, body: status } = await connection.client.decideHold(pushId, document);
  const { terminal } = context;
  if (args.flag("json")) terminal.write(`${text}\n`);
  else terminal.print(`${status.push_id}  ${decision}ed; now ${status.state}`);
  if (status.error === null) return exitCodes.done;
  if (!args.flag("json")) terminal.print(`failed: ${status.error.code} ${visible(status.error.detail)}`);
  return status.error.code === "hold_rejected" ? exitCodes.done : exitCodes.negative;
}

async function documentOf(
  args: Arguments,
  context: CommandContext,
  decision: {
    readonly business_uuid: string;
    readonly push_id: string;
    readonly decision: "confirm" | "reject";
  },
): Promise<Envelope> {
  const file = args.text("document");
  if (file !== null) {
    const text = await readFile(resolve(context.cwd, file), "utf8").catch(() => null);
    try {
      return JSON.parse(text ?? "") as Envelope;
    } catch {
      throw new UsageError(`${file} is not a sealed decision as JSON.`);
    }
  }
  const config = args.text("config");
  if (config !== null) {
    const passkey = await loadOwner(config, context);
    return sealDecision(passkey, { ...decision, business_uuid: passkey.businessUuid, atMs: context.now() });
  }
  const sandbox = await loadSandbox(homeOf(args, context));
  const sealed = await sealOwnersDecision(sandbox, { ...decision, atMs: context.now() });
  if (sealed !== null) return sealed;
  throw new UsageError(
    "sandbox.json has no passkey of this business; start the node again to have it written.",
  );
}

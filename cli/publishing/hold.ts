// `svc hold list|confirm|reject`: what waits for a decision, and the decision. In a sandbox the owner decides with a passkey in
// a file: that of sandbox.json for a sample business, that of the configuration for a business of one's own. In production
// the document comes from where its people seal.

import type { Envelope, HeldPushes } from "../../client/business-answers.ts";
import type { JsonAnswer } from "../../client/json-answer.ts";
import { sealDecision } from "../../node/sandbox/sealer.ts";
import { type Call, type Command, type ExitCode, exitCodes } from "../command.ts";
import { connect, connectionOptions } from "../connection.ts";
import { envelopeIn, ownerOf } from "../owner.ts";
import { asItCame } from "../query.ts";
import { visible } from "../terminal.ts";
import { showHeldReasons } from "./held-reasons.ts";

const businessOption = `
    --business N|UUID  business of the sandbox (default 1)
${asItCame}${connectionOptions}`;

const list: Command = {
  name: "hold list",
  usage: "",
  summary: "show the held pushes of a business, and why they wait",
  options: businessOption,
  run: async (call) => {
    const { client } = await connect("business", call);
    const { terminal } = call;
    let cursor: string | null = null;
    let shown = 0;
    do {
      const { text, body }: JsonAnswer<HeldPushes> = await client.holdsPage(
        cursor === null ? {} : { cursor },
      );
      cursor = body.next_cursor;
      shown += body.holds.length;
      if (call.flag("json")) terminal.write(`${text}\n`);
      else
        for (const hold of body.holds) {
          const until = hold.hold_expires_at === null ? "" : `, until ${hold.hold_expires_at}`;
          terminal.print(`${hold.push_id}  ${hold.records} records, received ${hold.received_at}${until}`);
          showHeldReasons(terminal, hold.held_reasons);
        }
    } while (cursor !== null);
    if (shown === 0 && !call.flag("json")) terminal.print("Nothing is held.");
  },
};

const details = [
  "In a sandbox the owner of the sample business decides, with the passkey that sandbox.json contains, or the owner of your own",
  "business, with the passkey that svc grant made for --config.",
  "Elsewhere people seal decisions in their portal; --document sends one that was sealed there.",
];
const decisionOptions = `
    --document FILE  a decision that was sealed elsewhere, as JSON${businessOption}`;

const confirm: Command = {
  name: "hold confirm",
  usage: "PUSH_ID",
  summary: "publish a held push",
  details,
  options: decisionOptions,
  run: (call) => decide("confirm", call),
};

const reject: Command = {
  name: "hold reject",
  usage: "PUSH_ID",
  summary: "end a held push; nothing of it is published",
  details,
  options: decisionOptions,
  run: (call) => decide("reject", call),
};

export const holdCommands: readonly Command[] = [list, confirm, reject];

async function decide(decision: "confirm" | "reject", call: Call): Promise<ExitCode> {
  const pushId = call.argument;
  const connection = await connect("business", call);
  const document = await documentOf(call, {
    business_uuid: connection.identity,
    push_id: pushId,
    decision,
  });
  const { text, body: status } = await connection.client.decideHold(pushId, document);
  const { terminal } = call;
  if (call.flag("json")) terminal.write(`${text}\n`);
  else terminal.print(`${status.push_id}  ${decision}ed; now ${status.state}`);
  if (status.error === null) return exitCodes.done;
  if (!call.flag("json")) terminal.print(`failed: ${status.error.code} ${visible(status.error.detail)}`);
  return status.error.code === "hold_rejected" ? exitCodes.done : exitCodes.negative;
}

async function documentOf(
  call: Call,
  decision: {
    readonly business_uuid: string;
    readonly push_id: string;
    readonly decision: "confirm" | "reject";
  },
): Promise<Envelope> {
  const file = call.text("document");
  if (file !== null) return envelopeIn(file, call);
  const owner = await ownerOf(call, decision.business_uuid);
  return sealDecision(owner, { ...decision, business_uuid: owner.businessUuid, atMs: call.now() });
}

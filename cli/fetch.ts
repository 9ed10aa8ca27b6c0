// `svc fetch`: retrieves one record by its id, exactly as the business sealed it.

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { forms, ofForm } from "../client/business-client.ts";
import { evidenceOf } from "../client/evidence.ts";
import { collectProofs, ProofsMissingError } from "../client/proofs.ts";
import type { RecordAnswer } from "../client/service-client.ts";
import { type Call, type Command, exitCodes, UsageError } from "./command.ts";
import { type Connection, connect, connectionOptions } from "./connection.ts";
import { ifThere } from "./failure.ts";
import { type Terminal, visible } from "./terminal.ts";

/** A receipt is in the log two minutes after it was given, at the latest, where nothing is in the way. */
const patienceSecondsDefault = 300;

export const fetchCommand: Command = {
  name: "fetch",
  usage: "RECORD_ID",
  summary: "show one record exactly as it was sealed, or save it as evidence",
  details: [
    "Without --save and --json the record is printed in a readable form; --record prints its exact bytes.",
  ],
  options: `
    --save FILE         write an evidence file that \`svc verify FILE\` checks offline
    --proofs            with --save: put in the transparency log's proofs, once it has them (about two minutes)
    --patience SECONDS  how long to wait for the proofs (default ${patienceSecondsDefault})
    --record            print the exact bytes of the record, nothing else
    --json              print the service's answer exactly as it came
    --company N|UUID    AI company of the sandbox that asks (default 1)
${connectionOptions}`,
  run: async (call) => {
    const recordId = call.argument;
    if (call.flag("proofs") && call.text("save") === null)
      throw new UsageError("--proofs are for a file; name it with --save FILE.");
    const connection = await connect("ai_company", call);
    const { terminal } = call;
    const fetched = await ifThere(connection.client.fetchRecord(recordId));
    if (fetched === null) {
      terminal.note(`There is no record ${recordId} for this caller.`);
      return exitCodes.negative;
    }
    ofForm(forms.record, fetched);
    const save = call.text("save");
    if (save !== null) {
      const evidence = await collect(connection, fetched, call);
      if (evidence === null) return exitCodes.negative;
      await saveEvidence(save, evidence, { environment: connection.environment, call });
    }
    if (call.flag("record")) terminal.write(new TextDecoder().decode(fetched.recordBytes));
    else if (call.flag("json")) terminal.write(`${fetched.text}\n`);
    else if (save === null) showRecord(terminal, fetched);
    return exitCodes.done;
  },
};

/** Writes an evidence file, and says how it is verified. */
export async function saveEvidence(
  file: string,
  evidence: string,
  { environment, call }: { readonly environment: Connection["environment"]; readonly call: Call },
): Promise<void> {
  await writeFile(resolve(call.cwd, file), evidence);
  const option = environment === "sandbox" ? " --sandbox" : " --anchors FILE";
  call.terminal.note(`Saved. Verify it offline with: svc verify ${file}${option}`);
}

/** Null, said, if the log does not contain everything in time. */
async function collect(
  { client, environment, key: { keyId } }: Connection,
  fetched: RecordAnswer,
  call: Call,
): Promise<string | null> {
  const { terminal, now, wait } = call;
  if (!call.flag("proofs")) return evidenceOf(client, fetched, { environment, keyId });
  const patience = call.integer("patience", { min: 0, max: 86_400, fallback: patienceSecondsDefault });
  let isTold = false;
  const onWaiting = (missing: readonly string[]): void => {
    if (!isTold) terminal.note(`Waiting for the transparency log: ${missing.join(", ")}.`);
    isTold = true;
  };
  const patienceMs = patience * 1_000;
  try {
    return await collectProofs(client, fetched, { environment, keyId, now, wait, patienceMs, onWaiting });
  } catch (error) {
    if (!(error instanceof ProofsMissingError)) throw error;
    terminal.note(`${error.message} Nothing was saved; fetch the record again later.`);
    return null;
  }
}

function showRecord(terminal: Terminal, { body }: RecordAnswer): void {
  terminal.print(terminal.bold(`${body.type}  ${body.record_id}`));
  terminal.print(`business    ${body.business_uuid}`);
  terminal.print(`published   ${body.published_at}`);
  terminal.print(`ai policy   version ${body.ai_policy.version}`);
  terminal.print(`source      ${visible(body.provenance.source_line)}`);
  terminal.print("");
  for (const line of JSON.stringify(body.record, null, 2).split("\n")) terminal.print(visible(line));
}

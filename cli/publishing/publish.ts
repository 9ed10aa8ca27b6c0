// `svc publish`: seals records of any type, or an AI policy, one by one, and delivers them. In a sandbox the owner seals with a passkey in
// a file; elsewhere the seal comes from where people seal.

import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Envelope } from "../../client/business-answers.ts";
import { documentFaults, sealFault } from "../../client/documents/document-check.ts";
import { type DocumentType, documentTypes, readDocuments } from "../../client/documents/read-documents.ts";
import { FeedError } from "../../client/feeds/feed-item.ts";
import { ownIdOf, parseJsonText } from "../../client/record-set.ts";
import { type Patience, retryUntil } from "../../client/retry-until.ts";
import type { RecordFault } from "../../client/service-client.ts";
import { sealAlone } from "../../node/sandbox/sealer.ts";
import { isObject } from "../../std/json-pointer.ts";
import { type Arguments, type Call, type Command, type ExitCode, exitCodes, UsageError } from "../command.ts";
import { type Connection, connect, connectionOptions, parseJson, readText } from "../connection.ts";
import { bytesOf, envelopeIn, ownerOf } from "../owner.ts";
import { patienceOf } from "../query.ts";
import { visible } from "../terminal.ts";
import { FeedReport } from "./feed-report.ts";
import { pairs } from "./product-input.ts";
import { formatFaults, type PlacedFaults, shownFaults } from "./push-faults.ts";
import { number } from "./push-progress.ts";

const typeNames = documentTypes.map((type) => type.replaceAll("_", "-"));

export const publish: Command = {
  name: "publish",
  usage: "FILE",
  summary: "seal records of any type, or an AI policy, one by one, and publish them",
  details: [
    "FILE is JSON, a table (CSV or TSV with a column for each member), a calendar (ICS) of events, or JSON-LD of schema.org with events, jobs",
    "or organisations; for --type products also any feed that svc push reads. Each record is checked before any is sealed.",
    "The owner of the sample business seals, with the passkey in sandbox.json, or the owner of your own business with the one that svc",
    "grant made for --config. Elsewhere people seal in their portal: --seal delivers what was sealed there, FILE has its exact bytes.",
    "A catalogue of products is pushed: see svc help push. Exits with 1 if a record was rejected.",
  ],
  options: `
    --type TYPE         ${typeNames.join(", ")} (default: as the file says)
    --seal FILE         the seal over FILE, as JSON, that was made elsewhere
    --set MEMBER=VALUE…  a member for records of which the file does not say it, such as countries=GB or geo.lat=53.8
    --with FILE         members as JSON, likewise
    --map COLUMN=MEMBER…  rename a column; COLUMN= leaves it out
    --timezone ZONE     the time zone of local times, and of events, such as Europe/Paris
    --check             only check the file; nothing is sent
    --json              print the service's answers as JSON, one on each line
    --business N|UUID   business of the sandbox that publishes (default 1)
${connectionOptions}`,
  run: async (call) => {
    const { type, placeName, documents } =
      call.text("seal") === null ? await readFile(call) : await sealedFile(call);
    const faulty = documents.flatMap(({ place, bytes }) => {
      const errors = documentFaults(type, bytes);
      return errors.length === 0 ? [] : [placedFaults(place, bytes, errors)];
    });
    for (const line of formatFaults(faulty, placeName)) call.terminal.note(line);
    const counted = `${number(documents.length)} ${documents.length === 1 ? "document" : "documents"} of the type ${type}`;
    if (faulty.length > 0)
      throw new UsageError(`${counted}, ${number(faulty.length)} with faults; nothing was sent.`);
    if (!call.flag("check")) return await deliverAll(call, type, documents);
    call.terminal.print(`${counted}, without faults. Nothing was sent.`);
    return exitCodes.done;
  },
};

interface Document {
  readonly place: number;
  readonly bytes: Uint8Array;
}

interface Read {
  readonly type: DocumentType;
  readonly placeName: "line" | "item";
  readonly documents: readonly Document[];
}

/** How many records one command seals: each takes a signature of a person. */
const documentsMax = 1_000;

async function readFile(call: Call): Promise<Read> {
  const path = resolve(call.cwd, call.argument);
  const renamed = [...pairs(call, "map")].map(([column, to]) => [column, to === "" ? null : to] as const);
  await using report = await FeedReport.open(null);
  const documents: Document[] = [];
  try {
    const read = await readDocuments(createReadStream(path), {
      type: typeOf(call),
      set: pairs(call, "set"),
      members: await membersIn(call),
      renamed: new Map(renamed),
      timeZone: call.text("timezone"),
      nowMs: call.now(),
    });
    for await (const item of read.items) {
      await report.add(item);
      if (item.bytes !== null) documents.push({ place: item.place, bytes: item.bytes });
      if (documents.length > documentsMax)
        throw new UsageError(
          `A person seals at most ${number(documentsMax)} documents at once; nothing was sent.`,
        );
    }
    for (const line of report.lines(read.placeName)) call.terminal.note(line);
    if (report.leftOut > 0)
      throw new UsageError(
        `${report.leftOut} of ${report.items} items of ${call.argument} cannot be read as ${read.type}; nothing was sent.`,
      );
    if (documents.length === 0)
      throw new UsageError(`${call.argument} has no ${read.type}; nothing was sent.`);
    return { ...read, documents };
  } catch (error) {
    if (error instanceof FeedError) {
      const where = error.place === 0 ? "" : `line ${error.place}: `;
      throw new UsageError(`${call.argument} cannot be read; nothing was sent. ${where}${error.message}`);
    }
    const { code } = (error ?? {}) as NodeJS.ErrnoException;
    if (code === undefined || !(error instanceof Error)) throw error;
    throw new UsageError(`${path} cannot be used: ${error.message}`);
  }
}

async function membersIn(call: Call): Promise<Readonly<Record<string, never>>> {
  const file = call.text("with");
  if (file === null) return {};
  const members = parseJson(file, await readText(resolve(call.cwd, file)));
  if (!isObject(members)) throw new UsageError(`${file} is not a JSON object with members of a record.`);
  return members as Readonly<Record<string, never>>;
}

function typeOf(args: Arguments): DocumentType | null {
  const named = args.text("type");
  const known = documentTypes.find((each) => each === named?.replaceAll("-", "_"));
  if (named !== null && known === undefined)
    throw new UsageError(`--type is ${JSON.stringify(named)}; use one of ${typeNames.join(", ")}.`);
  return known ?? null;
}

/** What was sealed elsewhere is delivered byte for byte. */
async function sealedFile(call: Call): Promise<Read> {
  const other = ["set", "map"].find((name) => call.texts(name).length > 0);
  if (other !== undefined || call.text("with") !== null)
    throw new UsageError("With --seal nothing is added to FILE: it has the exact bytes that were sealed.");
  const bytes = await bytesOf(call.argument, call);
  const parsed = parseJsonText(new TextDecoder().decode(bytes));
  const schema = parsed.ok && isObject(parsed.value) ? String(parsed.value["schema"]) : "";
  const named = documentTypes.find((each) => schema.startsWith(`svc/${each}/`));
  const type = typeOf(call) ?? named;
  if (type === undefined)
    throw new UsageError(`${call.argument} names no schema of a record; --type says what it is.`);
  const fault = sealFault(await envelopeIn(call.text("seal") ?? "", call), { type, bytes });
  if (fault !== null) throw new UsageError(`${call.text("seal")} cannot be used: ${fault} Nothing was sent.`);
  return { type, placeName: "item", documents: [{ place: 1, bytes }] };
}

function placedFaults(place: number, bytes: Uint8Array, errors: readonly RecordFault[]): PlacedFaults {
  return { place, ...shownFaults(bytes, errors) };
}

async function deliverAll(call: Call, type: DocumentType, documents: readonly Document[]): Promise<ExitCode> {
  const connection = await connect("business", call);
  const rejected: PlacedFaults[] = [];
  for (const [at, { place, bytes }] of documents.entries()) {
    const errors = await deliver(call, connection, { type, bytes }).catch((error: unknown) => {
      if (at > 0) call.terminal.note(`${number(at)} of ${number(documents.length)} were delivered before.`);
      throw error;
    });
    if (errors.length > 0) rejected.push(placedFaults(place, bytes, errors));
  }
  if (!call.flag("json")) for (const line of formatFaults(rejected, "item")) call.terminal.print(line);
  return rejected.length === 0 ? exitCodes.done : exitCodes.negative;
}

/** Delivers one document and says what became of it; returns the faults for which it was rejected. */
async function deliver(
  call: Call,
  { client, identity }: Connection,
  { type, bytes }: { readonly type: DocumentType; readonly bytes: Uint8Array },
): Promise<readonly RecordFault[]> {
  const { terminal } = call;
  const patience = patienceOf(call);
  const seal = await sealOf(call, { type, bytes, identity, patience, client });
  if (type === "ai_policy") {
    const { text, body } = await retryUntil(patience, () => client.publishPolicy(bytes, seal));
    terminal.print(call.flag("json") ? text : `${body.record_id}  version ${body.version} is in force`);
    return [];
  }
  const { text, body } = await retryUntil(patience, () => client.publishRecord(type, bytes, seal));
  const parsed = parseJsonText(new TextDecoder().decode(bytes));
  const id = visible((parsed.ok ? ownIdOf(parsed.value) : null) ?? "");
  if (call.flag("json")) terminal.print(text);
  else if (body.version === null) terminal.print(`${id}  ${body.outcome}`);
  else terminal.print(`${body.record_id}  ${body.outcome}, version ${body.version}  ${id}`);
  return body.errors;
}

interface Sealing {
  readonly type: DocumentType;
  readonly bytes: Uint8Array;
  readonly identity: string;
  readonly patience: Patience;
  readonly client: Connection["client"];
}

async function sealOf(call: Call, { type, bytes, identity, patience, client }: Sealing): Promise<Envelope> {
  const file = call.text("seal");
  if (file !== null) return envelopeIn(file, call);
  const owner = await ownerOf(call, identity);
  const { body: context } = await retryUntil(patience, () => client.sealContext());
  return sealAlone(owner, { record: bytes, type, context, atMs: call.now() });
}

// `svc push`: publishes the products of a file, in sealed batches or bulk files. If it is killed at any moment and run
// again, it resumes where it stopped (client/push-run.ts); nothing is published twice.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { batchRecordsMax, rootOf } from "../../client/batch.ts";
import { productFaults } from "../../client/product-check.ts";
import type { PlanDeps, PushPlan } from "../../client/push-plan.ts";
import { type PushDeps, type PushEvent, runPush } from "../../client/push-run.ts";
import { isSettled, type PushJournal, type PushState } from "../../client/push-state.ts";
import { runsOf } from "../../client/record-set.ts";
import type { RemovalDeps } from "../../client/removal.ts";
import type { Patience } from "../../client/retry-until.ts";
import { type ValidationDeps, validateRecords } from "../../client/validate-run.ts";
import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import { type Call, type Command, type ExitCode, exitCodes, UsageError } from "../command.ts";
import { type Connection, connect, connectionOptions, homeOf, sameBusiness } from "../connection.ts";
import type { Terminal } from "../terminal.ts";
import { showHeldReasons } from "./held-reasons.ts";
import {
  inputOptions,
  isRunning,
  type ProductInput,
  productFiles,
  readProducts,
  selectSpooled,
} from "./product-input.ts";
import { formatFaults, type PlacedFaults, shownFaults } from "./push-faults.ts";
import { createPushProgress, number, type ProgressStyle } from "./push-progress.ts";
import { isPublished, placedFaults, products, pushResult, type Removal } from "./push-summary.ts";
import {
  planFile,
  type Whole,
  wholeOf,
  wholeOptions,
  withdrawalRefused,
  withdrawMissing,
} from "./whole-feed.ts";

// The state of one push in a file, as client/push-state.ts requires. Only one process at a time holds the file: two runs
// that seal the same records would publish them twice. The lock is the operating system's, through SQLite where Node has it, so it is
// released with the process, however that ends.

interface FileJournal extends PushJournal, Disposable {
  readonly path: string;
  /** Which records of the file an unfinished push sends, by index; null if there is none. */
  unfinished(): Promise<readonly number[] | null>;
  /** Begins a push of some of the file's records; the state of a finished one is forgotten. */
  begin(indexes: readonly number[]): Promise<void>;
}

/** The records of the file that the push sends, as ranges: those that had not changed are not in it. */
type FileState = PushState & { readonly chosen: ReturnType<typeof runsOf> };

/** Another process is pushing the same file. */
export class PushRunningError extends Error {
  constructor() {
    super("The same push is already running in another process. Wait for it, or stop it first.");
    this.name = "PushRunningError";
  }
}

/** Takes the lock and releases it on disposal. Throws {@link PushRunningError}. */
export async function openPushJournal(path: string): Promise<FileJournal> {
  await mkdir(dirname(path), { recursive: true });
  const lock = takeLock(`${path}.lock`);
  let chosen: FileState["chosen"] = [];
  const load = async (): Promise<FileState | null> => {
    const text = await readFileIfThere(path);
    return text === null ? null : (JSON.parse(text) as FileState);
  };
  return {
    path,
    load,
    save: (state) => replaceFile(path, `${JSON.stringify({ ...state, chosen })}\n`),
    unfinished: async () => {
      const state = await load();
      if (state === null || state.batches.every(isSettled)) return null;
      chosen = state.chosen;
      return chosen.flatMap(({ first, count }) => Array.from({ length: count }, (_, at) => first + at));
    },
    begin: async (indexes) => {
      chosen = runsOf(indexes);
      await rm(path, { force: true });
    },
    [Symbol.dispose]: () => lock.close(),
  };
}

/** SQLITE_BUSY: another process holds the lock. */
const busyCode = 5;

function takeLock(path: string): { close(): void } {
  const sqlite = process.getBuiltinModule("node:sqlite") as typeof import("node:sqlite") | undefined;
  if (sqlite === undefined) return takeMark(`${path}.pid`);
  const lock = new sqlite.DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === busyCode) throw new PushRunningError();
    throw error;
  }
}

/** Node 20 has no SQLite: a file names the process, and counts for as long as that process runs. */
function takeMark(path: string): { close(): void } {
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return { close: () => rmSync(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isRunning(Number(readFileSync(path, "utf8")))) throw new PushRunningError();
    rmSync(path, { force: true });
  }
}

const patienceSecondsDefault = 120;

export const push: Command = {
  name: "push",
  usage: "FILE | FILE=COUNTRY …",
  summary: "publish the products of a file: NDJSON, JSON, CSV, TSV or a Google Merchant feed, gzipped or not",
  details: [
    "Run it again after an interruption to continue. Products that have not changed are not sent again; live products that",
    "the file does not have are named, and --whole with --remove-at-most withdraws them.",
    "The columns of a CSV file are members of a product: business_product_id, product_name, language, vertical, category,",
    "channel, brand, tags (separated by |), short_description, on_sale, availability, product_url, and for each",
    "country price_US with price_currency_US. Without the column countries, a product is published where it has a price.",
    "FILE is - for the standard input: zcat feed.gz | svc push -",
    "Feeds for several countries are named together, as in svc push de.xml=DE ch.xml=CH: one record has the prices of all.",
    "Other columns, and the attributes of a merchant feed, are mapped by --mapping; what cannot be mapped is reported.",
    `More than ${batchRecordsMax} records are uploaded as one file, where the service offers that.`,
    "Exits with 1 if records were rejected or left out, or a batch was held.",
  ],
  options: `
    --check             only report what is wrong with the file; send nothing
    --dry-run           let the service judge every record, and publish nothing
${inputOptions}
${wholeOptions}
    --batch-size N      records in a batch (default and maximum ${batchRecordsMax}); no bulk file is used
    --patience SECONDS  how long to wait for a service that is away (default ${patienceSecondsDefault})
    --again             publish every product of the file, also those that have not changed
    -q, --quiet         print only faults and the result
    --json              print events as NDJSON, for a program
    --business N|UUID   business of the sandbox that publishes (default 1)
${connectionOptions}`,
  run: async (call) => {
    const whole = wholeOf(call);
    await using input = await readProducts(productFiles(call), call);
    const { terminal } = call;
    call.onStop(async () => {
      await input[Symbol.asyncDispose]();
      terminal.note("Stopped. The same command continues from here.");
      return exitCodes.interrupted;
    });
    if (call.flag("check")) return await checkOnly(input, call);
    const connection = await connect("business", call);
    const run = openRun({ call, connection, input, whole });
    return call.flag("dry-run") ? await rehearse(run) : await publish(run);
  },
};

interface Run extends Opened {
  readonly how: ValidationDeps & Pick<PushDeps, "client"> & PlanDeps & RemovalDeps;
  readonly style: ProgressStyle;
  readonly onEvent: (event: PushEvent) => void;
}

interface Opened {
  readonly call: Call;
  readonly connection: Connection;
  readonly input: ProductInput;
  readonly whole: Whole | null;
}

function openRun(opened: Opened): Run {
  const { call, connection } = opened;
  const style = call.flag("json") ? "json" : call.flag("quiet") ? "quiet" : "people";
  const onEvent = createPushProgress(call.terminal, style, call.now);
  const patienceMs =
    call.integer("patience", { min: 0, max: 86_400, fallback: patienceSecondsDefault }) * 1000;
  const patience: Patience = {
    now: call.now,
    wait: call.wait,
    patienceMs,
    onWaiting: ({ delayMs, error }) =>
      onEvent({ type: "waiting", seconds: Math.ceil(delayMs / 1000), reason: error.message }),
  };
  const { client, key } = connection;
  const how = { ...patience, client, key, patience, runId: randomBytes(8).toString("hex") };
  return { ...opened, how, style, onEvent };
}

const planOf = ({ how, input, call: { terminal }, style, whole }: Run): Promise<PushPlan | null> =>
  planFile(how, input, { terminal, style, isWhole: whole !== null });

/** The part of the file that is sent, by the indexes of its records. */
function partOf(input: ProductInput, indexes: readonly number[]): ProductInput {
  return { ...input, records: selectSpooled(input.records, indexes) };
}

/** What of the file is sent: what has changed, or everything if that is asked for or nothing could be compared. */
function indexesOf({ call, input }: Run, plan: PushPlan | null): readonly number[] {
  if (plan === null || call.flag("again")) return [...input.records.lengths.keys()];
  return plan.changed;
}

const isCompared = ({ call, whole }: Run): boolean => whole !== null || !call.flag("again");

async function rehearse(run: Run): Promise<ExitCode> {
  const { how, input, whole, style, call } = run;
  const plan = isCompared(run) ? await planOf(run) : null;
  const part = partOf(input, indexesOf(run, plan));
  const unchanged = input.records.lengths.length - part.records.lengths.length;
  const code = await dryRun(how, part, { terminal: call.terminal, style, unchanged });
  const refusal = whole === null || plan === null ? null : withdrawalRefused(whole, plan, input.report);
  if (refusal === null) return code;
  call.terminal.note(refusal);
  return exitCodes.negative;
}

async function publish(run: Run): Promise<ExitCode> {
  const { call, input, whole, how, style } = run;
  using journal = await openJournal(run);
  const unfinished = call.flag("again") ? null : await journal.unfinished();
  const plan = unfinished === null && isCompared(run) ? await planOf(run) : null;
  const indexes = unfinished ?? indexesOf(run, plan);
  const part = partOf(input, indexes);
  if (unfinished === null && indexes.length > 0) await journal.begin(indexes);
  const size = call.integer("batch-size", { min: 1, max: batchRecordsMax, fallback: batchRecordsMax });
  const sizing = call.text("batch-size") === null ? {} : { recordsPerBatch: size };
  const deps: PushDeps = { ...how, ...sizing, journal, onEvent: run.onEvent };
  const state = indexes.length === 0 ? null : await runPush(deps, part.records);
  const removal = whole === null ? null : await withdraw(run, whole, { plan, state });
  const unchanged = input.records.lengths.length - indexes.length;
  const pushed = { state, unchanged, removal };
  const isJson = style === "json";
  return await pushResult(call.terminal, part, { ...pushed, isJson, as: sameBusiness(call) });
}

/** Withdraws what the file no longer has, once all of it is published. */
async function withdraw(
  run: Run,
  whole: Whole,
  { plan: known, state }: { readonly plan: PushPlan | null; readonly state: PushState | null },
): Promise<Removal> {
  const nothing = { withdrawn: 0, found: 0 };
  if (state !== null && !isPublished(state))
    return { ...nothing, refusal: "Nothing was withdrawn, since not all of the file is published." };
  const plan = known ?? (await planOf(run));
  if (plan === null) return { ...nothing, refusal: "Nothing was withdrawn: the catalogue cannot be read." };
  const refusal = withdrawalRefused(whole, plan, run.input.report);
  if (refusal !== null) return { ...nothing, refusal };
  return { ...(await withdrawMissing(run.how, plan, { ...run.call, style: run.style })), refusal: null };
}

/** How many faulty records are described. */
const checkedAtOnce = 1_000;

async function checkOnly(input: ProductInput, call: Call): Promise<ExitCode> {
  const { terminal } = call;
  const { records, report, placeName } = input;
  const faulty: PlacedFaults[] = [];
  for (let first = 0; first < records.lengths.length; first += checkedAtOnce) {
    terminal.status(`checked ${number(first)} of ${number(records.lengths.length)}`);
    for (const [at, bytes] of (await records.read(first, checkedAtOnce)).entries()) {
      const errors = productFaults(bytes);
      if (errors.length === 0) continue;
      const fault = { place: records.places[first + at] ?? 0, ...shownFaults(bytes, errors) };
      faulty.push(fault);
      await report.addFaults(fault);
    }
  }
  if (call.flag("json"))
    for (const each of faulty) terminal.print(JSON.stringify({ type: "record.faulty", ...each }));
  else for (const line of formatFaults(faulty, placeName)) terminal.print(line);
  const counts = { records: records.lengths.length, faulty: faulty.length, left_out: report.leftOut };
  if (call.flag("json")) terminal.print(JSON.stringify({ type: "check.finished", ...counts }));
  else {
    const products = `${number(counts.records)} ${counts.records === 1 ? "product" : "products"}`;
    const unread =
      report.leftOut === 1 ? "item cannot be read as a product" : "items cannot be read as products";
    const leftOut = report.leftOut === 0 ? "" : `; ${number(report.leftOut)} ${unread}`;
    terminal.print(`${products}, ${number(counts.faulty)} with faults${leftOut}. Nothing was sent.`);
  }
  return faulty.length + report.leftOut === 0 ? exitCodes.done : exitCodes.negative;
}

/** The state is found by the content of the push and its owner, even if the file has been renamed. */
async function openJournal({ call, connection, input }: Run): Promise<FileJournal> {
  const root = rootOf(input.records.leaves);
  const name = createHash("sha256").update(`${connection.identity}\n${root}`).digest("hex");
  try {
    return await openPushJournal(join(homeOf(call), "pushes", `${name}.json`));
  } catch (error) {
    if (error instanceof PushRunningError) throw new UsageError(error.message);
    throw error;
  }
}

// `svc push --dry-run`: the service judges every record as if it were published now, and changes nothing.

async function dryRun(
  how: ValidationDeps,
  input: ProductInput,
  {
    terminal,
    style,
    unchanged,
  }: { readonly terminal: Terminal; readonly style: ProgressStyle; readonly unchanged: number },
): Promise<ExitCode> {
  const total = input.records.lengths.length;
  const deps: ValidationDeps = {
    ...how,
    onJudged: (judged) => terminal.status(`judged ${number(judged)} of ${number(total)}`),
  };
  const { accepted, updated, rejected, held, faults, reasons } = await validateRecords(deps, input.records);
  const placed = await placedFaults(input, 0, faults);
  const { leftOut } = input.report;
  if (style === "json") {
    for (const fault of placed) terminal.print(JSON.stringify({ type: "record.rejected", ...fault }));
    const counts = { records: total + unchanged, accepted, updated, rejected, unchanged, left_out: leftOut };
    terminal.print(JSON.stringify({ type: "validation.finished", held, held_reasons: reasons, ...counts }));
  } else {
    for (const line of formatFaults(placed, input.placeName)) terminal.print(line);
    if (held) terminal.print("It would be held until an owner or admin confirms it:");
    showHeldReasons(terminal, reasons);
    const parts = [
      `${number(accepted)} would be published`,
      `${number(updated)} updated`,
      `${number(rejected)} rejected`,
      ...(unchanged > 0 ? [`${number(unchanged)} unchanged`] : []),
    ];
    terminal.print(`${products(total + unchanged)}: ${parts.join(", ")}. Nothing was published.`);
  }
  return rejected + leftOut === 0 && !held ? exitCodes.done : exitCodes.negative;
}

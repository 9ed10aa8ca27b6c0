// `svc ops show` and `svc ops watch`: one actor as it is now, and as it goes on.

import { resolve } from "node:path";
import { jsonOption } from "../business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "../command.ts";
import { requiredText } from "../confirmation.ts";
import { writePrivate } from "../keygen.ts";
import { printTable } from "../listing.ts";
import { connectOps, type LiveEvent, opsOptions } from "../ops-connection.ts";
import { type Terminal, visible } from "../terminal.ts";

type Shown = Readonly<Record<string, unknown>>;

export const opsShow: Command = {
  name: "ops show",
  usage: "KIND/ID",
  summary: "show one actor: its state, why it waits, its owners and its journal (for operators)",
  details: ["  The actor is neither woken nor changed."],
  options: {
    journal: { type: "boolean", help: "its newest events, with the states around each" },
    json: jsonOption,
    ...opsOptions,
  },
  run: runShow,
};

export const opsWatch: Command = {
  name: "ops watch",
  usage: "[KIND/ID]",
  summary: "follow one actor, or the counts of all, until Ctrl-C (for operators)",
  details: ["  A node that stops meanwhile is noted, and the view goes on when it answers again."],
  options: { json: jsonOption, ...opsOptions },
  run: runWatch,
};

async function runShow(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const address = `/ops/actors/${actorAddress(onlyArgument(args, opsShow))}`;
  const ops = await connectOps(args, context);
  const answer = await ops.get(args.flag("journal") ? `${address}/journal?limit=50` : address);
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else if (args.flag("journal")) printJournal(terminal, answer);
  else printActor(terminal, answer);
  return exitCodes.done;
}

const retryMs = 2_000;

async function runWatch(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [name = null, ...more] = args.positionals;
  if (more.length > 0) throw new UsageError("Only one actor is expected. See: svc help ops watch");
  const path = name === null ? "/ops/live/counts" : `/ops/live/actors/${actorAddress(name)}`;
  const ops = await connectOps(args, context);
  context.onStop(() => exitCodes.done);
  for (;;) {
    try {
      for await (const event of ops.live(path)) printEvent(context.terminal, args, event);
    } catch (error) {
      if (!(error instanceof Error && error.name === "SvcConnectionError")) throw error;
      context.terminal.note(`${error.message} Trying again …`);
    }
    await context.wait(retryMs);
  }
}

function printEvent(terminal: Terminal, args: Arguments, { event, data }: LiveEvent): void {
  if (args.flag("json")) {
    terminal.print(JSON.stringify({ event, data }));
    return;
  }
  if (event === "fault") terminal.note(`Not readable now: ${visible(String((data as Shown)["detail"]))}`);
  else if (event === "gone") terminal.note("The actor exists no more.");
  else if (event === "counts") {
    const kinds = (data as Shown)["kinds"] as readonly Shown[];
    const active = kinds.map(({ kind, active: count }) => `${kind} ${count}`).join("  ");
    terminal.print(`${(data as Shown)["at"]}  ${active}`);
  } else {
    const { head, status, states, waits } = data as Shown;
    const why = (waits as readonly Shown[]).map(({ words }) => words).join(" ");
    terminal.print(visible(`#${head} ${status} ${(states as readonly string[]).join(" ")}  ${why}`));
  }
}

const thenWords: Readonly<Record<string, string>> = {
  ...{ goes_on: "goes on by itself at", tries_again: "tries again at", fails: "fails at" },
  ...{ ends: "its time is over at", stalls: "counts as stalled at" },
};

function printActor(terminal: Terminal, actor: Shown): void {
  const { ref, party, status, states, place, epoch, owner, head, mailbox, failure, crash } = actor;
  const { kind, id } = ref as Shown;
  const { region, node, at, detail } = place as Shown;
  const where = at === "nowhere" ? `nowhere (${detail})` : `${node} in ${region}`;
  const lines = [
    terminal.bold(visible(`${kind}/${id}`)),
    ...(party === null ? [] : [visible(`  ${partyWords(party as Shown)}`)]),
    `  ${status}, in ${(states as readonly string[]).join(" ")}, on ${where}`,
    // A kind without a journal has no owner that a store knows.
    `  ${head} commits${owner === "" ? "" : `, epoch ${epoch} of ${owner}`}, ${mailbox} waiting in its mailbox`,
    ...(failure === null ? [] : [terminal.bad(visible(`  ${failure}`))]),
    ...stackLines(crash).map((line) => visible(`  ${line}`)),
    ...(at === "node" && detail !== null ? [visible(`  The node does not answer: ${detail}`)] : []),
    "Why it waits",
    ...(actor["waits"] as readonly Shown[]).map(({ words, until, next }) =>
      visible(`  ${words}${until === null ? "" : ` [${thenWords[String(next)] ?? next} ${until}]`}`),
    ),
    ...section("Timers", actor["timers"], ({ dueMs, id: timer }) => `${timeOf(dueMs)}  ${timer}`),
    ...section("Effects", actor["outbox"], ({ to, attempts, lastError, sinceMs }) =>
      [to, `since ${timeOf(sinceMs)}`, `${attempts} failures`, lastError ?? ""].join("  "),
    ),
    ...section("Owners", actor["activations"], ({ epoch: of, owner: by, since }) => `${of}  ${since}  ${by}`),
    ...section(
      "Refused writes",
      actor["refused_writes"],
      ({ epoch: of, owner: by, at: when }) => `${of}  ${when}  ${by}`,
    ),
  ];
  for (const line of lines) terminal.print(line);
}

function partyWords({ kind, legal_name }: Shown): string {
  return `${kind === "ai_company" ? "of the AI company" : "of the business"} ${legal_name}`;
}

function stackLines(crash: unknown): readonly string[] {
  const { stack } = (crash ?? {}) as Shown;
  return typeof stack === "string" ? stack.split("\n") : [];
}

function section(title: string, items: unknown, lineOf: (item: Shown) => string): readonly string[] {
  const all = items as readonly Shown[];
  return all.length === 0 ? [] : [title, ...all.map((item) => visible(`  ${lineOf(item)}`))];
}

function timeOf(ms: unknown): string {
  return typeof ms === "number" ? new Date(ms).toISOString() : "an unknown time";
}

function printJournal(terminal: Terminal, journal: Shown): void {
  const rows = (journal["events"] as readonly Shown[]).map(({ seq, at, commit, epoch, type, from, to }) => [
    ...[seq, at, commit, epoch].map((each) => String(each ?? "")),
    String(type),
    `${pathsOf(from)} → ${pathsOf(to)}`,
  ]);
  const header = ["SEQ", "TIME", "COMMIT", "EPOCH", "EVENT", "STATES"];
  printTable(terminal, header, rows);
  const { pruned_up_to, unreadable } = journal;
  if (Number(pruned_up_to) > 0) terminal.note(`Events up to ${pruned_up_to} are only in the snapshot.`);
  if (unreadable !== null) terminal.note(visible(`States are unknown: ${unreadable}`));
}

function pathsOf(paths: unknown): string {
  return paths === null ? "?" : (paths as readonly string[]).join(" ");
}

// `svc ops export`: the journals of a business, its keys and its pushes as a file from which the simulator starts.

export const opsExport: Command = {
  name: "ops export",
  usage: "KIND/ID",
  summary: "write the journals of a business, or of the business of a key or push, to a file (for operators)",
  details: [
    "  The file starts a simulation: npm run sim -- --journal FILE --seed 1",
    "  It holds no private key, but what the business published: only its owner can read it, and it needs the right to act.",
    "  The actors are neither woken nor changed. The audit log records that it was taken, and who took it.",
  ],
  options: {
    by: { type: "string", value: "WHO", help: "who signs in to take it; kept in the audit log" },
    out: { type: "string", value: "FILE", help: "the file; an existing one is not overwritten" },
    ...opsOptions,
  },
  run: runExport,
};

async function runExport(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const address = `/ops/actors/${actorAddress(onlyArgument(args, opsExport))}/export`;
  const out = resolve(context.cwd, requiredText(args, "out", opsExport));
  const ops = await connectOps(args, context, requiredText(args, "by", opsExport));
  await writePrivate(out, await ops.text(address));
  context.terminal.print(out);
  return exitCodes.done;
}

// An actor as it is named in the terminal, and its address.

/** `kind/id`; ids may contain further slashes. Throws {@link UsageError}. */
export function actorAddress(text: string): string {
  const slash = text.indexOf("/");
  const [kind, id] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)];
  if (kind === "" || id === "")
    throw new UsageError(
      `${JSON.stringify(text)} is not the name of an actor; use one such as push/UUID.PUSH_ID.`,
    );
  return `${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}

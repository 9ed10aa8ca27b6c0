// `svc ops show`: one actor as it is now. `svc ops export`: the journals of a business, its keys and its pushes as a file from which the
// simulator starts.

import { resolve } from "node:path";
import { type ActorDetail, actorDetail, type JournalPage, journalPage } from "../../ops/inspection-shapes.ts";
import { type Command, UsageError } from "../command.ts";
import { requiredText } from "../confirmation.ts";
import { writePrivate } from "../keygen.ts";
import { connectOps, opsAddress, opsOptions } from "../ops-connection.ts";
import { printTable } from "../query.ts";
import { type Terminal, visible } from "../terminal.ts";

export const opsShow: Command = {
  name: "ops show",
  usage: "KIND/ID",
  summary: "show one actor: its state, why it waits, its owners and its journal (for operators)",
  details: ["  The actor is neither woken nor changed."],
  options: `
    --journal  its newest events, with the states around each${opsOptions}`,
  run: async (call) => {
    const { terminal } = call;
    const address = `/ops/actors/${actorAddress(call.argument)}`;
    const ops = await connectOps(call);
    const tell = <T>(answer: T, print: (terminal: Terminal, answer: T) => void): void =>
      call.flag("json") ? terminal.print(JSON.stringify(answer)) : print(terminal, answer);
    if (call.flag("journal")) tell(await ops.get(`${address}/journal?limit=50`, journalPage), printJournal);
    else tell(await ops.get(address, actorDetail), printActor);
  },
};

const thenWords = {
  goes_on: "goes on by itself at",
  tries_again: "tries again at",
  fails: "fails at",
  ends: "its time is over at",
  stalls: "counts as stalled at",
} as const;

function printActor(terminal: Terminal, actor: ActorDetail): void {
  const { ref, party, status, states, place, epoch, owner, head, mailbox, failure, crash } = actor;
  const { region, node, at, detail } = place;
  const where = at === "nowhere" ? `nowhere (${detail})` : `${node} in ${region}`;
  const of = party?.kind === "ai_company" ? "of the AI company" : "of the business";
  const lines = [
    terminal.bold(visible(`${ref.kind}/${ref.id}`)),
    ...(party === null ? [] : [visible(`  ${of} ${party.legal_name}`)]),
    `  ${status}, in ${states.join(" ")}, on ${where}`,
    // A kind without a journal has no owner that a store knows.
    `  ${head} commits${owner === "" ? "" : `, epoch ${epoch} of ${owner}`}, ${mailbox} waiting in its mailbox`,
    ...(failure === null ? [] : [terminal.bad(visible(`  ${failure}`))]),
    ...(crash?.stack?.split("\n") ?? []).map((line) => visible(`  ${line}`)),
    ...(at === "node" && detail !== null ? [visible(`  The node does not answer: ${detail}`)] : []),
    "Why it waits",
    ...actor.waits.map(({ words, until, next }) =>
      visible(
        `  ${words}${until === null ? "" : ` [${next === null ? next : (thenWords[next] ?? next)} ${until}]`}`,
      ),
    ),
    ...section("Timers", actor.timers, ({ dueMs, id }) => `${timeOf(dueMs)}  ${id}`),
    ...section("Effects", actor.outbox, ({ to, attempts, lastError, sinceMs }) =>
      [to, `since ${timeOf(sinceMs)}`, `${attempts} failures`, lastError ?? ""].join("  "),
    ),
    ...section("Owners", actor.activations, (each) => `${each.epoch}  ${each.since}  ${each.owner}`),
    ...section("Refused writes", actor.refused_writes, (each) => `${each.epoch}  ${each.at}  ${each.owner}`),
  ];
  for (const line of lines) terminal.print(line);
}

function section<T>(title: string, items: readonly T[], lineOf: (item: T) => string): readonly string[] {
  return items.length === 0 ? [] : [title, ...items.map((item) => visible(`  ${lineOf(item)}`))];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function printJournal(terminal: Terminal, { events, pruned_up_to, unreadable }: JournalPage): void {
  const rows = events.map(({ seq, at, commit, epoch, type, from, to }) => [
    String(seq),
    at,
    String(commit),
    String(epoch),
    type,
    `${from?.join(" ") ?? "?"} → ${to?.join(" ") ?? "?"}`,
  ]);
  printTable(terminal, ["SEQ", "TIME", "COMMIT", "EPOCH", "EVENT", "STATES"], rows);
  if (pruned_up_to > 0) terminal.note(`Events up to ${pruned_up_to} are only in the snapshot.`);
  if (unreadable !== null) terminal.note(visible(`States are unknown: ${unreadable}`));
}

export const opsExport: Command = {
  name: "ops export",
  usage: "KIND/ID",
  summary: "write the journals of a business, or of the business of a key or push, to a file (for operators)",
  details: [
    "  The file starts a simulation: npm run sim -- --journal FILE --seed 1",
    "  It holds no private key, but what the business published: only its owner can read it, and it needs the right to act.",
    "  The actors are neither woken nor changed. The audit log records that it was taken, and who took it.",
  ],
  options: `
    --by WHO    who signs in to take it; kept in the audit log
    --out FILE  the file; an existing one is not overwritten${opsAddress}`,
  run: async (call) => {
    const address = `/ops/actors/${actorAddress(call.argument)}/export`;
    const out = resolve(call.cwd, requiredText(call, "out", opsExport));
    const ops = await connectOps(call, requiredText(call, "by", opsExport));
    await writePrivate(out, await ops.file(address));
    call.terminal.print(out);
  },
};

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

// `svc ops nodes`, `svc ops list` and `svc ops search`: what runs where, and what needs a look.

import { jsonOption } from "../business-options.ts";
import { type Arguments, type Command, type CommandContext, noArguments, onlyArgument } from "../command.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { printTable } from "../listing.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { type Terminal, visible } from "../terminal.ts";

export type Shown = Readonly<Record<string, unknown>>;

export const opsNodes: Command = {
  name: "ops nodes",
  usage: "",
  summary: "list the nodes of all regions with their release, load and lease (for operators)",
  details: ["  Exits with 1 if a node does not answer or is not ready."],
  options: { json: jsonOption, ...opsOptions },
  run: async (args, context) => {
    noArguments(args, opsNodes);
    const { terminal } = context;
    const ops = await connectOps(args, context);
    const nodes = (await ops.get("/ops/nodes", "nodes"))["nodes"] as readonly Shown[];
    print(
      terminal,
      args,
      nodes,
      ["NODE", "ADDRESS", "REGION", "STATE", "RELEASE", "ACTORS", "WAITING", "BUSY", "READY", "LEASE"],
      nodeRow,
    );
    return nodes.every(isWell) ? exitCodes.done : exitCodes.negative;
  },
};

export const opsList: Command = {
  name: "ops list",
  usage: "[KIND]",
  summary: "list actors, or how many there are of each kind (for operators)",
  details: [
    "  Without a kind and without --attention: how many there are. Otherwise the actors in memory of all nodes, or with --known",
    "  those that the store lists. --attention lists those that need a look, the most urgent first, and exits with 1 if there are",
    "  any, or if somebody did not answer. Nodes and regions come first.",
  ],
  options: {
    state: { type: "string", value: "STATE", help: "only in this state, or one within it, such as working" },
    region: { type: "string", value: "REGION", help: "only of this region" },
    node: { type: "string", value: "NODE", help: "only of the node with this incarnation" },
    part: { type: "string", value: "TEXT", help: "only ids that contain this" },
    known: { type: "boolean", help: "those that the store lists, in memory or not" },
    attention: { type: "boolean", help: "those that need a look" },
    limit: { type: "string", value: "N", help: "how many at most (default 100)" },
    json: jsonOption,
    ...opsOptions,
  },
  run: runList,
};

export const opsSearch: Command = {
  name: "ops search",
  usage: "TEXT",
  summary:
    "find actors by id, a part of it, a business, a legal name, a record, an ad or a state (for operators)",
  options: { json: jsonOption, ...opsOptions },
  run: async (args, context) => {
    const text = onlyArgument(args, opsSearch);
    const ops = await connectOps(args, context);
    const found = await ops.get(`/ops/search?q=${encodeURIComponent(text)}&limit=100`, "actors", "missing");
    const actors = found["actors"] as readonly Shown[];
    print(context.terminal, args, actors, actorHeader, actorRow);
    noteMissing(context.terminal, found);
    if (actors.length === 0) context.terminal.note(`No actor is known by ${visible(JSON.stringify(text))}.`);
    if (found["is_complete"] !== true) context.terminal.note("There may be more; search for more of the id.");
    return actors.length === 0 ? exitCodes.negative : exitCodes.done;
  },
};

const limitMax = 10_000;
const pageSize = 200;

async function runList(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [kind = null, ...more] = args.positionals;
  if (more.length > 0) throw new UsageError("Only one kind is expected. See: svc help ops list");
  const limit = args.integer("limit", { min: 1, max: limitMax, fallback: 100 });
  const { terminal } = context;
  const ops = await connectOps(args, context);
  if (args.flag("attention")) {
    const answer = await ops.get("/ops/attention", "actors", "nodes", "missing");
    const actors = (answer["actors"] as readonly Shown[]).slice(0, limit);
    const nodes = answer["nodes"] as readonly Shown[];
    print(terminal, args, nodes, ["NODE", "REGION", "REASON", "WHY"], lookRow);
    print(terminal, args, actors, actorHeader, actorRow);
    noteMissing(terminal, answer);
    if (answer["is_complete"] === false)
      terminal.note("More pushes are unfinished than were read: some that are not in memory may be missing.");
    // What nobody answers for may need a look as well, so it is not said that nothing does.
    const missing = answer["missing"] as readonly Shown[];
    const isWhole = missing.length === 0 && answer["is_complete"] === true;
    if (actors.length + nodes.length > 0 || !isWhole) return exitCodes.negative;
    terminal.note("Nothing needs a look.");
    return exitCodes.done;
  }
  const filters = ["state", "region", "node", "part"].flatMap((name): [string, string][] => {
    const text = args.text(name);
    return text === null ? [] : [[name, text]];
  });
  if (kind === null && filters.length === 0 && !args.flag("known")) {
    const counts = await ops.get("/ops/counts", "kinds", "missing");
    const kinds = counts["kinds"] as readonly Shown[];
    print(terminal, args, kinds, ["KIND", "IN MEMORY", "KNOWN", "STATES"], countRow);
    noteMissing(terminal, counts);
    return exitCodes.done;
  }
  const query = new URLSearchParams([...filters, ...(kind === null ? [] : [["kind", kind]])]);
  if (args.flag("known")) query.set("scope", "known");
  const actors: Shown[] = [];
  for (let after: unknown = ""; after !== null && actors.length < limit; ) {
    query.set("after", String(after));
    query.set("limit", String(Math.min(pageSize, limit - actors.length)));
    const page = await ops.get(`/ops/actors?${query}`, "actors", "missing");
    actors.push(...(page["actors"] as readonly Shown[]));
    after = page["next_after"] ?? null;
    if (after === null) noteMissing(terminal, page);
  }
  print(terminal, args, actors, actorHeader, actorRow);
  if (actors.length === 0)
    terminal.note(
      args.flag("known") ? "No actor fits." : "No actor in memory fits; --known lists the others.",
    );
  return exitCodes.done;
}

export function print(
  terminal: Terminal,
  args: Arguments,
  items: readonly Shown[],
  header: readonly string[],
  rowOf: (item: Shown) => string[],
): void {
  if (args.flag("json")) for (const item of items) terminal.print(JSON.stringify(item));
  else printTable(terminal, header, items.map(rowOf));
}

export function noteMissing(terminal: Terminal, answer: Shown): void {
  for (const { incarnation, region, detail } of answer["missing"] as readonly Shown[])
    terminal.note(`The node ${incarnation} of ${region} does not answer: ${visible(String(detail))}`);
}

const actorHeader = ["ACTOR", "WHOSE", "STATUS", "STATE", "NODE", "WHY IT WAITS"];

function actorRow({ kind, id, party, status, states, node, waits, attention }: Shown): string[] {
  const look = attention === null ? "" : `[${String((attention as Shown)["reason"])}] `;
  const where = String(node ?? "");
  const why = visible(`${look}${String(waits ?? "")}`);
  return [
    `${kind}/${visible(String(id))}`,
    visible(String((party as Shown | null)?.["legal_name"] ?? "")),
    String(status),
    (states as readonly string[]).join(" "),
    where,
    why,
  ];
}

/** A node that is not asked for its readiness, as one of an earlier release, is not said to be unready. */
function isWell({ reachable, readiness }: Shown): boolean {
  return reachable === true && ((readiness ?? { ready: true }) as Shown)["ready"] === true;
}

function lookRow({ incarnation, address, region, reason, words }: Shown): string[] {
  return [
    visible(String(address ?? incarnation ?? "all")),
    String(region),
    String(reason),
    visible(String(words)),
  ];
}

function nodeRow({
  incarnation,
  address,
  region,
  state,
  version,
  load,
  lease,
  readiness,
  detail,
}: Shown): string[] {
  const { active, mailboxed, busy_percent } = (load ?? {}) as Shown;
  const { held, age_ms } = (lease ?? {}) as Shown;
  const said = held === true ? (age_ms === null ? "held" : `${String(age_ms)} ms old`) : "none";
  const last = detail === null ? said : visible(String(detail));
  const numbers = [version, active, mailboxed].map((each) => String(each ?? ""));
  const busy = busy_percent === undefined ? "" : `${String(busy_percent)} %`;
  return [
    String(incarnation),
    String(address ?? ""),
    String(region),
    String(state),
    ...numbers,
    busy,
    readyCell(readiness),
    last,
  ];
}

/** Whether it is ready, with the checks that fail. */
function readyCell(readiness: unknown): string {
  if (readiness === null || readiness === undefined) return "";
  const { ready, checks } = readiness as Shown;
  const failed = Object.entries(checks as Shown).flatMap(([name, outcome]) =>
    outcome === "ok" ? [] : [name],
  );
  return [ready === true ? "yes" : "no", ...(failed.length === 0 ? [] : [`(${failed.join(", ")})`])].join(
    " ",
  );
}

function countRow({ kind, active, known, known_is_exact, states }: Shown): string[] {
  const all = (states as readonly Shown[]).map(({ state, count }) => `${state} ${count}`).join(", ");
  return [String(kind), String(active), `${known}${known_is_exact === true ? "" : " or more"}`, all];
}

// `svc ops nodes`, `svc ops list` and `svc ops search`: what runs where, and what needs a look.

import { jsonOption } from "../business-options.ts";
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
import { printTable } from "../listing.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { type Terminal, visible } from "../terminal.ts";

type Shown = Readonly<Record<string, unknown>>;

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

function print(
  terminal: Terminal,
  args: Arguments,
  items: readonly Shown[],
  header: readonly string[],
  rowOf: (item: Shown) => string[],
): void {
  if (args.flag("json")) for (const item of items) terminal.print(JSON.stringify(item));
  else printTable(terminal, header, items.map(rowOf));
}

function noteMissing(terminal: Terminal, answer: Shown): void {
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

// `svc ops audit`: what operators did or were refused on all nodes, newest first.

const limitDefault = 50;
const auditLimitMax = 100_000;

export const opsAudit: Command = {
  name: "ops audit",
  usage: "",
  summary: "list what operators did or were refused, newest first (for operators)",
  details: ["  What log rotation moved away, and a log on standard output, is read where it is kept."],
  options: {
    before: { type: "string", value: "TIME", help: "only entries before this moment" },
    limit: { type: "string", short: "n", value: "N", help: `how many, about (default ${limitDefault})` },
    json: jsonOption,
    ...opsOptions,
  },
  run: async (args, context) => {
    noArguments(args, opsAudit);
    const { terminal } = context;
    const limit = args.integer("limit", { min: 1, max: auditLimitMax, fallback: limitDefault });
    const ops = await connectOps(args, context);
    const entries: Shown[] = [];
    let page: Shown;
    let before = args.text("before");
    do {
      const query = before === null ? "" : `?${new URLSearchParams({ before })}`;
      page = await ops.get(`/ops/audit${query}`, "entries", "missing");
      entries.push(...(page["entries"] as readonly Shown[]));
      before = page["next_before"] as string | null;
    } while (before !== null && entries.length < limit);
    print(terminal, args, entries, ["AT", "EVENT", "BY", "ACT", "REASON", "NODE"], (each) => {
      const detail = each["detail"] as Shown;
      const texts = [each["at"], each["event"], detail["by"], detail["act"], detail["reason"], each["node"]];
      return texts.map((text) => visible(String(text ?? "–")));
    });
    noteMissing(terminal, page);
    for (const node of page["unreadable"] as readonly string[])
      terminal.note(`The audit log of ${node} goes to standard output.`);
    if (before !== null) terminal.note(`Older entries: --before ${before}`);
    if (entries.length === 0) terminal.note("The audit logs have no such entry.");
    return exitCodes.done;
  },
};

// `svc ops pushes` and `svc ops refusals`: which keys have how many pushes under way, and what was refused to which key and address.

export const opsPushes: Command = {
  name: "ops pushes",
  usage: "",
  summary: "list the keys with the most pushes under way on all nodes (for operators)",
  options: { json: jsonOption, ...opsOptions },
  run: async (args, context) => {
    noArguments(args, opsPushes);
    const { terminal } = context;
    const counts = await (await connectOps(args, context)).get("/ops/counts", "pushes_under_way", "missing");
    const keys = counts["pushes_under_way"] as readonly Shown[];
    print(terminal, args, keys, ["PUSHES", "RECORDS", "BUSINESS", "KEY"], (each) =>
      ["pushes", "records", "business_uuid", "key_id"].map((name) => visible(String(each[name]))),
    );
    noteMissing(terminal, counts);
    if (keys.length === 0) terminal.note("No push is under way.");
    return exitCodes.done;
  },
};

export const opsRefusals: Command = {
  name: "ops refusals",
  usage: "",
  summary: "list the requests that were refused within a day, by key and address (for operators)",
  details: ["  Nothing proves that the sender of a request has the key that it names."],
  options: {
    surface: { type: "string", value: "SURFACE", help: "only those of this surface, such as business" },
    code: { type: "string", value: "CODE", help: "only those with this code, such as key_unknown" },
    key: { type: "string", value: "KEY_ID", help: "only those that named this key" },
    json: jsonOption,
    ...opsOptions,
  },
  run: async (args, context) => {
    noArguments(args, opsRefusals);
    const { terminal } = context;
    const wanted = { surface: args.text("surface"), code: args.text("code"), key_id: args.text("key") };
    const given = Object.entries(wanted).filter((each): each is [string, string] => each[1] !== null);
    const ops = await connectOps(args, context);
    const answer = await ops.get(`/ops/refusals?${new URLSearchParams(given)}`, "requests", "missing");
    const requests = answer["requests"] as readonly Shown[];
    print(terminal, args, requests, ["COUNT", "CODE", "SURFACE", "KEY", "FROM", "LAST"], (each) =>
      ["count", "code", "surface", "key_id", "from", "last_at"].map((name) =>
        visible(String(each[name] ?? "–")),
      ),
    );
    noteMissing(terminal, answer);
    if (requests.length === 0) terminal.note("No such request was refused.");
    return exitCodes.done;
  },
};

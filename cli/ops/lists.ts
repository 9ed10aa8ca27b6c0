// `svc ops nodes`, `svc ops list`, `svc ops search` and others: what runs where, what needs a look, what was refused, and what
// operators did.

import {
  type ActorRow,
  actorCounts,
  actorPage,
  attentionList,
  auditPage,
  type NodeState,
  nodeList,
  refusedRequests,
  searchResult,
} from "../../ops/inspection-shapes.ts";
import type { Of } from "../../protocol/shape.ts";
import { type Call, type Command, type ExitCode, exitCodes, UsageError } from "../command.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { givenOf, noteMissing, opsList, printItems, showOpsList } from "../query.ts";
import { visible } from "../terminal.ts";

export const opsNodes = opsList({
  name: "ops nodes",
  usage: "",
  summary: "list the nodes of all regions with their release, load and lease (for operators)",
  details: ["  Exits with 1 if a node does not answer or is not ready."],
  path: () => "/ops/nodes",
  form: nodeList,
  items: ({ nodes }) => nodes,
  header: ["NODE", "ADDRESS", "REGION", "STATE", "RELEASE", "ACTORS", "WAITING", "BUSY", "READY", "LEASE"],
  rowOf: nodeRow,
  // A node that is not asked for its readiness, as one of an earlier release, is not said to be unready.
  isNo: ({ nodes }) => !nodes.every(({ reachable, readiness }) => reachable && readiness?.ready !== false),
});

function nodeRow(node: NodeState): string[] {
  const { incarnation, address, region, state, version, load, lease, readiness, detail } = node;
  const said = lease?.held === true ? (lease.age_ms === null ? "held" : `${lease.age_ms} ms old`) : "none";
  const busy = load === null ? "" : `${load.busy_percent} %`;
  return [
    incarnation,
    address ?? "",
    region,
    state,
    version ?? "",
    String(load?.active ?? ""),
    String(load?.mailboxed ?? ""),
    busy,
    readyCell(readiness),
    detail === null ? said : visible(detail),
  ];
}

/** Whether it is ready, with the checks that fail. */
function readyCell(readiness: NodeState["readiness"]): string {
  if (readiness === null) return "";
  const failed = Object.keys(readiness.checks).filter((name) => readiness.checks[name] !== "ok");
  return [readiness.ready ? "yes" : "no", ...(failed.length === 0 ? [] : [`(${failed.join(", ")})`])].join(
    " ",
  );
}

const actors = {
  header: ["ACTOR", "WHOSE", "STATUS", "STATE", "NODE", "WHY IT WAITS"],
  rowOf: ({ kind, id, party, status, states, node, waits, attention }: ActorRow): string[] => {
    const look = attention === null ? "" : `[${attention.reason}] `;
    return [
      `${kind}/${visible(id)}`,
      visible(party?.legal_name ?? ""),
      status,
      states.join(" "),
      node ?? "",
      visible(`${look}${waits ?? ""}`),
    ];
  },
};

export const opsSearch = opsList({
  name: "ops search",
  usage: "TEXT",
  summary:
    "find actors by id, a part of it, a business, a legal name, a record, an ad or a state (for operators)",
  path: ({ argument }) => `/ops/search?q=${encodeURIComponent(argument)}&limit=100`,
  form: searchResult,
  items: (found) => found.actors,
  ...actors,
  none: ({ argument }) => `No actor is known by ${visible(JSON.stringify(argument))}.`,
  note: ({ is_complete }) => (is_complete ? null : "There may be more; search for more of the id."),
  isNo: (found) => found.actors.length === 0,
});

export const opsPushes = opsList({
  name: "ops pushes",
  usage: "",
  summary: "list the keys with the most pushes under way on all nodes (for operators)",
  path: () => "/ops/counts",
  form: actorCounts,
  items: (counts) => counts.pushes_under_way,
  header: ["PUSHES", "RECORDS", "BUSINESS", "KEY"],
  rowOf: ({ pushes, records, business_uuid, key_id }) => [
    String(pushes),
    String(records),
    visible(business_uuid),
    visible(key_id),
  ],
  none: () => "No push is under way.",
});

export const opsRefusals = opsList({
  name: "ops refusals",
  usage: "",
  summary: "list the requests that were refused within a day, by key and address (for operators)",
  details: ["  Nothing proves that the sender of a request has the key that it names."],
  options: `
    --surface SURFACE  only those of this surface, such as business
    --code CODE        only those with this code, such as key_unknown
    --key KEY_ID       only those that named this key`,
  path: (call) =>
    `/ops/refusals?${new URLSearchParams(givenOf(call, { surface: "surface", code: "code", key: "key_id" }))}`,
  form: refusedRequests,
  items: ({ requests }) => requests,
  header: ["COUNT", "CODE", "SURFACE", "KEY", "FROM", "LAST"],
  rowOf: ({ count, code, surface, key_id, from, last_at }) =>
    [String(count), code, surface, key_id ?? "–", from ?? "–", last_at].map(visible),
  none: () => "No such request was refused.",
});

const showCounts = (call: Call): Promise<ExitCode> =>
  showOpsList(call, {
    path: () => "/ops/counts",
    form: actorCounts,
    items: ({ kinds }) => kinds,
    header: ["KIND", "IN MEMORY", "KNOWN", "STATES"],
    rowOf: ({ kind, active, known, known_is_exact, states }) => [
      kind,
      String(active),
      `${known}${known_is_exact ? "" : " or more"}`,
      states.map(({ state, count }) => `${state} ${count}`).join(", "),
    ],
  });

const listLimitMax = 10_000;
const pageSize = 200;

export const opsActors: Command = {
  name: "ops list",
  usage: "[KIND]",
  summary: "list actors, or how many there are of each kind (for operators)",
  details: [
    "  Without a kind and without --attention: how many there are. Otherwise the actors in memory of all nodes, or with --known",
    "  those that the store lists. --attention lists those that need a look, the most urgent first, and exits with 1 if there are",
    "  any, or if somebody did not answer. Nodes and regions come first.",
  ],
  options: `
    --state STATE    only in this state, or one within it, such as working
    --region REGION  only of this region
    --node NODE      only of the node with this incarnation
    --part TEXT      only ids that contain this
    --known          those that the store lists, in memory or not
    --attention      those that need a look
    --limit N        how many at most (default 100)${opsOptions}`,
  run: async (call) => {
    const [kind, ...more] = call.positionals;
    if (more.length > 0) throw new UsageError("Only one kind is expected. See: svc help ops list");
    const limit = call.integer("limit", { min: 1, max: listLimitMax, fallback: 100 });
    if (call.flag("attention")) return listAttention(call, limit);
    const filters = givenOf(call, { state: "state", region: "region", node: "node", part: "part" });
    const isKnown = call.flag("known");
    if (kind === undefined && !isKnown && Object.keys(filters).length === 0) return showCounts(call);
    await listActors(call, { ...filters, ...(kind && { kind }), ...(isKnown && { scope: "known" }) }, limit);
    return exitCodes.done;
  },
};

async function listAttention(call: Call, limit: number): Promise<ExitCode> {
  const { terminal } = call;
  const answer = await (await connectOps(call)).get("/ops/attention", attentionList);
  const { nodes, missing, is_complete } = answer;
  const urgent = answer.actors.slice(0, limit);
  printItems(call, nodes, {
    header: ["NODE", "REGION", "REASON", "WHY"],
    rowOf: ({ address, incarnation, region, reason, words }) => [
      visible(address ?? incarnation ?? "all"),
      region,
      reason,
      visible(words),
    ],
  });
  printItems(call, urgent, actors);
  noteMissing(terminal, answer);
  if (!is_complete)
    terminal.note("More pushes are unfinished than were read: some that are not in memory may be missing.");
  // What nobody answers for may need a look as well, so it is not said that nothing does.
  if (urgent.length + nodes.length + missing.length > 0 || !is_complete) return exitCodes.negative;
  terminal.note("Nothing needs a look.");
  return exitCodes.done;
}

async function listActors(
  call: Call,
  filters: Readonly<Record<string, string>>,
  limit: number,
): Promise<void> {
  const query = new URLSearchParams(filters);
  const ops = await connectOps(call);
  const found: ActorRow[] = [];
  for (let after: string | null = ""; after !== null && found.length < limit; ) {
    query.set("after", after);
    query.set("limit", String(Math.min(pageSize, limit - found.length)));
    const page: Of<typeof actorPage> = await ops.get(`/ops/actors?${query}`, actorPage);
    found.push(...page.actors);
    after = page.next_after;
    if (after === null) noteMissing(call.terminal, page);
  }
  printItems(call, found, actors);
  if (found.length === 0)
    call.terminal.note(
      call.flag("known") ? "No actor fits." : "No actor in memory fits; --known lists the others.",
    );
}

// `svc ops audit`: what operators did or were refused on all nodes, newest first.

const auditLimitDefault = 50;
const auditLimitMax = 100_000;

export const opsAudit: Command = {
  name: "ops audit",
  usage: "",
  summary: "list what operators did or were refused, newest first (for operators)",
  details: ["  What log rotation moved away, and a log on standard output, is read where it is kept."],
  options: `
    --before TIME  only entries before this moment
    -n, --limit N  how many, about (default ${auditLimitDefault})${opsOptions}`,
  run: async (call) => {
    const { terminal } = call;
    const limit = call.integer("limit", { min: 1, max: auditLimitMax, fallback: auditLimitDefault });
    const ops = await connectOps(call);
    const entries: Entry[] = [];
    let page: Of<typeof auditPage>;
    let before = call.text("before");
    do {
      const query = before === null ? "" : `?${new URLSearchParams({ before })}`;
      page = await ops.get(`/ops/audit${query}`, auditPage);
      entries.push(...page.entries);
      before = page.next_before;
    } while (before !== null && entries.length < limit);
    printItems(call, entries, {
      header: ["AT", "EVENT", "BY", "ACT", "REASON", "NODE"],
      rowOf: ({ at, event, node, detail }) =>
        [at, event, detail["by"], detail["act"], detail["reason"], node].map((text) =>
          visible(String(text ?? "–")),
        ),
    });
    noteMissing(terminal, page);
    for (const node of page.unreadable) terminal.note(`The audit log of ${node} goes to standard output.`);
    if (before !== null) terminal.note(`Older entries: --before ${before}`);
    if (entries.length === 0) terminal.note("The audit logs have no such entry.");
  },
};

type Entry = Of<typeof auditPage>["entries"][number];

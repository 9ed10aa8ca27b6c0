// One randomized sequence of operations on two implementations of a port, and what each shows to its caller.
//   R1. The sequence is drawn from a seed and from the results of the operations, so it is the same for both as long as
//       both give the same results.

import { operationId } from "../../storage/actor-store.fixture.ts";
import {
  type Activation,
  type ActorCommit,
  type ActorRef,
  type ActorStore,
  type PartitionRow,
  type RowSelection,
  rowTable,
} from "../../storage/actor-store.ts";
import { head, seal, version } from "../../storage/record-store.fixture.ts";
import type { HeadPage, RecordStore } from "../../storage/record-store.ts";
import { type RegisterStore, registerTables } from "../../storage/register-store.ts";
import type { Random } from "../kernel/random.ts";

/** One operation and its result. */
export interface Step {
  readonly what: string;
  readonly shown: unknown;
}

/** Operations on a port, each with a description in words. */
export type Sequence<S> = (store: S, random: Random, nameOf: (n: number) => string) => AsyncIterable<Step>;

const farMs = 4_000_000_000_000;

/** An activation that an owner holds, or held and believes to hold. */
interface Holder {
  readonly ref: ActorRef;
  epoch: number;
  head: number;
  op: string;
  seq: number;
  last: ActorCommit | null;
}

/** Claims, commits (including stale, repeated and wrong ones) and reads of three actors by several owners. */
export async function* actorSteps(store: ActorStore, random: Random, nameOf: (n: number) => string) {
  const kind = nameOf(0);
  const holders: Holder[] = [];
  for (let step = 0; step < 240; step += 1) {
    const ref = { kind, id: `actor-${random.below(3)}` };
    const of = holders.filter((each) => each.ref.id === ref.id);
    // Mostly the current one, occasionally one that was superseded.
    const holder = random.chance(0.75) ? of.at(-1) : of[random.below(Math.max(1, of.length))];
    const what = holder === undefined ? "claim" : random.weighted(actorWeights);
    if (what === "claim") {
      const activation = await store.claim(ref, `node-${step}`);
      const { epoch, head: at, op, snapshotSeq } = activation.head;
      const seq = Math.max(snapshotSeq, ...activation.events.map((row) => row.k));
      holders.push({ ref, epoch, head: at, op, seq, last: null });
      yield { what: `claim ${ref.id}`, shown: shownOf(activation) };
    } else if (what === "read") {
      const selections = [drawSelection(random)];
      const rows = await store.readRows(ref, selections);
      yield {
        what: `read ${ref.id} ${JSON.stringify(selections)}`,
        shown: rowsOf(rows, "keys" in (selections[0] ?? {})),
      };
    } else if (what === "head") {
      yield { what: `head of ${ref.id}`, shown: await store.readHead(ref) };
    } else if (what === "list") {
      yield { what: "list", shown: await store.listActors(kind, random.pick(["", "actor-0"]), 2) };
    } else if (holder !== undefined) {
      const isAgain = what === "again" && holder.last !== null;
      const commit = isAgain && holder.last !== null ? holder.last : drawCommit(holder, random, step);
      const outcome = await store.commit(commit);
      if (outcome.status === "applied" && !isAgain) follow(holder, commit);
      yield { what: `commit ${commit.op} to ${ref.id} on head ${commit.expectedHead}`, shown: outcome };
    }
  }
}

const actorWeights = { claim: 2, commit: 10, again: 2, read: 5, head: 1, list: 1 } as const;

function drawCommit(holder: Holder, random: Random, step: number): ActorCommit {
  const { ref, epoch, seq } = holder;
  const puts: PartitionRow[] = [];
  if (random.chance(0.7)) puts.push({ rt: rowTable.event, k: seq + 1, k2: "", body: `{"n":${step}}` });
  if (random.chance(0.4))
    puts.push({ rt: rowTable.outbox, k: (holder.head + 1) * 4_096, k2: "", body: '{"a":"x"}' });
  if (random.chance(0.3))
    puts.push({ rt: rowTable.timer, k: 0, k2: `t${random.below(2)}`, body: `{"d":${farMs}}` });
  if (random.chance(0.3)) {
    const sender = `s/${random.below(2)}`;
    puts.push({ rt: rowTable.inbox, k: 0, k2: sender, body: `${step}`, expiresAtMs: Date.now() + 3_600_000 });
  }
  if (random.chance(0.6)) {
    const [k, k2] = [random.below(2), `größe-${random.below(3)}`];
    puts.push({ rt: rowTable.firstKeyed + random.below(2), k, k2, body: `{"step":${step}}` });
  }
  const isPut = (rt: number, k: number, k2: string): boolean =>
    puts.some((row) => row.rt === rt && row.k === k && row.k2 === k2);
  const deletes = [
    { rt: rowTable.firstKeyed, k: random.below(2), k2: `größe-${random.below(3)}` },
    { rt: rowTable.outbox, k: holder.head * 4_096, k2: "" },
    { rt: rowTable.timer, k: 0, k2: "t1" },
  ].filter(({ rt, k, k2 }) => random.chance(0.3) && !isPut(rt, k, k2));
  const isWrong = random.chance(0.1);
  return {
    ref,
    epoch,
    puts,
    deletes,
    op: operationId(step + 1, 7),
    expectedHead: holder.head + (isWrong ? 1 : 0),
    expectedOp: holder.op,
    wakeAtMs: random.chance(0.3) ? farMs : null,
    ...(random.chance(0.25) && seq > 0
      ? { snapshot: { seq, body: `{"at":${seq}}`, schemaVersion: 1 + random.below(2) } }
      : {}),
  };
}

function follow(holder: Holder, commit: ActorCommit): void {
  holder.head = commit.expectedHead + 1;
  holder.op = commit.op;
  holder.last = commit;
  for (const row of commit.puts) if (row.rt === rowTable.event) holder.seq = Math.max(holder.seq, row.k);
}

function drawSelection(random: Random): RowSelection {
  const rt = rowTable.firstKeyed + random.below(2);
  if (random.chance(0.4)) return { rt, keys: ["größe-0", `größe-${1 + random.below(3)}`] };
  const limit = random.between(1, 4);
  return random.chance(0.5) ? { rt, limit } : { rt, limit, after: { k: random.below(2), k2: "größe-0" } };
}

function shownOf({ head: at, events, outbox, timers, inbox }: Activation): unknown {
  return { head: at, rows: [events, outbox, timers, inbox].map((rows) => rowsOf(rows, true)) };
}

/** Some stores keep the expiry time of a row to the second; whether it expires is the same in all. */
function rowsOf(rows: readonly PartitionRow[], isAnyOrder: boolean): unknown {
  const shown = rows.map(({ rt, k, k2, body, expiresAtMs }) => ({
    rt,
    k,
    k2,
    body,
    expires: expiresAtMs !== undefined,
  }));
  return isAnyOrder ? shown.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : shown;
}

/** What pushes, resends and removals do to records. */
export async function* recordSteps(store: RecordStore, random: Random, nameOf: (n: number) => string) {
  const party = nameOf(100);
  const ids = [0, 1, 2].map((n) => `svc_${nameOf(n)}`);
  const seals = [0, 1].map((n) => `bat_${nameOf(n)}`);
  const hashOf = (digit: number): string => `sha256:${String(digit).repeat(64)}`;
  for (let step = 0; step < 120; step += 1) {
    const id = random.pick(ids);
    const sealId = random.pick(seals);
    const generation = random.between(1, 3);
    const hash = hashOf(generation % 2);
    const what = random.weighted(recordWeights);
    const say = (shown: unknown): Step => ({ what: `${what} ${id} ${generation} ${sealId}`, shown });
    if (what === "version") {
      const given = version(id, sealId, {
        generation,
        hash,
        business_uuid: party,
        row: `{"g":${generation}}`,
      });
      yield say(await store.putVersions([given], []));
    } else if (what === "head") {
      const change = random.between(1, 9);
      // The same change number always stands for the same change.
      const at = { live: change % 3 !== 0, generation: 1 + (change % 3), change, business_uuid: party };
      yield say(await store.putHeads([head(id, { ...at, hash: hashOf(at.generation % 2) })]));
    } else if (what === "seal") yield say(await store.putSeal(seal(sealId)));
    else if (what === "stage") {
      // A leaf of a push always has the same bytes: its root names the push.
      const first = random.below(3);
      const leaves = [first, first + 1]
        .slice(random.below(2))
        .map((_, index) => Uint8Array.of(first + index));
      yield say(await store.stageLeaves(sealId, first, leaves));
      yield say(await store.putStagedDocument(sealId, "plan", `{"step":${step}}`));
    } else if (what === "drop") yield say(await store.dropStaged(sealId));
    else if (what === "readHead") yield say(await store.readHead(id));
    else if (what === "readServed") yield say(await store.readServed(id));
    else if (what === "readRows")
      yield say(await store.readRows(ids.map((record_id) => ({ record_id, generation, hash }))));
    else if (what === "listVersions") yield say(await store.listVersions(id, generation + 1, 2));
    else if (what === "newestWith")
      yield say(await store.newestWith(id, hashOf(random.below(3)), generation + 1));
    else if (what === "readPublished")
      yield say(await store.readPublished({ record_id: id, generation, hash }));
    else if (what === "readStaged")
      yield say([await store.loadLeaves(sealId, 0, 4), await store.readStagedDocument(sealId, "plan")]);
    else yield say(await catalogueOf(store, party));
  }
}

const recordWeights = {
  version: 6,
  head: 6,
  seal: 2,
  stage: 2,
  drop: 1,
  readHead: 3,
  readServed: 4,
  readRows: 2,
  listVersions: 1,
  newestWith: 1,
  readPublished: 1,
  readStaged: 2,
  catalogue: 1,
} as const;

async function catalogueOf(store: RecordStore, party: string): Promise<unknown> {
  const heads = [];
  let page: HeadPage = { heads: [], cursor: null };
  do {
    page = await store.listCatalogue(party, page.cursor, 2);
    heads.push(...page.heads);
  } while (page.cursor !== null);
  return heads.sort((a, b) => (a.record_id < b.record_id ? -1 : 1));
}

/** Entries of two parties in any order of their changes, and readers that follow. */
export async function* registerSteps(store: RegisterStore, random: Random, nameOf: (n: number) => string) {
  const keys = Array.from({ length: 6 }, (_, n) => nameOf(n));
  const known = new Map<string, number>();
  const feed = store.follow();
  for (let step = 0; step < 60; step += 1) {
    const n = random.below(keys.length);
    const [key = "", table = "key"] = [keys[n], registerTables[n % 2]];
    const partition = nameOf(200 + (n % 2));
    const what = random.weighted({ put: 5, get: 3, list: 2, follow: 1, claim: 2, steal: 1 });
    const say = (shown: unknown): Step => ({ what: `${what} ${table} ${n}`, shown });
    if (what === "put") {
      const change = random.between(1, 9);
      yield say(await store.put([{ table, partition, key, change, body: `{"change":${change}}` }]));
    } else if (what === "steal") {
      // A key of the other party is left unchanged; if this write comes first, the other party's later ones have no effect.
      const stranger = nameOf(200 + ((n + 1) % 2));
      yield say(await store.put([{ table, partition: stranger, key, change: 8, body: "{}" }]));
    } else if (what === "claim") yield say(await store.claimKey(key, nameOf(200 + random.below(2))));
    else if (what === "get") yield say(await store.get(table, key));
    else if (what === "list") yield say(await store.list(table, partition));
    else {
      for (let more = true; more; ) {
        const page = await feed.next(2);
        for (const entry of page.entries) if (keys.includes(entry.key)) known.set(entry.key, entry.change);
        ({ more } = page);
      }
      yield say([...known].sort());
    }
  }
}

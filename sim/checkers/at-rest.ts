// What must hold once nothing is in flight: every acknowledged push is settled, every published version is stored
// once and in order, and every region serves and indexes exactly what the owners state.

import type { AdmitReply } from "../../actors/messages/admission.ts";
import type { BusinessCommand } from "../../actors/messages/business.ts";
import type { PublishOutcome, PushReport } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { RecordHead, RecordVersion } from "../../storage/record-store.ts";
import { fileOf, type SentBatch } from "../workload/batch.ts";
import type { Journal } from "../workload/journal.ts";
import { hostOf } from "../workload/product.ts";
import { blockedAtFirst, blockedLater, listsChangeAtMs } from "../world/changing-lists.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";

/** What a business actor reports about one of its records. */
export interface OwnersHead {
  readonly generation: number;
  readonly change: number;
  readonly live: boolean;
  readonly unserved?: true;
  readonly number: number;
  readonly hash: string;
  /** The business's own id. */
  readonly bpid: string | null;
}

export interface Truth {
  readonly reports: ReadonlyMap<string, PushReport | null>;
  readonly heads: ReadonlyMap<string, OwnersHead | null>;
  /** The pushes that wait, by business, of those that validated a batch. */
  readonly waiting: ReadonlyMap<string, readonly string[]>;
}

/** Asks a push of a world about all of its records. */
export const wholeStatus = { type: "push.status", outcome: null, from_leaf: 0, limit: 1_000 } as const;

/** Asks the owners about every push and record that a client ever named, and about the `pushes` that existed before. */
export async function readTruth(
  node: SimNode,
  journal: Journal,
  pushes: readonly ActorRef<"push">[],
): Promise<Truth> {
  const reports = new Map<string, PushReport | null>();
  const heads = new Map<string, OwnersHead | null>();
  for (const push of pushes) {
    const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
    reports.set(push.id, await node.system.ask(push, status));
  }
  for (const batch of journal.batches.values()) {
    const { uuid } = batch.business;
    reports.set(batch.pushId, await node.system.ask(pushRef(uuid, batch.pushId), wholeStatus));
    for (const { recordId } of batch.leaves) {
      if (heads.has(recordId)) continue;
      const question = { type: "record.read", record_id: recordId } as const;
      const { head } = await node.system.ask(businessRef(uuid), question);
      heads.set(recordId, head);
    }
  }
  const waiting = new Map<string, readonly string[]>();
  for (const { business, key, pushId } of journal.validated) {
    const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
    reports.set(pushId, await node.system.ask(pushRef(business.uuid, pushId), status));
    if (waiting.has(business.uuid)) continue;
    const question = { type: "publishing.facts", key_id: key.keyId } as const;
    const { pending } = await node.system.ask(businessRef(business.uuid), question);
    waiting.set(business.uuid, pending);
  }
  return { reports, heads, waiting };
}

/** Whether two consecutive readings saw the same state. */
export function isSame(a: Truth, b: Truth): boolean {
  const text = ({ reports, heads }: Truth): string => JSON.stringify([[...reports], [...heads]]);
  return text(a) === text(b);
}

export function isSettled(report: PushReport | null): boolean {
  return (
    report === null || report.state === "complete" || report.state === "held" || report.state === "failed"
  );
}

/** A push has one number: the one that its business answered first, even if it is admitted again. */
function checkNumbers(world: World, journal: Journal, truth: Truth): void {
  const first = new Map<string, number>();
  for (const uuid of new Set([...journal.batches.values()].map((batch) => batch.business.uuid))) {
    for (const { command, status, reply } of world.parts.history.of(`business/${uuid}`)) {
      if (command.type !== "push.admit" || status !== "answered") continue;
      const { push_id } = command as Extract<BusinessCommand, { type: "push.admit" }>;
      const said = reply as AdmitReply;
      if (said.status === "admitted")
        first.set(push_id, Math.min(said.number, first.get(push_id) ?? said.number));
    }
  }
  for (const [pushId, report] of truth.reports) {
    const number = first.get(pushId);
    if (report !== null && number !== undefined && report.facts.number !== number)
      world.observed.violate(
        "numbered-once",
        `${pushId} has number ${report.facts.number} and was first given ${number}`,
      );
  }
}

interface Published {
  readonly batch: SentBatch;
  readonly report: PushReport;
  readonly outcome: PublishOutcome;
}

export function checkAtRest(world: World, journal: Journal, truth: Truth): void {
  const published = checkPushes(world, journal, truth);
  checkGenerations(world, journal, { truth, published });
  checkOrder(world, journal, truth, published);
  for (const region of world.parts.regions) checkRegion(world, region, truth, published);
  checkTakedowns(world, journal, truth);
  checkKeys(world, journal, truth);
  checkNumbers(world, journal, truth);
  checkCancelled(world, journal, truth);
  checkValidated(world, journal, truth);
  checkNotices(world, journal, truth);
  checkUploadedFiles(world, truth);
  checkHolds(world, journal, truth);
}

/** A timer may fire this much later than it is due. */
const timerSpareMs = 10_000;

/** A hold ends in time, and a decision that was answered as done stands. */
function checkHolds({ observed, parts }: World, journal: Journal, truth: Truth): void {
  for (const batch of journal.batches.values()) {
    const report = truth.reports.get(batch.pushId) ?? null;
    if (report === null) continue;
    // A push may be held long after it was received: its node may have stood still for a night in between.
    const sinceMs = observed.holds.heldSinceMs(pushRef(batch.business.uuid, batch.pushId).id) ?? 0;
    const heldForMs = parts.kernel.now() - sinceMs;
    if (report.state === "held" && heldForMs > (parts.holdMs ?? Infinity) + timerSpareMs)
      observed.violate("hold-ends", `${batch.pushId} is still held after ${heldForMs} ms`);
    const decided = journal.decisions.get(batch.pushId);
    if (decided !== undefined && report.hold_decision?.decision !== decided)
      observed.violate("hold-decided-once", `${batch.pushId} does not say that it was ${decided}ed`);
  }
}

/** Nothing acknowledged is lost. Returns what was published, by record. */
function checkPushes(
  world: World,
  journal: Journal,
  truth: Truth,
): ReadonlyMap<string, readonly Published[]> {
  const { observed } = world;
  const published = new Map<string, Published[]>();
  for (const batch of journal.batches.values()) {
    const report = truth.reports.get(batch.pushId) ?? null;
    if (report === null) {
      if (batch.acknowledgedAt !== null)
        observed.violate("acknowledged-is-kept", `${batch.pushId} was acknowledged and is gone`);
      continue;
    }
    observed.mark(`push.${report.state}`);
    if (!isSettled(report)) {
      observed.violate(
        "liveness",
        `${batch.pushId} is still ${report.state}, ${report.settled} of ${report.facts.records} settled`,
      );
      continue;
    }
    if (report.results.length !== batch.leaves.length)
      observed.violate(
        "outcomes-complete",
        `${batch.pushId} has ${report.results.length} outcomes of ${batch.leaves.length}`,
      );
    journal.compareResults(observed, batch, report.results, "at rest");
    for (const outcome of report.results) {
      for (const { code } of outcome.errors) observed.mark(`leaf.${code}`);
      checkListedHost(world, batch, outcome);
      checkJudged(world, batch, report, outcome);
      if (outcome.version === null || outcome.record_id === null) continue;
      if (batch.leaves[outcome.leaf_index]?.choice.fault === "scope")
        observed.violate("names-are-protected", `${batch.pushId} published another company's name`);
      const of = published.get(outcome.record_id) ?? [];
      published.set(outcome.record_id, of);
      of.push({ batch, report, outcome });
    }
  }
  return published;
}

/** What is faulty in a held push is rejected for its own reasons, however the hold ends, and what is held names its record. */
function checkJudged(
  { observed }: World,
  { pushId, leaves }: SentBatch,
  { state, error }: PushReport,
  { leaf_index, outcome, record_id, errors }: PublishOutcome,
): void {
  const wasHeld = state === "held" || error?.code === "hold_rejected" || error?.code === "hold_expired";
  const leaf = leaves[leaf_index];
  if (!wasHeld || leaf === undefined) return;
  const isForHold = outcome === "held" || errors.some(({ code }) => code === error?.code);
  if (leaf.choice.fault !== null) observed.mark("held.faulty");
  if (leaf.choice.fault !== null && isForHold)
    observed.violate("held-is-judged", `leaf ${leaf_index} of ${pushId} is faulty and waits for the hold`);
  if (isForHold && record_id !== leaf.recordId)
    observed.violate("held-is-named", `leaf ${leaf_index} of ${pushId} is held as ${record_id}`);
}

/** Generations are gapless, each is assigned to one leaf only, and they reach the owner's current generation. */
function checkGenerations(
  world: World,
  journal: Journal,
  {
    truth,
    published,
  }: { readonly truth: Truth; readonly published: ReadonlyMap<string, readonly Published[]> },
): void {
  const { observed, parts } = world;
  for (const [recordId, list] of published) {
    const first = (parts.before.records.get(recordId)?.generation ?? 0) + 1;
    if (first > 1) observed.mark("record.went_on");
    const generations = [
      ...list.map(({ outcome }) => outcome.version ?? 0),
      ...resumedGenerations(world, journal, recordId),
    ].sort((a, b) => a - b);
    const gap = generations.findIndex((generation, index) => generation !== first + index);
    if (gap >= 0)
      observed.violate("generations-gapless", `${recordId} has generations ${generations.join(", ")}`);
    const head = truth.heads.get(recordId);
    if (head?.generation !== first - 1 + generations.length)
      observed.violate(
        "generations-gapless",
        `${recordId} has ${generations.length} versions from ${first} on, its owner counts ${head?.generation}`,
      );
    for (const { batch, outcome } of list) {
      const version = observed.versions.get(`${recordId}/${outcome.version}`);
      const leaf = batch.leaves[outcome.leaf_index];
      if (
        version?.seal_id !== batch.pushId ||
        version.leaf_index !== outcome.leaf_index ||
        version.hash !== leaf?.hash
      )
        observed.violate(
          "published-once",
          `version ${outcome.version} of ${recordId} is not leaf ${outcome.leaf_index} of ${batch.pushId}`,
        );
    }
  }
}

/** Generations of a record that were assigned by pushes from before the world's start. */
function resumedGenerations(
  { observed, parts }: World,
  journal: Journal,
  recordId: string,
): readonly number[] {
  if (parts.before.pushes.length === 0) return [];
  return [...observed.versions.values()].flatMap((version) =>
    version.record_id === recordId && !journal.batches.has(version.seal_id) ? [version.generation] : [],
  );
}

/** A later change is never undone by an earlier one, by change number or by the order that clients observed. */
function checkOrder(
  world: World,
  journal: Journal,
  truth: Truth,
  published: ReadonlyMap<string, readonly Published[]>,
): void {
  const { observed } = world;
  for (const [recordId, list] of published) {
    const inOrder = [...list].sort((a, b) => (a.outcome.version ?? 0) - (b.outcome.version ?? 0));
    inOrder.forEach((each, index) => {
      const earlier = inOrder[index - 1];
      if (earlier !== undefined && earlier.report.facts.number >= each.report.facts.number)
        observed.violate(
          "order-kept",
          `version ${each.outcome.version} of ${recordId} is of push ${each.report.facts.number}, the one before of ${earlier.report.facts.number}`,
        );
    });
    const last = inOrder.at(-1);
    const head = truth.heads.get(recordId);
    if (last === undefined || head === null || head === undefined) continue;
    for (const removal of journal.removals) {
      if (removal.recordId !== recordId || !removal.isRemoved || removal.acknowledgedAt === null) continue;
      // A version acknowledged before the removal was requested is older than the removal.
      const isOlder =
        last.batch.acknowledgedAt !== null &&
        last.batch.acknowledgedAt < removal.sent.at &&
        last.batch.settled;
      if (head.live && isOlder)
        observed.violate(
          "order-kept",
          `${recordId} is served although it was removed after ${last.batch.pushId}`,
        );
    }
  }
}

/** A region serves and indexes exactly what the owners state, with the bytes that were sealed. */
function checkRegion(
  world: World,
  region: string,
  truth: Truth,
  published: ReadonlyMap<string, readonly Published[]>,
): void {
  const { observed, parts } = world;
  const { tables } = parts.stores;
  const heads = tables.of<RecordHead>("record_head");
  const versions = tables.of<RecordVersion>("record_version");
  const indexed = world.indexed(region);
  for (const [recordId, owner] of truth.heads) {
    // A record untouched since the start is not in a journal: neither its head nor its row can be compared.
    if (owner !== null && owner.change === parts.before.records.get(recordId)?.change) continue;
    const stored = heads.read(region, recordId);
    const row = indexed.get(recordId);
    if (owner === null || owner === undefined) {
      if (stored !== null || row !== undefined)
        observed.violate("index-is-truth", `${recordId} is known in ${region} and has no owner`);
      continue;
    }
    const isServed = owner.live && owner.unserved !== true;
    if (
      stored === null ||
      stored.change !== owner.change ||
      stored.live !== isServed ||
      stored.generation !== owner.generation
    )
      observed.violate(
        "store-is-truth",
        `${recordId} in ${region} is at change ${stored?.change} (live ${stored?.live}), its owner says ${owner.change} (served ${isServed})`,
      );
    const version = versions.read(region, `${recordId}/${owner.generation}`);
    if (isServed && (version === null || row !== version.row))
      observed.violate(
        "index-is-truth",
        `${recordId} is indexed in ${region} as ${nameRow(world, recordId, row)}, not as its version ${owner.generation}`,
      );
    if (!isServed && row !== undefined)
      observed.violate("index-is-truth", `${recordId} is not served and found in ${region}`);
    for (const { outcome } of published.get(recordId) ?? []) {
      if (versions.read(region, `${recordId}/${outcome.version}`) === null)
        observed.violate(
          "acknowledged-is-kept",
          `version ${outcome.version} of ${recordId} is not stored in ${region}`,
        );
    }
  }
  for (const recordId of indexed.keys()) {
    if (!truth.heads.has(recordId))
      observed.violate("index-is-truth", `${recordId} is indexed in ${region} and nobody sent it`);
  }
}

/** Which version of the record a row belongs to. */
function nameRow(world: World, recordId: string, row: string | undefined): string {
  if (row === undefined) return "nothing";
  for (const [name, version] of world.observed.versions)
    if (version.record_id === recordId && version.row === row)
      return `version ${name.slice(name.indexOf("/") + 1)}`;
  return "a row of no version";
}

/** A seq is used once, and caps hold. */
function checkKeys(world: World, journal: Journal, truth: Truth): void {
  const { observed } = world;
  const bySeq = new Map<string, string>();
  const records = new Map<string, { total: number; cap: number; bytes: number; bytesCap: number }>();
  for (const batch of journal.batches.values()) {
    const report = truth.reports.get(batch.pushId) ?? null;
    if (report === null) continue;
    const { keyId } = batch.key;
    const seq = `${keyId} ${batch.seq}`;
    const known = bySeq.get(seq);
    if (known !== undefined)
      observed.violate("seq-increases", `${known} and ${batch.pushId} both used seq ${batch.seq}`);
    bySeq.set(seq, batch.pushId);
    const { caps } = batch.business;
    const used = records.get(keyId) ?? {
      total: 0,
      cap: caps.records_per_hour,
      bytes: 0,
      bytesCap: caps.bytes_per_day,
    };
    records.set(keyId, used);
    used.total += batch.leaves.length;
    // A push is charged once. The request that charged it need not be the one that had it accepted, and files are smaller.
    used.bytes += journal.imported.has(batch.pushId) ? fileOf(batch).length : batch.body.length;
  }
  for (const [keyId, used] of records) {
    if (used.total > used.cap)
      observed.violate("caps-hold", `${keyId} pushed ${used.total} records, cap ${used.cap}`);
    if (used.bytes > used.bytesCap)
      observed.violate("caps-hold", `${keyId} pushed ${used.bytes} bytes, cap ${used.bytesCap}`);
  }
}

// Uploaded files once nothing is in flight: what was imported is gone from every region.

function checkUploadedFiles(world: World, truth: Truth): void {
  for (const report of truth.reports.values()) {
    const { file } = report?.facts ?? {};
    if (file === undefined || (report?.state !== "complete" && report?.state !== "failed")) continue;
    world.observed.mark("import.ended");
    for (const region of world.parts.regions) {
      if (world.stagedFile(region, file.name) === null) continue;
      world.observed.violate(
        "files-are-removed",
        `${report.facts.push_id} is ${report.state}, and ${file.name} is still in ${region}`,
      );
    }
  }
}

// What the lists in force decided about a leaf (L1 in changing-lists.ts).

/** Checks a leaf that was sealed after the lists changed; earlier ones may have been judged by either. */
function checkListedHost({ observed, parts }: World, batch: SentBatch, outcome: PublishOutcome): void {
  const choice = batch.leaves[outcome.leaf_index]?.choice;
  if (choice === undefined || choice.fault !== null || batch.sealedAtMs < listsChangeAtMs(parts.kernel))
    return;
  const host = hostOf(choice);
  const isFlagged = outcome.errors.some(({ code }) => code === "url_flagged");
  if (host === blockedLater && outcome.version !== null)
    observed.violate("lists-in-force", `${batch.pushId} links to a host that was blocked when it was sealed`);
  if (host === blockedAtFirst && isFlagged)
    observed.violate("lists-in-force", `${batch.pushId} was refused for a host that was blocked no longer`);
}

// What must hold at rest of records that operators took out of serving; what regions serve and index is compared with the owners
// above.

/** An owner knows what operators keep out of serving, of all live records and of no other. */
function checkTakedowns({ observed, parts }: World, journal: Journal, { heads }: Truth): void {
  const isRepeated = parts.faults.fired.has("message_duplicated");
  const owners = new Map(
    [...journal.batches.values()].flatMap(({ business, leaves }) =>
      leaves.map(({ recordId }) => [recordId, business.uuid] as const),
    ),
  );
  for (const [recordId, head] of heads) {
    if (!head?.live) continue;
    const subjects = [owners.get(recordId) ?? "", recordId].flatMap(
      (subject) => journal.takedowns.get(subject) ?? [],
    );
    // What was never answered may have been done or not.
    if (subjects.some(({ sinceMs }) => !Number.isFinite(sinceMs))) continue;
    if (isRepeated && subjects.some(({ mayReturn }) => mayReturn)) continue;
    const isDown = subjects.some((each) => each.isDown);
    if (isDown !== (head.unserved === true))
      observed.violate(
        "taken-down-is-absent",
        `${recordId} is ${isDown ? "" : "not "}taken down, and its owner says that it is ${head.unserved ? "not " : ""}served`,
      );
  }
}

// What must hold at rest of pushes that were cancelled, validated, given up, or of which notice was given.

/** A cancelled push is failed as cancelled, and nothing that it seals was ever published. */
function checkCancelled({ observed }: World, journal: Journal, truth: Truth): void {
  const published = new Set([...observed.versions.values()].map(({ seal_id }) => seal_id));
  for (const pushId of journal.cancelled) {
    const report = truth.reports.get(pushId) ?? null;
    if (report?.error?.code !== "cancelled")
      observed.violate("cancelled-is-over", `${pushId} was cancelled and is ${report?.state ?? "gone"}`);
    if (published.has(pushId))
      observed.violate("cancelled-publishes-nothing", `${pushId} was cancelled and has versions`);
  }
}

/** A batch that was only validated is no push, waits nowhere and has nothing staged. */
function checkValidated(world: World, journal: Journal, truth: Truth): void {
  for (const { pushId, business } of journal.validated) {
    if ((truth.reports.get(pushId) ?? null) !== null)
      world.observed.violate("validation-changes-nothing", `${pushId} was only validated and is a push`);
    if (truth.waiting.get(business.uuid)?.includes(pushId))
      world.observed.violate("validation-changes-nothing", `${pushId} was only validated and waits`);
  }
}

/** Each queued push that ended gave notice of that, and no push gave notice of what it never was. */
function checkNotices(world: World, journal: Journal, truth: Truth): void {
  const { observed, parts } = world;
  const given = new Set(parts.notices.map(({ notice_id }) => notice_id));
  for (const { pushId } of journal.batches.values()) {
    const report = truth.reports.get(pushId) ?? null;
    if (report === null) continue;
    if (report.error?.code === "processing_failed") observed.mark("push.given_up");
    const ended = endOf(report);
    if (ended !== null && !given.has(`${pushId}.${ended}`))
      observed.violate("notice-is-given", `${pushId} is ${ended} and gave no notice`);
    for (const other of ["complete", "failed"].filter((state) => state !== report.state)) {
      if (given.has(`${pushId}.${other}`))
        observed.violate("notice-is-true", `${pushId} is ${report.state} and gave notice as ${other}`);
    }
  }
  if (given.size > 0) observed.mark("notice.given");
}

/** The end of a queued push, or that it is held; null for what gives no notice. */
function endOf({ state, facts }: PushReport): string | null {
  if (state === "held") return "held";
  return facts.mode === "queued" && (state === "complete" || state === "failed") ? state : null;
}

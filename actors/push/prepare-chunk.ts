// Prepares a chunk: every record is judged, the business assigns generations, rows and sidecars are signed. Nothing of it is
// stored here, and all of it can be repeated: the business gives the same answer and signatures are deterministic.
//   P1. Which leaves are published was decided when the chunk was first judged, and the business remembers it: a leaf that
//       it gave a generation is published, and no other, whatever today's rules say.
//   P2. A leaf that was rejected before its push was held stays rejected.

import { chunkSize } from "../../machines/push.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { endpointDomains } from "../../protocol/keys/certificate.ts";
import { ownIdLengthMax } from "../../protocol/limits.ts";
import { listingsOf } from "../../protocol/price-shock.ts";
import { type ProjectedRow, projectRecord } from "../../protocol/projection/project.ts";
import { declaredBrands } from "../../protocol/records/business-files.ts";
import { withoutQuotes } from "../../protocol/records/fields.ts";
import { judging, type RecordRules } from "../../protocol/records/judge-record.ts";
import { listsInForce } from "../../protocol/records/name-index.ts";
import {
  type SidecarScope,
  type SidecarV2,
  type SignedVersion,
  signRowsAndSidecars,
  type VersionSigners,
} from "../../protocol/signed-version.ts";
import { duplicateInBatch } from "../../protocol/wire/push.ts";
import { inSteps } from "../../std/work.ts";
import type { AssignReply, LeafAssignment, LeafClaim, NamedRecord } from "../messages/business.ts";
import type { PublishOutcome, PushFacts, RecordFault, SettledOutcome } from "../messages/push.ts";
import { businessRef, pushRef } from "../messages/refs.ts";
import type { PushSeal } from "../messages/serving.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { PushPorts } from "./ports.ts";

/** Versions that are signed together: so many, or as many as have so many bytes. */
const stepVersions = 50;
const stepBytes = 65_536;

export interface Leaf {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly record: JsonObject;
}

export interface PreparedLeaf {
  readonly leaf: Leaf;
  readonly assignment: LeafAssignment;
  readonly signed: SignedVersion;
}

/** A chunk that is to be judged or published; `judged` if some leaves of its push were rejected before it was held. */
export interface ChunkWorkload {
  readonly facts: PushFacts;
  readonly chunk: number;
  readonly judged?: boolean;
}

export type Judging = Pick<PushPorts, "leaves" | "lists" | "parsed" | "recordIdOf" | "crypto" | "paces">;

/** A chunk whose records were judged, and whose leaves have their generations from the business. */
export interface AssignedChunk extends AssignReply {
  readonly chunk: number;
  readonly judged: readonly JudgedLeaf[];
}

export interface PreparedChunk {
  /** The outcomes of all leaves, in leaf order. */
  readonly outcomes: readonly SettledOutcome[];
  readonly published: readonly PreparedLeaf[];
  readonly publishedAtMs: number;
}

/** The business or an operator has cancelled the push: nothing of it is published. */
export class PushCancelled extends Error {
  readonly byOperator: boolean;

  constructor({ by_operator = false }: { readonly by_operator?: boolean }) {
    super("The push was cancelled.");
    this.name = "PushCancelled";
    this.byOperator = by_operator;
  }
}

/** The seal of the push does not stand any more: nothing more of it is published. */
export class PushFallen extends Error {
  readonly code: string;

  constructor({ code, detail }: { readonly code: string; readonly detail: string }) {
    super(detail);
    this.name = "PushFallen";
    this.code = code;
  }
}

/** Throws {@link PushCancelled} or {@link PushFallen} where the business publishes nothing of a chunk. */
export function assertPublished(assigned: AssignReply): void {
  if (assigned.cancelled === true) throw new PushCancelled(assigned);
  if (assigned.fallen !== undefined) throw new PushFallen(assigned.fallen);
}

/** What the business has to know of the seal of a push. */
export function sealOf({ key_id, cert_id, sealed_at, received_at, mandates }: PushFacts): PushSeal {
  const named = mandates?.map(({ mandate_id, sealed_by }) => ({ mandate_id, sealed_by })) ?? [];
  return { key_id, cert_id, sealed_at, received_at, mandates: named };
}

/** Judges the records and has the business assign their generations. */
export async function assignChunk(
  ports: PushPorts,
  { facts, chunk, judged: wasJudged = false }: ChunkWorkload,
  { actor, ask }: Pick<ActivityContext<"push">, "actor" | "ask">,
): Promise<AssignedChunk> {
  const found = wasJudged ? (await ask(actor, { type: "chunk.findings", chunk })).outcomes : [];
  const judged = await judgeChunk(ports, { facts, chunk }, found);
  const leaves = judged.flatMap(({ claim }) => (claim === null ? [] : [claim]));
  const { push_id, number, collection } = facts;
  const place = { push_id, number, chunk, collection };
  const refused = judged.flatMap(({ names }) => names ?? []);
  const command = { type: "chunk.assign", ...place, leaves, refused, seal: sealOf(facts) } as const;
  const assigned = await ask(businessRef(facts.business_uuid), command);
  assertPublished(assigned);
  return { chunk, judged, ...assigned };
}

/** The leaves of a chunk, in their order; one that is rejected in `found` is not judged again (P2). */
export async function judgeChunk(
  ports: Judging,
  { facts, chunk }: Pick<ChunkWorkload, "facts" | "chunk">,
  found: readonly SettledOutcome[] = [],
): Promise<readonly JudgedLeaf[]> {
  const first = chunk * chunkSize;
  const count = Math.min(chunkSize, facts.records - first);
  const bytes = await ports.leaves.load(facts, first, count);
  // Continuing would settle the chunk without them: instead the push waits, and shows as stalled.
  // Words count chunks from 1, as everywhere; the numbers of the API begin with 0.
  if (bytes.length < count)
    throw new Error(`A leaf of chunk ${chunk + 1} of ${facts.push_id} is not staged.`);
  const rejected = new Map(
    found.flatMap((each) => (each.outcome === "rejected" ? [[each.leaf_index, each] as const] : [])),
  );
  const judged: JudgedLeaf[] = [];
  const pace = ports.paces[facts.mode](facts.business_uuid);
  for (const [offset, leaf] of bytes.entries()) {
    const due = pace();
    if (due !== null) await due;
    const leafIndex = first + offset;
    const known = rejected.get(leafIndex);
    const found =
      known === undefined
        ? inSteps(judge(ports, facts, leafIndex, leaf), pace)
        : { leafIndex, bytes: leaf, record: null, claim: null, names: null, faults: known.errors };
    judged.push(found instanceof Promise ? await found : found);
  }
  return judged;
}

/** The countries that each mandate of the push allows. */
export function countriesOf({ mandates }: Pick<PushFacts, "mandates">): RecordRules["countries"] {
  return mandates?.map(({ countries }) => countries) ?? null;
}

/** Signs the rows and sidecars of the published records. */
export async function signChunk(
  ports: PushPorts,
  facts: PushFacts,
  { judged, assignments, assigned_at_ms }: AssignedChunk,
): Promise<PreparedChunk> {
  const { outcomes, kept } = settle(ports, judged, assignments);
  // Uses the keys in force when the generations were assigned: a chunk that is repeated after a crash is signed by the same keys.
  const publishedAt = formatTimestamp(assigned_at_ms);
  const signers = { projection: ports.projection(publishedAt), sidecar: ports.sidecar(publishedAt) };
  const signed: SignedVersion[] = [];
  const pace = ports.paces[facts.mode](facts.business_uuid);
  for (let from = 0; from < kept.length; ) {
    const due = pace();
    if (due !== null) await due;
    const some = kept.slice(from, endOfStep(kept, from));
    signed.push(...(await signVersions(signers, facts, some.map(unsignedOf), assigned_at_ms)));
    from += some.length;
  }
  return {
    outcomes,
    published: kept.map((each, index) => ({ ...each, signed: signed[index] as SignedVersion })),
    publishedAtMs: assigned_at_ms,
  };
}

function endOfStep(kept: readonly KeptLeaf[], from: number): number {
  let to = from;
  for (let bytes = 0; to < kept.length && to - from < stepVersions && bytes < stepBytes; to += 1)
    bytes += kept[to]?.leaf.bytes.length ?? 0;
  return to;
}

interface KeptLeaf {
  readonly leaf: Leaf;
  readonly assignment: LeafAssignment;
}

/** Follows the business's first answer (P1): that request may have contained other leaves than this one. */
function settle(
  ports: PushPorts,
  judged: readonly JudgedLeaf[],
  assignments: readonly LeafAssignment[],
): { readonly outcomes: readonly SettledOutcome[]; readonly kept: readonly KeptLeaf[] } {
  const byLeaf = new Map(assignments.map((assignment) => [assignment.leaf_index, assignment]));
  const outcomes: SettledOutcome[] = [];
  const kept: KeptLeaf[] = [];
  for (const each of judged) {
    const assignment = byLeaf.get(each.leafIndex);
    byLeaf.delete(each.leafIndex);
    outcomes.push(assignment ? outcomeOf(assignment) : refusalOf(each));
    if (assignment && assignment.generation > 0) kept.push({ leaf: leafOf(ports, each), assignment });
  }
  if (byLeaf.size > 0) throw new Error("The business answered for a leaf that it was not asked about.");
  return { outcomes, kept };
}

function leafOf(ports: PushPorts, { leafIndex, bytes, record, claim }: JudgedLeaf): Leaf {
  if (record === null) throw new Error(`Leaf ${leafIndex} has a generation and cannot be read.`);
  return { hash: claim?.hash ?? hashOf(bytes, ports.crypto.sha256), bytes, record };
}

/** The outcome of a leaf that is not published. */
export function refusalOf({ leafIndex, claim, names, faults }: JudgedLeaf): SettledOutcome {
  const refused = rejected(leafIndex, claim?.record_id ?? null, claim === null ? faults : [refusedBefore]);
  return names === null ? refused : { ...refused, names: names.record_id };
}

const refusedBefore: RecordFault = {
  code: "refused_before",
  pointer: "",
  detail:
    "The record was refused when this push was first judged, by rules that have changed since; publish it again.",
};

function unsignedOf({ leaf, assignment }: KeptLeaf): UnsignedVersion {
  return {
    record: leaf.record,
    recordId: assignment.record_id,
    hash: leaf.hash,
    generation: assignment.generation,
    change: assignment.change,
    isUpdate: assignment.outcome === "updated",
  };
}

export interface JudgedLeaf {
  readonly leafIndex: number;
  readonly bytes: Uint8Array;
  /** Null if the bytes are not a JSON object. */
  readonly record: JsonObject | null;
  /** The request to the business; null for a record that is refused today. */
  readonly claim: LeafClaim | null;
  /** What a record that is refused today names, if that can be read. */
  readonly names: NamedRecord | null;
  readonly faults: readonly RecordFault[];
}

function* judge(
  ports: Judging,
  facts: PushFacts,
  leafIndex: number,
  bytes: Uint8Array,
): Generator<void, JudgedLeaf> {
  const { collection } = facts;
  const known = ports.parsed.take(pushRef(facts.business_uuid, facts.push_id).id, leafIndex);
  const { own_names: ownNames } = facts;
  const brands = ports.lists.certified.brandsOf(facts.business_uuid);
  const rules = { collection, countries: countriesOf(facts), lists: ports.lists, ownNames, brands };
  // What was judged by other lists and names than those in force is judged again.
  const isCurrent = known?.judgedBy === listsInForce(ports.lists);
  const judged = yield* judging(bytes, rules, isCurrent ? (known.record ?? "accepted") : undefined);
  const { record } = judged;
  if (!judged.ok) {
    const names = namesOf(ports, facts, record);
    return { leafIndex, bytes, record, claim: null, names, faults: withoutQuotes(judged.faults) };
  }
  // Every record type has the business's own id under this name.
  const ownId = String(judged.record["business_product_id"]);
  const mandate = mandateAt(facts, judged.record);
  const claim: LeafClaim = {
    leaf_index: leafIndex,
    record_id: known?.recordId ?? ports.recordIdOf(facts.business_uuid, collection, ownId),
    hash: hashOf(bytes, ports.crypto.sha256),
    business_product_id: ownId,
    listings: listingsOf(judged.record),
    ...(collection === "business_files"
      ? { domains: endpointDomains(judged.record), brands: declaredBrands(judged.record) }
      : {}),
    ...(mandate === 0 ? {} : { mandate }),
  };
  return { leafIndex, bytes, record, claim, names: null, faults: [] };
}

function namesOf(
  ports: Pick<Judging, "recordIdOf">,
  { business_uuid, collection }: PushFacts,
  record: JsonObject | null,
): NamedRecord | null {
  const ownId = record?.["business_product_id"];
  if (typeof ownId !== "string" || ownId === "" || [...ownId].length > ownIdLengthMax) return null;
  const record_id = ports.recordIdOf(business_uuid, collection, ownId);
  return { record_id, business_product_id: ownId };
}

function rejected(
  leafIndex: number,
  recordId: string | null,
  errors: readonly RecordFault[],
): PublishOutcome {
  return { leaf_index: leafIndex, outcome: "rejected", record_id: recordId, version: null, errors };
}

function outcomeOf(assignment: LeafAssignment): PublishOutcome {
  const { leaf_index, record_id, outcome, generation } = assignment;
  if (outcome === "superseded") {
    return rejected(leaf_index, record_id, [
      {
        code: "superseded",
        pointer: "",
        detail: "A later push, withdrawal or deletion was already applied to this record.",
      },
    ]);
  }
  if (outcome === "duplicate") {
    return rejected(leaf_index, record_id, [duplicateInBatch]);
  }
  return { leaf_index, outcome, record_id, version: generation, errors: [] };
}

// Rows and sidecars of a chunk, projected and signed together: two signatures for each record, and nothing left for later.

interface UnsignedVersion {
  readonly record: JsonObject;
  readonly recordId: string;
  readonly hash: string;
  readonly generation: number;
  readonly change: number;
  readonly isUpdate: boolean;
}

/** The same versions at the same instant produce the same text. */
function signVersions(
  signers: VersionSigners,
  facts: PushFacts,
  versions: readonly UnsignedVersion[],
  publishedAtMs: number,
): Promise<readonly SignedVersion[]> {
  const publishedAt = formatTimestamp(publishedAtMs);
  const texts = versions.map((version) => ({
    row: project(signers, facts, version, publishedAtMs),
    sidecar: sidecarOf(facts, version, publishedAt),
  }));
  return signRowsAndSidecars(signers, texts);
}

function project(
  signers: VersionSigners,
  facts: PushFacts,
  version: UnsignedVersion,
  publishedAtMs: number,
): ProjectedRow {
  return projectRecord({
    collection: facts.collection,
    record: version.record,
    recordId: version.recordId,
    businessUuid: facts.business_uuid,
    hash: version.hash,
    certId: facts.cert_id,
    keyId: signers.projection.keyId,
    publishedAt: Math.floor(publishedAtMs / 1000),
    aiPolicyVersion: facts.ai_policy_version,
  });
}

function sidecarOf(facts: PushFacts, version: UnsignedVersion, publishedAt: string): SidecarV2 {
  return {
    v: 2,
    action: version.isUpdate ? "update" : "publish",
    ai_policy_version: facts.ai_policy_version,
    batch_id: facts.path === "A" ? facts.push_id : null,
    business_uuid: facts.business_uuid,
    cert_id: facts.cert_id,
    change: version.change,
    generation: version.generation,
    path: facts.path,
    published_at: publishedAt,
    received_at: facts.received_at,
    record_id: version.recordId,
    record_type: facts.collection,
    record_version: 1,
    scope: scopeOf(facts, version.record),
    seal_ok: true,
    sealed_at: facts.sealed_at,
    sealed_by_key_id: facts.key_id,
    sha256: version.hash,
    source: facts.source === "bulk" ? "import" : facts.source,
  };
}

function scopeOf(facts: PushFacts, record: JsonObject): SidecarScope {
  const permissions = [`publish:${facts.collection}`];
  if (facts.path === "A") {
    return {
      basis: "mandate",
      key_id: facts.key_id,
      kind: "system",
      mandate_id: facts.mandates?.[mandateAt(facts, record)]?.mandate_id ?? null,
      permissions,
    };
  }
  return facts.sealer === "hosted"
    ? { basis: "standard_publishing", key_id: facts.key_id, kind: "hosted", mandate_id: null, permissions }
    : { basis: "role", key_id: facts.key_id, kind: "passkey", mandate_id: null, permissions };
}

/** The place of the newest mandate that allows the record: every verifier judges the record by the one that its sidecar names. */
function mandateAt({ mandates }: Pick<PushFacts, "mandates">, record: JsonObject): number {
  const countries = Array.isArray(record["countries"]) ? record["countries"] : [];
  const at = mandates?.findIndex((each) =>
    countries.every((country) => each.countries.includes(String(country))),
  );
  // A record that no mandate covers any more, although it has a generation, was judged under the same mandates.
  return Math.max(0, at ?? 0);
}

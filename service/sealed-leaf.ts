// What the service itself knows about a leaf of a batch, so that a verification can distinguish altered bytes from a
// wrong path.
//   L1. Nothing is looked up for a batch seal that the business did not make: a forged seal reveals nothing.
//   L2. All that is revealed is that the path of a record seal is that leaf's own. A caller who has that path was served
//       the record; it is not possible to ask which leaves of a batch were published.
//   L3. If a store or an actor is unreachable, or too little is left of a version, the leaf counts as unknown. So does a leaf of
//       an uploaded file until its record is published: nobody but its business can have been given its path, and the file
//       may be in the folder of another node.

import type { PushCommand } from "../actors/messages/push.ts";
import { pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { toHex } from "../protocol/bytes.ts";
import { openEnvelope } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { pushIdOf } from "../protocol/identifiers.ts";
import { leafHash } from "../protocol/merkle.ts";
import { type BatchSeal, type InclusionSeal, parseRecordSeal } from "../protocol/seal.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { leadsToRoot, openRecordSeal, type SealEvidence, verifySealMaker } from "../verifier/seal.ts";
import type { Trust } from "../verifier/trust.ts";
import { failureAnswer } from "./failure.ts";

export interface SealedLeafDeps {
  readonly trust: Trust;
  readonly records: Pick<RecordStore, "loadLeaves" | "listVersions" | "readPublished">;
  readonly actors: Pick<ActorSystem, "ask">;
}

/** The maximum time that a verification waits for the push's actor, which may live in another region. */
const askMs = 2_000;

interface Leaf {
  readonly businessUuid: string;
  readonly pushId: string;
  readonly payload: BatchSeal;
  readonly inclusion: InclusionSeal;
}

/** The hash of the record at the leaf whose own path the record seal carries; null if that is not known. */
export async function findLeafHash(deps: SealedLeafDeps, evidence: SealEvidence): Promise<string | null> {
  const leaf = genuineLeaf(deps.trust, evidence);
  if (leaf === null) return null;
  try {
    return (await publishedHash(deps, leaf)) ?? (await stagedHash(deps, leaf));
  } catch (error) {
    if (failureAnswer(error) === null) throw error;
    return null;
  }
}

/** See L1. */
function genuineLeaf(trust: Trust, evidence: SealEvidence): Leaf | null {
  const seal = parseRecordSeal(evidence.seal);
  const opened = seal.ok ? openRecordSeal(seal.value) : seal;
  if (!seal.ok || !opened.ok || opened.value.kind !== "batch") return null;
  const { payload, inclusion } = opened.value;
  if (inclusion.tree_size !== payload.tree_size || inclusion.leaf_index >= payload.tree_size) return null;
  if (!verifySealMaker(trust, evidence, seal.value).ok) return null;
  const { batch_seal: envelope } = inclusion;
  const bytes = openEnvelope(envelope, envelope.payloadType);
  if (!bytes.ok) return null;
  const { uuid } = evidence.keys;
  return { businessUuid: uuid, pushId: pushIdOf(uuid, bytes.value, trust.sha256), payload, inclusion };
}

async function publishedHash(
  { records, actors }: SealedLeafDeps,
  { businessUuid, pushId, inclusion }: Leaf,
): Promise<string | null> {
  const { leaf_index: index } = inclusion;
  const status: PushCommand = { type: "push.status", outcome: null, from_leaf: index, limit: 1 };
  const push = pushRef(businessUuid, pushId);
  const report = await actors.ask(push, status, { timeoutMs: askMs });
  const outcome = report?.results.find(({ leaf_index }) => leaf_index === index);
  const { record_id: recordId = null, version: generation = null } = outcome ?? {};
  if (recordId === null || generation === null) return null;
  const path = inclusion.proof.map((node) => node.slice("sha256:".length)).join("");
  for (const version of await records.listVersions(recordId, generation + 1, 1)) {
    const published = await records.readPublished({ record_id: recordId, generation, hash: version.hash });
    const isIt = published?.seal_id === pushId && published.leaf_index === index;
    if (isIt && toHex(published.proof) === path) return version.hash;
  }
  return null;
}

/** For a push that is not finished: its leaves are staged, whatever becomes of them. */
async function stagedHash({ records, trust }: SealedLeafDeps, leaf: Leaf): Promise<string | null> {
  const { id } = pushRef(leaf.businessUuid, leaf.pushId);
  const [bytes] = await records.loadLeaves(id, leaf.inclusion.leaf_index, 1);
  if (bytes === undefined || !leadsToRoot(trust, leaf, leafHash(bytes, trust.sha256))) return null;
  return hashOf(bytes, trust.sha256);
}

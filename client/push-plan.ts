// What of some products is published already, and what is published that they do not have: the plan of a push, made before
// anything is sealed.
//   N1. Only the service's answers count: nothing that an earlier run remembers is believed.
//   N2. A product is unchanged while exactly its bytes are served and the key that pushes has sealed them. It counts as changed
//       if a person or another key sealed it, if it was taken out of serving, and if a held push would still replace it.
//   N3. While an accepted push is not settled, the catalogue is waited for; if it takes too long, everything counts as changed.

import { hashOf, parseUtf8 } from "../protocol/bytes.ts";
import { holdThreshold } from "../protocol/price-shock.ts";
import type { CatalogueEntry } from "./business-answers.ts";
import type { BusinessClient } from "./business-client.ts";
import { catalogueEntries, heldPushes, pushAttempts, pushResults } from "./pages.ts";
import { ownIdOf, type RecordSet } from "./record-set.ts";
import type { Patience } from "./retry-until.ts";
import type { SigningKey } from "./signing-key.ts";

export interface PlanDeps {
  readonly client: Pick<BusinessClient, "cataloguePage" | "attemptsPage" | "holdsPage" | "pushStatus">;
  readonly patience: Patience;
  /** The key that is going to push. */
  readonly key: Pick<SigningKey, "keyId">;
  /** Called now and then with the number of live products that were read so far. */
  readonly onRead?: (live: number) => void;
}

/** A product that is published now. */
export type LiveProduct = Pick<CatalogueEntry, "record_id" | "business_product_id">;

export interface PushPlan {
  /** Indexes of the records to publish, in order. */
  readonly changed: readonly number[];
  /** How many are published as they are, by this key. */
  readonly unchanged: number;
  /** How many products the business has published. */
  readonly live: number;
  /** The live products that are not among the records. */
  readonly missing: readonly LiveProduct[];
  /** True if earlier pushes were still not settled, so that nothing was compared (N3). */
  readonly isWaiting: boolean;
}

/** An accepted push that is not settled after this time is stalled or very large. */
const pendingWithinMs = 3_600_000;
const pollMs = 1_000;
const readAtOnce = 1_000;
const toldEvery = 1_000;

/**
 * Compares products with what the business has published. `alsoHas` are own ids that the source of the records has and of
 * which no record could be made: they are not missing. Rejects with the client's errors, among them 429 with the reason
 * `catalogue_reads` where a large catalogue was read too often.
 */
export async function planPush(
  deps: PlanDeps,
  records: RecordSet,
  alsoHas: ReadonlySet<string> = new Set(),
): Promise<PushPlan> {
  const isWaiting = !(await untilSettled(deps));
  const held = await heldRecords(deps);
  const live = await liveProducts(deps);
  const changed: number[] = [];
  const found = new Set<string>();
  for (let first = 0; first < records.lengths.length; first += readAtOnce)
    for (const [at, bytes] of (await records.read(first, readAtOnce)).entries()) {
      const id = idIn(bytes);
      const entry = id === null ? undefined : live.get(id);
      if (id !== null) found.add(id);
      const isServed = entry !== undefined && entry.sha256 === hashOf(bytes);
      if (isWaiting || !isServed || held.has(entry.record_id)) changed.push(first + at);
    }
  const missing = [...live.values()].filter(
    ({ business_product_id: id }) => !found.has(id) && !alsoHas.has(id),
  );
  return {
    changed,
    unchanged: records.lengths.length - changed.length,
    live: live.size,
    missing: missing.map(({ record_id, business_product_id }) => ({ record_id, business_product_id })),
    isWaiting,
  };
}

/** How many products may be withdrawn at once, as a number or as a share of those that are live. */
export type RemovalLimit = { readonly count: number } | { readonly percent: number };

/**
 * Whether the products that a whole feed no longer has may be withdrawn without a person. `over_limit`: more than the limit allows.
 * `over_fifth`: of 20 live products or more, more than one fifth would go, which is where a push is held (specification, «Limits»;
 * docs/pushes.md). Here products are counted, not listings.
 */
export function decideWithdrawal(
  { live, missing }: Pick<PushPlan, "live" | "missing">,
  limit: RemovalLimit,
): "allowed" | "over_limit" | "over_fifth" {
  const most = "count" in limit ? limit.count : (live * limit.percent) / 100;
  if (missing.length > most) return "over_limit";
  return live >= holdThreshold && missing.length * 5 > live ? "over_fifth" : "allowed";
}

/** False if an accepted push is still not settled after the caller's patience. */
async function untilSettled({ client, patience }: PlanDeps): Promise<boolean> {
  const untilMs = patience.now() + patience.patienceMs;
  for (;;) {
    const from = new Date(patience.now() - pendingWithinMs).toISOString();
    const { done } = await pushAttempts(client, patience, { status: "pending", from }).next();
    if (done === true) return true;
    if (patience.now() + pollMs > untilMs) return false;
    patience.onWaiting({ delayMs: pollMs, error: new Error("An earlier push is not settled yet.") });
    await patience.wait(pollMs);
  }
}

/** The ids of the records that held pushes would publish. */
async function heldRecords({ client, patience }: PlanDeps): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { push_id: pushId } of heldPushes(client, patience))
    for await (const { record_id } of pushResults(client, patience, { pushId, outcome: "held" }))
      if (record_id !== null) ids.add(record_id);
  return ids;
}

/** The hash is null where another key has sealed what is served. */
type Served = LiveProduct & { readonly sha256: string | null };

async function liveProducts({
  client,
  patience,
  key,
  onRead = () => {},
}: PlanDeps): Promise<ReadonlyMap<string, Served>> {
  const live = new Map<string, Served>();
  for await (const entry of catalogueEntries(client, patience, { type: "products" })) {
    const { record_id, business_product_id, sealed_by_key_id } = entry;
    const sha256 = sealed_by_key_id === key.keyId ? entry.sha256 : null;
    live.set(business_product_id, { record_id, business_product_id, sha256 });
    if (live.size % toldEvery === 0) onRead(live.size);
  }
  return live;
}

function idIn(bytes: Uint8Array): string | null {
  try {
    return ownIdOf(JSON.parse(parseUtf8(bytes) ?? ""));
  } catch {
    return null;
  }
}

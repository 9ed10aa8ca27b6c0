// What a business's system reads of its own data, page by page: its catalogue, and what became of what it sent.

import { hashOf, toBase64, utf8 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { CatalogueEntry, PushAttempt } from "../../protocol/wire/catalogue.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import type { WorldParts } from "../world/world-parts.ts";
import type { SentBatch } from "./batch.ts";
import type { Heard } from "./client.ts";
import type { Journal, Removal } from "./journal.ts";
import { momentOf } from "./key-changes.ts";

/** Requests one page of a list. */
export type ReadPage = (route: "catalogue" | "attempts", cursor: string) => Promise<Heard | null>;

/** More pages than any list of a world has. */
const pagesMax = 2_000;

export async function readCatalogue(read: ReadPage): Promise<readonly CatalogueEntry[] | null> {
  return readList(read, "catalogue", (body) => (body as { entries: readonly CatalogueEntry[] }).entries);
}

export async function readAttempts(read: ReadPage): Promise<readonly PushAttempt[] | null> {
  return readList(read, "attempts", (body) => (body as { attempts: readonly PushAttempt[] }).attempts);
}

/** Null if a page was not answered. */
async function readList<T>(
  read: ReadPage,
  route: "catalogue" | "attempts",
  itemsOf: (body: unknown) => readonly T[],
): Promise<readonly T[] | null> {
  const all: T[] = [];
  let cursor = "";
  for (let page = 0; page < pagesMax; page += 1) {
    const heard = await read(route, cursor);
    if (heard === null || heard.status !== 200) return null;
    all.push(...itemsOf(heard.body));
    const next = (heard.body as { next_cursor: string | null }).next_cursor;
    if (next === null) return all;
    cursor = next;
  }
  throw new Error(`The list ${route} does not end.`);
}

/** Whatever happens meanwhile, a record is listed once. `entries` is null if somebody did not answer. */
export function checkCatalogue({ observed }: World, entries: readonly CatalogueEntry[] | null): void {
  if (entries === null) return;
  const ids = entries.map((each) => each.record_id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) observed.violate("listed-once", `${twice} is in the catalogue twice`);
}

/** Whatever happens meanwhile, an attempt is listed once, and what was acknowledged before is complete. */
export function checkAttempts(
  { observed, mayReadOld }: World,
  attempts: readonly PushAttempt[],
  acknowledged: readonly SentBatch[],
): void {
  const ids = attempts.map((each) => each.attempt_id);
  const known = new Set(ids);
  if (known.size !== ids.length) observed.violate("listed-once", "an attempt is listed twice");
  if (mayReadOld) return;
  for (const { pushId, leaves } of acknowledged)
    for (const index of leaves.keys())
      if (!known.has(`${pushId}-${index}`))
        observed.violate("attempts-are-complete", `leaf ${index} of ${pushId} is no attempt of its business`);
}

// A withdrawal or deletion by a sealed document, which is sent again, exactly the same, until it is answered.

/** How often a removal is sent that is not answered. */
const removalsMax = 4;

/** `send` sends the body once, and returns null if it was not answered. */
export async function removeRecord(
  { world, journal }: { readonly world: World; readonly journal: Journal },
  given: Pick<Removal, "action" | "recordId"> & { readonly business: SimBusiness; readonly key: SimSigner },
  send: (body: Uint8Array) => Promise<Heard | null>,
): Promise<void> {
  const { parts, observed } = world;
  const policyVersion = journal.policyVersion(given.business);
  const { document, body } = sealRemoval(parts, { ...given, policyVersion });
  const { business, recordId, action, key } = given;
  const removal: Removal = {
    business,
    recordId,
    action,
    document,
    keyId: key.keyId,
    sent: momentOf(world),
    acknowledgedAt: null,
    isRemoved: false,
  };
  journal.removals.push(removal);
  for (let attempt = 0; attempt < removalsMax; attempt += 1) {
    const heard = await send(body);
    if (heard === null) continue;
    observed.mark(`remove.${heard.code}`);
    removal.acknowledgedAt = parts.kernel.events;
    removal.isRemoved = heard.status === 200;
    return;
  }
}

function sealRemoval(
  { crypto, kernel }: WorldParts,
  given: {
    readonly business: SimBusiness;
    readonly key: SimSigner;
    readonly recordId: string;
    readonly action: "withdraw" | "delete";
    readonly policyVersion: number;
  },
): { readonly body: Uint8Array; readonly document: string } {
  const { business, key, recordId: record_id, action } = given;
  const at = formatTimestamp(kernel.now());
  const bytes = utf8(JSON.stringify({ record_id, action, at }));
  const document = hashOf(bytes, crypto.sha256);
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: business.certId,
    hash: document,
    sealed_at: at,
    record_type: "products",
    ai_policy_version: given.policyVersion,
  });
  const type = payloadTypes["seal.v2"];
  const seal = makeEnvelope(type, payload, [{ keyid: key.keyId, sig: key.signNow(pae(type, payload)) }]);
  return { document, body: utf8(JSON.stringify({ document_base64: toBase64(bytes), seal })) };
}

// The next key set: everything that is still needed to verify earlier signatures, and the changes.
//   S1. No key is ever left out, no compromise is withdrawn or moved to a later instant, and no set is older than its
//       predecessor.
//   S2. A certificate that no verifier accepts any more, because its issuer was compromised when it was issued, is
//       replaced: by the issuance key for a working key, by a root elsewhere for a pair.
//   S3. A set that is issued verifies under the anchors: the public verifier checks it first.

import { nativeCrypto } from "../../crypto/native.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import {
  entriesOf,
  isPaired,
  type KeyCertificate,
  type KeyEntry,
  type KeySet,
  keySetPayload,
  openKeyCertificate,
} from "../../protocol/keys/key-set.ts";
import { earliest } from "../../protocol/keys/signatures.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import { type Trust, verifyKeySet } from "../../verifier/trust.ts";
import { certify, type KeyRequest, type Pair } from "./key-certificates.ts";

export interface NextKeySet {
  readonly anchors: Anchors;
  /** The preceding key set; null if this is the first. */
  readonly previous: KeySet | null;
  readonly issuance: Pair;
  /** Key certificates from roots. */
  readonly certificates: readonly Envelope[];
  /** Working keys to certify. */
  readonly requests: readonly KeyRequest[];
  /** Working keys that end, with the instant, by key_id. */
  readonly ends: ReadonlyMap<string, string>;
  /** Keys that others may have had, with the first such instant, by key_id; one key_id covers both halves of a pair. */
  readonly compromised: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

export interface IssuedKeySet {
  /** The JSON text of the answer `{keys, signed}`. */
  readonly text: string;
  readonly trust: Trust;
}

interface Certified {
  readonly envelope: Envelope;
  readonly certificate: KeyCertificate;
}

type Refused<T> = Result<T, "key_set_refused">;

/** Refuses with `key_set_refused` and one sentence that names the key. */
export async function issueKeySet(next: NextKeySet): Promise<Refused<IssuedKeySet>> {
  const issuedAt = formatTimestamp(next.nowMs);
  const { previous } = next;
  if (previous !== null && issuedAt <= previous.issued_at)
    return refused(
      `The previous set was issued at ${previous.issued_at}, but it is now ${issuedAt}: compare the clocks.`,
    );
  const known = openAll([...(previous?.certificates ?? []), ...next.certificates]);
  if (!known.ok) return known;
  const marks = marksOf(next, known.value);
  if (!marks.ok) return marks;
  const standing = latestWindows(withoutFallen(known.value, marks.value));
  const asked = requestsOf(next, known.value, standing);
  if (!asked.ok) return asked;
  const isAskedAgain = (each: Certified): boolean =>
    asked.value.some((request) => request.keys[0]?.key_id === keyIdOf(each));
  const certified: Certified[] = standing.filter((each) => !isAskedAgain(each));
  for (const request of asked.value) {
    const { environment } = next.anchors;
    const envelope = await certify(request, next.issuance, { environment, issuedAt });
    if (!envelope.ok)
      return refused(`Key ${request.keys[0]?.key_id} cannot be certified: ${envelope.detail}`);
    const opened = openAll([envelope.value]);
    if (!opened.ok) return opened;
    certified.push(...opened.value);
  }
  return signSet(next, certified, { marks: marks.value, issuedAt });
}

async function signSet(
  { anchors, previous, issuance }: NextKeySet,
  certified: readonly Certified[],
  { marks, issuedAt }: { readonly marks: ReadonlyMap<string, string>; readonly issuedAt: string },
): Promise<Refused<IssuedKeySet>> {
  const entries = new Map<string, KeyEntry>();
  for (const { certificate } of certified) {
    for (const entry of entriesOf(certificate))
      entries.set(entry.key_id, { ...entry, compromised_from: marks.get(entry.key_id) ?? null });
  }
  const lost = previous?.keys.find(({ key_id }) => !entries.has(key_id));
  if (lost !== undefined)
    return refused(
      `Key ${lost.key_id} (${lost.use}) has no valid certificate left; a trusted root must certify it.`,
    );
  const keys = [...entries.values()];
  const certificates = certified.map(({ envelope }) => envelope);
  const payload = keySetPayload({ v: 1, issued_at: issuedAt, keys, certificates });
  const signed = await signEnvelope(payloadTypes["key-set.v1"], payload, issuance);
  const text = JSON.stringify({ keys, signed });
  const trust = verifyKeySet(anchors, JSON.parse(text) as JsonValue, nativeCrypto);
  return trust.ok
    ? ok({ text, trust: trust.value })
    : refused(`The set would not verify under the anchors (${trust.code}): ${trust.detail}`);
}

function openAll(envelopes: readonly Envelope[]): Refused<readonly Certified[]> {
  const opened: Certified[] = [];
  const seen = new Set<string>();
  for (const envelope of envelopes) {
    const certificate = openKeyCertificate(envelope);
    if (!certificate.ok) return refused(`A key certificate cannot be read: ${certificate.detail}`);
    // The same certificate may be supplied twice.
    if (seen.has(envelope.payload)) continue;
    seen.add(envelope.payload);
    opened.push({ envelope, certificate: certificate.value });
  }
  return ok(opened);
}

function keyIdOf({ certificate }: Certified): string | undefined {
  return certificate.keys[0]?.key_id;
}

/** Known and newly declared compromises, by key_id (S1). */
function marksOf(next: NextKeySet, known: readonly Certified[]): Refused<ReadonlyMap<string, string>> {
  const marks = new Map<string, string>();
  const mark = (keyId: string, from: string | null): void => {
    const first = earliest(marks.get(keyId) ?? null, from);
    if (first !== null) marks.set(keyId, first);
  };
  for (const { key_id, compromised_from } of next.previous?.keys ?? []) mark(key_id, compromised_from);
  for (const { certificate } of known) {
    for (const { key_id } of certificate.keys) mark(key_id, certificate.compromised_from);
  }
  for (const [keyId, from] of next.compromised) {
    const owner = known.find(({ certificate }) => certificate.keys.some(({ key_id }) => key_id === keyId));
    if (owner === undefined) return refused(`Key ${keyId} is not in the previous set.`);
    for (const { key_id } of owner.certificate.keys) mark(key_id, from);
  }
  return ok(marks);
}

/** A later certificate of a key with another window says when the key really ends. */
function latestWindows(known: readonly Certified[]): readonly Certified[] {
  const latest = new Map<string, Certified>();
  for (const each of known) {
    const keyId = keyIdOf(each) ?? "";
    const before = latest.get(keyId)?.certificate.issued_at ?? "";
    if (each.certificate.issued_at >= before) latest.set(keyId, each);
  }
  return known.filter((each) => {
    const last = latest.get(keyIdOf(each) ?? "");
    return last !== undefined && windowOf(last) === windowOf(each);
  });
}

function windowOf({ certificate: { valid_from, valid_until } }: Certified): string {
  return `${valid_from} ${valid_until}`;
}

/** Leaves out certificates whose issuer was compromised when they were issued (S2). */
function withoutFallen(
  known: readonly Certified[],
  marks: ReadonlyMap<string, string>,
): readonly Certified[] {
  return known.filter(({ certificate: { issuer, issued_at } }) =>
    issuer.every((keyId) => {
      const from = marks.get(keyId);
      return from === undefined || issued_at < from;
    }),
  );
}

/**
 * The working keys that the issuance key certifies now: new ones, ending ones, and those whose certificates became invalid.
 */
function requestsOf(
  next: NextKeySet,
  known: readonly Certified[],
  standing: readonly Certified[],
): Refused<readonly KeyRequest[]> {
  const requests = [...next.requests];
  const paired = requests.find(({ use }) => isPaired(use));
  if (paired !== undefined)
    return refused(
      `Key ${paired.keys[0]?.key_id} is of use ${paired.use}: a root certifies it, not the issuance key.`,
    );
  const holds = new Set(standing.map(keyIdOf));
  const ends = new Map(next.ends);
  for (const each of known) {
    const keyId = keyIdOf(each) ?? "";
    const { use, region, keys, valid_from, valid_until } = each.certificate;
    const end = ends.get(keyId);
    if (end !== undefined && isPaired(use))
      return refused(`Key ${keyId} is of use ${use}: a root certifies when it ends.`);
    ends.delete(keyId);
    const isFallen = !holds.has(keyId) && !isPaired(use);
    if (end === undefined && !isFallen) continue;
    if (requests.some((request) => request.keys[0]?.key_id === keyId)) continue;
    requests.push({ use, region, keys, valid_from, valid_until: earliest(valid_until, end ?? null) });
  }
  const [unknown] = ends.keys();
  return unknown === undefined ? ok(requests) : refused(`Key ${unknown} is not in the previous set.`);
}

function refused(detail: string) {
  return refuse("key_set_refused", detail);
}

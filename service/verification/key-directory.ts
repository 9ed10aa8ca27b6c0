// The key directory: the AI companies that chose to be listed, and the keys by which they sign (specification, «Key set
// and key directory»).
//   D1. A company is listed only if it chose so itself, by a signed request, and only while its certificate is active.
//   D2. A key's window ends with the first of its end, its revocation and its reported compromise; keys that have ended
//       stay listed, so that an old signature can be judged.
//   D3. Reading it costs nothing, however many companies are listed: it is built and signed once for all readers, and again when
//       something of a listed company has changed, or after a minute, in which the register has been read again (G4 in register/register.ts).
//       A large one is not built again within five seconds.
//   D4. It is built in steps, a company each: only its bytes are joined, signed and hashed as a whole.

import type { KeyFacts } from "../../actors/messages/business.ts";
import type { Platform } from "../../crypto/port.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalize } from "../../protocol/json/canonical-json.ts";
import { algorithmOf } from "../../protocol/keys/jwk.ts";
import type { KeyDirectory, ListedCompany, ListedKey } from "../../protocol/keys/key-directory.ts";
import { type ListingBody, listingBody } from "../../protocol/wire/published.ts";
import type { WebhookKey } from "../../protocol/wire/webhook.ts";
import type { Pace } from "../../std/work.ts";
import { answerJson, type Caller, isRefused, type Outcome, parseJsonBody } from "../answer.ts";
import { certificateOf } from "../register/home-evidence.ts";
import type { Parties } from "../register/parties.ts";
import type { Register } from "../register/register.ts";
import { keptMs } from "../register/register.ts";
import type { ServiceKeys } from "../register/service-keys.ts";
import { signEnvelope } from "../register/service-keys.ts";
import { makeDocument, type PublicDocument } from "./published-reads.ts";

/** What is read of the register without an account works with. */
export interface VerificationServices extends Platform {
  readonly register: Register;
  readonly keys: ServiceKeys;
  /** At which what takes long is made. */
  readonly pace: Pace;
  /** The keys that sign webhooks. */
  readonly webhookKeys: { publishedAt(nowMs: number): readonly WebhookKey[] };
  /** The public base of the verification surface, without trailing slash. */
  readonly verifyUrl: string;
}

/** Number of companies up to which the directory is built again as soon as anything has changed. */
const smallMax = 100;
const leastKeptMs = 5_000;

/** The document of GET /.well-known/svc-keys (D3). */
export function createKeyDirectory(deps: VerificationServices): () => Promise<PublicDocument> {
  const { register, clock, crypto } = deps;
  let kept: { readonly changes: number; readonly atMs: number; readonly document: PublicDocument } | null =
    null;
  let building: Promise<PublicDocument> | null = null;
  const isCurrent = ({ changes, atMs }: NonNullable<typeof kept>): boolean => {
    const ageMs = clock.now() - atMs;
    if (ageMs < 0 || ageMs >= keptMs) return false;
    const isLarge = register.listedCompanies.all().length > smallMax;
    return changes === register.listedCompanies.changes() || (isLarge && ageMs < leastKeptMs);
  };
  const build = async (): Promise<PublicDocument> => {
    // What changes from here on may be missing, and has the directory built again.
    const [changes, atMs] = [register.listedCompanies.changes(), clock.now()];
    const document = makeDocument(await keyDirectoryText(deps), { maxAgeSeconds: 300 }, crypto.sha256);
    kept = { changes, atMs, document };
    return document;
  };
  return async () => {
    if (kept !== null && isCurrent(kept)) return kept.document;
    building ??= build().finally(() => {
      building = null;
    });
    return building;
  };
}

/** Companies that are read at a time. */
const atOnce = 16;

/** The directory as its readers get it, and as it is signed: RFC 8785 has the members of each company in another order. */
async function keyDirectoryText(deps: VerificationServices): Promise<string> {
  const { register, keys, clock, pace } = deps;
  const issuedAt = formatTimestamp(clock.now());
  const written: { readonly shown: string; readonly signed: string }[] = [];
  const uuids = register.listedCompanies.all();
  for (let from = 0; from < uuids.length; from += atOnce) {
    const found = uuids.slice(from, from + atOnce).map((uuid) => listedCompany(deps, uuid));
    for (const company of await Promise.all(found)) {
      await pace();
      if (company === null) continue;
      const shown = JSON.stringify(company);
      written.push({ shown, signed: canonicalize(company) });
    }
  }
  const issued: Omit<KeyDirectory, "companies"> = { v: 1, issued_at: issuedAt };
  const joined = written.map(({ signed }) => signed).join(",");
  const payload = utf8(`{"companies":[${joined}],${canonicalize(issued).slice(1)}`);
  await pace();
  const signers = [keys.statement(issuedAt)];
  const statement = await signEnvelope(payloadTypes["key-directory.v1"], payload, signers);
  await pace();
  const companies = written.map(({ shown }) => shown).join(",");
  const around = JSON.stringify({ ...issued, companies: [], statement });
  return around.replace('"companies":[]', () => `"companies":[${companies}]`);
}

/** Null while its certificate is not active (D1). */
async function listedCompany(
  { register, verifyUrl }: VerificationServices,
  uuid: string,
): Promise<ListedCompany | null> {
  const [newest] = await register.certificates(uuid);
  if (newest?.status !== "active") return null;
  const { legal_name: name } = certificateOf(newest);
  const keys = await register.keys(uuid);
  return {
    ai_company_uuid: uuid,
    name,
    certificate_url: `${verifyUrl}/v1/certificates/${uuid}`,
    keys: keys.flatMap((key) => listedKey(key) ?? []).sort(byAge),
  };
}

function listedKey(key: KeyFacts): ListedKey | null {
  const alg = algorithmOf(key.public_key);
  if (alg === "ML-DSA-65") return null;
  const ends = [key.valid_until, key.revoked_at, key.compromised_from].filter((each) => each !== null);
  return {
    key_id: key.key_id,
    alg,
    public_key: key.public_key,
    source: key.source ?? "portal",
    // Timestamps have a fixed width, so their texts sort in the order of their instants.
    valid_from: key.valid_from,
    valid_until: ends.sort()[0] ?? null,
  };
}

function byAge(a: ListedKey, b: ListedKey): number {
  const [left, right] = [`${a.valid_from} ${a.key_id}`, `${b.valid_from} ${b.key_id}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

export type ChooseListing = (request: {
  readonly caller: Caller;
  readonly body: Uint8Array;
}) => Promise<Outcome>;

/** POST /v1/key-directory/listing: sent again, it changes nothing. */
export function createChooseListing({ setListed }: Parties): ChooseListing {
  return async ({ caller, body }) => {
    const parsed = parseJsonBody<ListingBody>(listingBody, body);
    if (isRefused(parsed)) return parsed;
    const { listed } = parsed.value;
    const { uuid } = caller.party;
    await setListed({ uuid, listed });
    return answerJson(200, { ai_company_uuid: uuid, listed }, { "cache-control": "no-store" });
  };
}

// The mandates that let a key publish now. Each was judged when it was accepted; what may have changed since is its
// sealer: a passkey that turns out to have been compromised earlier has authorised nothing, and every verifier says so.
//   F1. Several mandates of a key are in force side by side. What is published needs one that alone allows its type, its source,
//       its countries and its moment of sealing; two never add up, and none takes anything away from another.

import type {
  KeyFacts,
  ListedMandate,
  MandateFacts,
  PublishingFacts,
} from "../../actors/messages/business.ts";
import type { PushMandate } from "../../actors/messages/push.ts";
import type { Actors } from "../../actors/system/definition.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import { parseTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Mandate, MandateCaps } from "../../protocol/mandate.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import type { ContentLists } from "../../protocol/records/name-index.ts";
import { refuse } from "../../protocol/result.ts";
import { verifyMandate } from "../../verifier/mandate.ts";
import type { Trust } from "../../verifier/trust.ts";
import { type Refused, refusedWith } from "../answer.ts";
import { keysOf, readEntries } from "./home-evidence.ts";
import { type AsTable, addressAllowed } from "./source-address.ts";

/** What seals, mandates and content are judged by. */
export interface Judging {
  /** Trust in the service's own keys; it changes with the key set. */
  readonly trust: () => Trust;
  /** The operator's table of autonomous systems as it is now, for what a mandate covers; null if there is none. */
  readonly asTable: () => AsTable | null;
  /** The lists that the content rules judge by. */
  readonly lists: ContentLists;
}

/** At least one, the newest first. */
export type Mandates = readonly [StandingMandate, ...StandingMandate[]];

/** The refusal for a key that the business does not have, or no longer has. */
export const keyRevoked = refusedWith("key_unknown", "The key is not registered, or was revoked.");

/** A mandate in force, with what its seal proved. */
interface StandingMandate {
  readonly listed: ListedMandate;
  readonly sealed: Mandate;
}

/** The mandates in force that stand, the newest first; what they cover is not judged yet. */
export async function findMandates(
  deps: Actors & Judging,
  uuid: string,
  { facts, nowMs }: { readonly facts: PublishingFacts; readonly nowMs: number },
): Promise<Mandates | Refused> {
  if (facts.key !== "live") return keyRevoked;
  let fallen: Verdict<never> | null = null;
  const standing: StandingMandate[] = [];
  for (const listed of facts.mandates.filter((each) => isInForce(each, nowMs))) {
    const sealed = await judgeMandateAgain(deps, uuid, listed);
    if (sealed.ok) standing.push({ listed, sealed: sealed.value });
    else fallen ??= sealed;
  }
  const [newest, ...others] = standing;
  if (newest !== undefined) return [newest, ...others];
  const detail = "No mandate in force lets this key publish. An owner or admin has to seal one.";
  const why = fallen === null || fallen.ok ? {} : { reason: fallen.code };
  return refusedWith("mandate_missing", detail, why);
}

/** Whether a mandate is within its validity period and not revoked. */
function isInForce(mandate: ListedMandate, nowMs: number): boolean {
  const from = parseTimestamp(mandate.valid_from);
  const until = parseTimestamp(mandate.valid_until);
  return mandate.revoked_at === null && from !== null && until !== null && from <= nowMs && nowMs < until;
}

/** Whether a mandate that was accepted still stands by its seal; its own revocation and end are not judged. */
export async function judgeMandateAgain(
  { actors, trust }: Actors & Judging,
  uuid: string,
  listed: Pick<ListedMandate, "mandate_id"> & Partial<Pick<ListedMandate, "sealed_by">>,
): Promise<Verdict<Mandate>> {
  const name = `mandate/${listed.mandate_id}`;
  const sealer = (keyId: string | undefined): readonly string[] => (keyId ? [`key/${keyId}`] : []);
  const entries = await readEntries(actors, uuid, [name, ...sealer(listed.sealed_by)]);
  // In the public register the name of a mandate is scoped to its business.
  const mandate = entries.get(`mandate/${uuid}/${listed.mandate_id}`) ?? entries.get(name);
  if (mandate === undefined) return refuse("envelope_malformed", "The mandate is not in the register.");
  const envelope = JSON.parse((JSON.parse(mandate) as MandateFacts).envelope) as JsonValue;
  const [keyName = ""] = sealer(signerOf(envelope));
  // A caller that knows only the mandate's id does not say whose seal it is.
  const body = entries.get(keyName) ?? (await readEntries(actors, uuid, [keyName])).get(keyName);
  const key = body === undefined ? null : (JSON.parse(body) as KeyFacts);
  const keys = keysOf(uuid, [key]);
  return verifyMandate(trust(), keys, envelope);
}

function signerOf(envelope: JsonValue): string | undefined {
  const parsed = parseEnvelope(envelope);
  return parsed.ok ? parsed.value.signatures[0]?.keyid : undefined;
}

// What the mandates of a key cover: what is published, where the request comes from, and when it was sealed. Each check passes on the
// mandates that allow it, of which the next needs one as well (F1).

/** Those that cover publishing the collection, which includes taking its records out of serving. */
export function ofType(mandates: Mandates, collection: string): Mandates | Refused {
  const covering = those(
    mandates,
    ({ record_types, directions }) => record_types.includes(collection) && directions.includes("publish"),
  );
  return covering ?? refusedWith("out_of_scope", `No mandate in force covers publishing ${collection}.`);
}

/** Those whose allow-list, where they have one, contains the address. */
export function fromSource(
  mandates: Mandates,
  sourceIp: string | null,
  asTable: AsTable | null,
): Mandates | Refused {
  const covering = those(
    mandates,
    ({ source_ip_allow_list: list }) =>
      list === null || (sourceIp !== null && addressAllowed(sourceIp, list, asTable)),
  );
  const detail = "The request came from outside the mandate's source allow-list.";
  return covering ?? refusedWith("source_not_allowed", detail);
}

/** Those that were valid when the seal was made; if none was, all of them, and the seal is refused for that (home-evidence.ts). */
export function sealedUnder(mandates: Mandates, { sealed_at }: { readonly sealed_at: string }): Mandates {
  const wasValid = ({ sealed }: StandingMandate): boolean =>
    sealed.valid_from <= sealed_at && sealed_at < sealed.valid_until;
  return those(mandates, (_scope, mandate) => wasValid(mandate)) ?? mandates;
}

/** The largest of each cap: mandates side by side do not add up. */
export function capsOf(mandates: Mandates): MandateCaps {
  const caps = mandates.map(({ sealed }) => sealed.scope.caps);
  return {
    records_per_hour: Math.max(...caps.map((each) => each.records_per_hour)),
    bytes_per_day: Math.max(...caps.map((each) => each.bytes_per_day)),
  };
}

/** What a push keeps of its mandates: one whose countries a newer one has all of changes nothing. */
export function keptOf(mandates: Mandates): readonly PushMandate[] {
  const kept: PushMandate[] = [];
  for (const { listed, sealed } of mandates) {
    const { countries } = sealed.scope;
    const isContained = kept.some((each) => countries.every((country) => each.countries.includes(country)));
    if (!isContained) kept.push({ mandate_id: listed.mandate_id, sealed_by: listed.sealed_by, countries });
  }
  return kept;
}

function those(
  mandates: Mandates,
  covers: (scope: StandingMandate["sealed"]["scope"], mandate: StandingMandate) => boolean,
): Mandates | null {
  const [newest, ...others] = mandates.filter((each) => covers(each.sealed.scope, each));
  return newest === undefined ? null : [newest, ...others];
}

// What the home of a business knows about it now, in the form in which the verifier judges evidence. Publishing and all
// verifiers therefore judge a seal by the same functions; a copy of the register elsewhere may be some seconds behind.

import type {
  BusinessCommand,
  CertificateFacts,
  KeyFacts,
  PublishingFacts,
} from "../actors/messages/business.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Certificate, openCertificate } from "../protocol/certificate.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { isKeyId } from "../protocol/identifiers.ts";
import type { CertificateStanding, Issuances } from "../verifier/certificate.ts";
import type { PolicyTimeline } from "../verifier/policy-timeline.ts";

type InForce = NonNullable<PublishingFacts["certificate"]>;

/** The issuances of one party, newest first, in the form in which seals are judged by them. */
export function issuancesOf(newestFirst: readonly InForce[]): Issuances {
  return {
    issuances: newestFirst.map((each) => ({ certId: each.cert_id, certificate: standingOf(each) })),
  };
}

/**
 * Maximum number of issuances of one party to walk through to find one; there are only a few, one for each change of its
 * standing.
 */
const issuancesMax = 1_000;

/** The existing register entries, by `table/key`. */
export async function readEntries(
  actors: ActorSystem,
  uuid: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const command: BusinessCommand = { type: "register.read", keys };
  const { entries } = await actors.ask(businessRef(uuid), command);
  return new Map(entries.map((entry) => [`${entry.table}/${entry.key}`, entry.body]));
}

/** The key that an envelope names as its signer, if the business has it. It proves nothing yet. */
export async function readSigner(
  actors: ActorSystem,
  uuid: string,
  envelope: Envelope,
): Promise<KeyFacts | null> {
  const keyId = envelope.signatures[0]?.keyid ?? "";
  if (!isKeyId(keyId)) return null;
  const name = `key/${keyId}`;
  const body = (await readEntries(actors, uuid, [name])).get(name);
  return body === undefined ? null : (JSON.parse(body) as KeyFacts);
}

/** The content of an issuance; null if the party has none with this id. */
export async function readCertificate(
  actors: ActorSystem,
  uuid: string,
  certId: string,
): Promise<Certificate | null> {
  const name = `certificate/${certId}`;
  const body = (await readEntries(actors, uuid, [name])).get(name);
  return body === undefined ? null : certificateOf(JSON.parse(body) as CertificateFacts);
}

/**
 * The newest issuance and, if a seal names another one, all those back to it: what came in between decides whether the
 * seal is valid. If the party never had the one named, it is absent.
 */
export async function readIssuances(
  actors: ActorSystem,
  uuid: string,
  inForce: InForce | null,
  named: string,
): Promise<Issuances> {
  if (inForce === null) return { issuances: [] };
  const issuances = [{ certId: inForce.cert_id, certificate: standingOf(inForce) }];
  if (named === inForce.cert_id) return { issuances };
  let next: string | null = inForce.cert_id;
  while (next !== null && issuances.length <= issuancesMax) {
    const name = `certificate/${next}`;
    const body: string | undefined = (await readEntries(actors, uuid, [name])).get(name);
    if (body === undefined) break;
    const facts = JSON.parse(body) as CertificateFacts;
    if (next !== inForce.cert_id) issuances.push({ certId: next, certificate: standingOf(facts) });
    next = next === named ? null : previousOf(facts);
  }
  return { issuances };
}

function previousOf(facts: CertificateFacts): string | null {
  return certificateOf(facts)?.previous ?? null;
}

function certificateOf({ envelope }: CertificateFacts): Certificate | null {
  const parsed = parseEnvelope(JSON.parse(envelope) as JsonValue);
  const issued = parsed.ok ? openCertificate(parsed.value) : parsed;
  return issued.ok ? issued.value.certificate : null;
}

function standingOf({
  status,
  status_effective_from,
  status_reason,
  issued_at,
}: InForce): CertificateStanding {
  return {
    ...{ status, status_effective_from, issued_at },
    ...(status_reason === null ? {} : { status_reason }),
  };
}

/** The AI policy version in force, without earlier ones: publishing accepts no other. */
export function timelineOf({ version, live_from }: PublishingFacts["policy"]): PolicyTimeline {
  return { versions: live_from === null ? [] : [{ version, live_from }], isComplete: true };
}

// What the service knows about a business, in the form in which evidence is judged: its certificates, verified as by
// anyone else, its keys, AI policy versions and mandates.

import type { MandateFacts, PolicyFacts } from "../../actors/messages/business.ts";
import { hashOf, parseBase64 } from "../../protocol/bytes.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../../protocol/keys/business-keys.ts";
import type { KeyWindow } from "../../protocol/keys/signatures.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import type { Sidecar } from "../../protocol/signed-version.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { type CertificateHistory, type Issuances, verifyCertificates } from "../../verifier/certificate.ts";
import type { PolicyTimeline } from "../../verifier/policy-timeline.ts";
import {
  type AcceptedSeal,
  type StandingFacts,
  type StandingFault,
  standingFault,
} from "../../verifier/standing.ts";
import type { Trust } from "../../verifier/trust.ts";
import { publishedKeys } from "./home-evidence.ts";
import type { Register } from "./register.ts";

export interface Standing {
  readonly uuid: string;
  readonly certificates: CertificateHistory;
  readonly keys: BusinessKeys;
  readonly policies: PolicyTimeline;
  readonly mandates: readonly MandateFacts[];
}

export interface Standings {
  /** Null for a party that is unknown, is not a business, or has no certificate. */
  read(uuid: string, at: string): Promise<Standing | null>;
}

/** The reasons with which a stale register refuses a good seal. */
export const registerReasons: readonly ReasonCode[] = [
  "key_unknown",
  "certificate_unknown",
  "ai_policy_version_mismatch",
  "out_of_scope",
];

/** What a reader of evidence about the business has to know of its certificate today. */
export function certificateWarnings(standing: Standing | null): readonly string[] {
  const today = standing?.certificates.issuances[0]?.certificate;
  if (today === undefined || today.status === "active") return [];
  const { status, status_effective_from: from, subject } = today;
  return [`The certificate of business ${subject.uuid} is ${status} from ${from} on.`];
}

/** The seal of a version, as the service's own sidecar states it. */
export function statedSeal(
  sidecar: Pick<Sidecar, "cert_id" | "sealed_at" | "received_at" | "sealed_by_key_id"> & {
    readonly scope: Pick<Sidecar["scope"], "mandate_id">;
  },
): AcceptedSeal {
  const { cert_id, sealed_at, received_at, sealed_by_key_id: key_id, scope } = sidecar;
  return { key_id, cert_id, sealed_at, received_at, mandate_id: scope.mandate_id, isStated: true };
}

interface JudgedBy extends Pick<Standing, "mandates"> {
  readonly certificates: Issuances;
  readonly keys: { readonly keys: readonly (KeyWindow & { readonly key_id: string })[] };
}

/** Why a seal that was accepted does not stand any more, by what the register says now; null while it stands. */
export function acceptedFault(
  { certificates, keys, mandates }: JudgedBy,
  seal: AcceptedSeal,
): StandingFault | null {
  const key = (id: string | undefined): StandingFacts["key"] =>
    keys.keys.find(({ key_id }) => key_id === id) ?? null;
  const mandate = mandates.find(({ mandate_id }) => mandate_id === seal.mandate_id);
  return standingFault(seal, {
    key: key(seal.key_id),
    certificates,
    mandate: mandate === undefined ? null : { ...mandate, sealer: key(signerOf(mandate)) },
  });
}

function signerOf({ envelope }: MandateFacts): string | undefined {
  const parsed = parseEnvelope(JSON.parse(envelope));
  return parsed.ok ? parsed.value.signatures[0]?.keyid : undefined;
}

function policyHash({ record_base64: text }: PolicyFacts, { sha256 }: Pick<Trust, "sha256">): string {
  const bytes = parseBase64(text);
  if (bytes === null) throw new Error("The register has an AI policy that is not base64.");
  return hashOf(bytes, sha256);
}

const historiesMax = 10_000;

export interface StandingsDeps {
  readonly register: Register;
  /** The current trust in this service's own keys. */
  readonly trust: () => Trust;
}

/** Judges seals by what the register of this region says. */
export function createStandings(deps: StandingsDeps): Standings {
  // Verifying a history costs both halves of every issuance; the result changes only when an issuance is added, or
  // another key set changes what its signatures are worth.
  const histories = new BoundedMap<string, CertificateHistory>(historiesMax);
  let judgedUnder: Trust | null = null;
  const historyOf = async (uuid: string): Promise<CertificateHistory | null> => {
    const facts = await deps.register.certificates(uuid);
    const [newest] = facts;
    if (newest === undefined) return null;
    const trust = deps.trust();
    if (trust !== judgedUnder) histories.clear();
    judgedUnder = trust;
    const known = histories.get(newest.cert_id);
    if (known !== undefined && known.issuances.length === facts.length) return known;
    const envelopes = facts.map((each) => JSON.parse(each.envelope) as JsonValue);
    const verified = verifyCertificates(trust, uuid, envelopes);
    if (!verified.ok)
      throw new Error(`The certificates of ${uuid} do not verify: ${verified.code}, ${verified.detail}`);
    histories.set(newest.cert_id, verified.value);
    return verified.value;
  };
  return {
    read: async (uuid, at) => {
      const party = await deps.register.party(uuid);
      if (party?.kind !== "business") return null;
      const certificates = await historyOf(uuid);
      const newest = certificates?.issuances[0];
      if (certificates === null || newest === undefined) return null;
      const [keys, policies, mandates] = await Promise.all([
        deps.register.keys(uuid),
        deps.register.policies(uuid),
        deps.register.mandates(uuid),
      ]);
      return {
        uuid,
        certificates,
        keys: publishedKeys({ uuid, certId: newest.certId, issuedAt: at, keys }),
        policies: {
          versions: policies.map(({ version, live_from, fallen_at }) => {
            return { version, live_from, ...(fallen_at === undefined ? {} : { fallen_at }) };
          }),
          isComplete: true,
          records: new Map(policies.map((each) => [each.version, policyHash(each, deps.trust())])),
        },
        mandates,
      };
    },
  };
}

// The public verification reads (specification, «C. Public verification API») about a party and the service's keys: signed
// documents, answered to anyone.

import type { CertificateFacts, KeyFacts } from "../../actors/messages/business.ts";
import { type Envelope, parseEnvelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, isUuidV4 } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { type Certificate, certificateStatement, openCertificate } from "../../protocol/keys/certificate.ts";
import type { CertificateAnswer } from "../../protocol/wire/verification.ts";
import { webhookKeysMediaType } from "../../protocol/wire/webhook.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { type Answer, isRefused, type Outcome, type Refused, refusedWith } from "../answer.ts";
import { publishedKeys } from "../register/home-evidence.ts";
import type { Register } from "../register/register.ts";
import { signEnvelope } from "../register/service-keys.ts";
import { createKeyDirectory, type VerificationServices } from "./key-directory.ts";
import { makeDocument, type PublicDocument } from "./published-reads.ts";

export interface Verification {
  issuances(uuid: string): Promise<Issuances | Refused>;
  /** The issuances as machines get them. */
  certificate(uuid: string): Promise<Outcome>;
  businessKeys(uuid: string): Promise<Outcome>;
  keyCustody(uuid: string): Promise<Outcome>;
  keySet(): PublicDocument;
  keyDirectory(): Promise<PublicDocument>;
  webhookKeys(): PublicDocument;
}

/** What anyone may read without an account: issuances, keys, custody, the key set and the key directory. */
export function createVerification(deps: VerificationServices): Verification {
  const issued = new BoundedMap<string, IssuedKeys>(issuedMax);
  const issuances = (uuid: string) => findIssuances(deps.register, uuid);
  return {
    issuances,
    certificate: async (uuid) => {
      const found = await issuances(uuid);
      return isRefused(found) ? found : certificateAnswer(found);
    },
    businessKeys: (uuid) => readBusinessKeys(deps, issued, uuid),
    keyCustody: (uuid) => readKeyCustody(deps, uuid),
    keySet: keySetDocument(deps),
    keyDirectory: createKeyDirectory(deps),
    webhookKeys: () => webhookKeysDocument(deps),
  };
}

/** The key set in force, as one buffer shared by all readers until another key set replaces it. */
function keySetDocument({ keys, crypto }: VerificationServices): () => PublicDocument {
  let known: { readonly text: string; readonly document: PublicDocument } | null = null;
  return () => {
    const text = keys.keySet();
    if (text !== known?.text)
      known = { text, document: makeDocument(text, { maxAgeSeconds: 300 }, crypto.sha256) };
    return known.document;
  };
}

/** A directory of keys as a directory of HTTP message signatures is read (draft-meunier-http-message-signatures-directory). */
function webhookKeysDocument({ webhookKeys, clock, crypto }: VerificationServices): PublicDocument {
  const keys = webhookKeys.publishedAt(clock.now());
  return makeDocument({ keys }, { mediaType: webhookKeysMediaType, maxAgeSeconds: 3_600 }, crypto.sha256);
}

/** Keys of a business as they were signed, and the facts of the register that they were made of. */
interface IssuedKeys {
  readonly keys: readonly KeyFacts[];
  readonly certId: string;
  readonly answer: Answer;
}

/** Businesses whose keys are kept as they were signed. */
const issuedMax = 1_000;

function cacheable(body: string, maxAgeSeconds: number): Answer {
  const headers = {
    "content-type": "application/json",
    "cache-control": `public, max-age=${maxAgeSeconds}`,
  };
  return { kind: "answer", status: 200, headers, body };
}

function unknownBusiness(): Outcome {
  return refusedWith("not_found", "No business with a certificate has this uuid.");
}

/** Signed once for as long as the register keeps the list of keys: at most a minute, or until one of them changes. */
async function readBusinessKeys(
  deps: VerificationServices,
  issued: BoundedMap<string, IssuedKeys>,
  uuid: string,
): Promise<Outcome> {
  const party = isUuidV4(uuid) ? await deps.register.party(uuid) : null;
  const [certificate] = party?.kind === "business" ? await deps.register.certificates(uuid) : [];
  if (certificate === undefined) return unknownBusiness();
  const issuedAt = formatTimestamp(deps.clock.now());
  const keys = await deps.register.keys(uuid);
  const known = issued.get(uuid);
  if (known?.keys === keys && known.certId === certificate.cert_id) return known.answer;
  const payload = publishedKeys({ uuid, certId: certificate.cert_id, issuedAt, keys });
  const bytes = canonicalBytes(payload);
  const signed = await signEnvelope(payloadTypes["business-keys.v1"], bytes, [deps.keys.statement(issuedAt)]);
  const { v: _version, ...members } = payload;
  const answer = cacheable(JSON.stringify({ ...members, signed }), 30);
  issued.set(uuid, { keys, certId: certificate.cert_id, answer });
  return answer;
}

async function readKeyCustody(deps: VerificationServices, uuid: string): Promise<Outcome> {
  const party = isUuidV4(uuid) ? await deps.register.party(uuid) : null;
  if (party?.kind !== "business") return unknownBusiness();
  const statements = (await deps.register.custody(uuid)).map(
    ({ key_id, custody, effective_from, issued_at, statement_id, envelope }) => {
      const facts = { key_id, custody, effective_from, issued_at, statement_id };
      return `${JSON.stringify(facts).slice(0, -1)},"statement":${envelope}}`;
    },
  );
  return cacheable(`{"uuid":"${uuid}","statements":[${statements.join(",")}]}`, 30);
}

// GET /v1/certificates/{uuid}: what the service states about a party, now and earlier.

export interface Issuance {
  readonly facts: CertificateFacts;
  readonly certificate: Certificate;
  readonly envelope: Envelope;
}

/** Everything that was issued to a party, the newest first. */
export type Issuances = readonly [Issuance, ...Issuance[]];

async function findIssuances(register: Register, uuid: string): Promise<Issuances | Refused> {
  const facts = isUuidV4(uuid) ? await register.certificates(uuid) : [];
  const [newest, ...earlier] = facts.map(openIssuance);
  if (newest === undefined)
    return refusedWith("not_found", "No certificate was issued to this uuid.", {}, { vary: "accept" });
  return [newest, ...earlier];
}

/** The issuances as machines get them. */
function certificateAnswer([newest, ...history]: Issuances): Answer {
  const { certificate } = newest;
  const body: CertificateAnswer = {
    subject: { ...certificate.subject, legal_name: certificate.legal_name, country: certificate.country },
    ...summary(newest),
    statement: certificateStatement(certificate),
    certificate: newest.envelope,
    history: history.map((each) => ({ ...summary(each), certificate: each.envelope })),
  };
  const headers = {
    "content-type": "application/json",
    "cache-control": "public, max-age=30",
    vary: "accept",
  };
  return { kind: "answer", status: 200, headers, body: JSON.stringify(body) };
}

function openIssuance(facts: CertificateFacts): Issuance {
  const envelope = parseEnvelope(JSON.parse(facts.envelope));
  const opened = envelope.ok ? openCertificate(envelope.value) : envelope;
  if (!envelope.ok || !opened.ok) throw new Error(`The stored certificate ${facts.cert_id} cannot be read.`);
  return { facts, certificate: opened.value.certificate, envelope: envelope.value };
}

function summary({ facts, certificate }: Issuance) {
  return {
    status: certificate.status,
    status_effective_from: certificate.status_effective_from,
    ...(certificate.status_reason === undefined ? {} : { status_reason: certificate.status_reason }),
    cert_id: facts.cert_id,
    issued_at: certificate.issued_at,
  };
}

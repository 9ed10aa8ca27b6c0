// The public verification reads (specification, «C. Public verification API») about a party and the service's keys: signed
// documents, answered to anyone.

import type { Clock, CryptoPort } from "../crypto/port.ts";
import { utf8 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonValue } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp, isUuidV4 } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { type Answer, isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import { certificateAnswer, findIssuances, type Issuances } from "./certificate-read.ts";
import { keyDirectoryText } from "./key-directory.ts";
import { publishedKeys } from "./published-keys.ts";
import type { Register } from "./register.ts";
import type { ServiceKeys } from "./service-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";

export interface VerificationDeps {
  readonly register: Register;
  readonly keys: ServiceKeys;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  /** The public base of the verification surface, without trailing slash. */
  readonly verifyUrl: string;
}

export interface Verification {
  issuances(uuid: string): Promise<Issuances | Refused>;
  /** The issuances as machines get them. */
  certificate(uuid: string): Promise<Outcome>;
  businessKeys(uuid: string): Promise<Outcome>;
  keyCustody(uuid: string): Promise<Outcome>;
  keySet(): Outcome;
  keyDirectory(): Promise<Outcome>;
}

export function createVerification(deps: VerificationDeps): Verification {
  const keySet = keySetBytes(deps.keys.keySet);
  const issuances = (uuid: string) => findIssuances(deps.register, uuid);
  return {
    issuances,
    certificate: async (uuid) => {
      const found = await issuances(uuid);
      return isRefused(found) ? found : certificateAnswer(found);
    },
    businessKeys: (uuid) => readBusinessKeys(deps, uuid),
    keyCustody: (uuid) => readKeyCustody(deps, uuid),
    keySet: () => cacheable(keySet(), 300),
    keyDirectory: async () => cacheable(await keyDirectoryText(deps), 300),
  };
}

/** The key set in force, as one buffer shared by all readers until another key set replaces it. */
function keySetBytes(textInForce: () => string): () => Uint8Array {
  let known: { readonly text: string; readonly bytes: Uint8Array } = { text: "", bytes: new Uint8Array() };
  return () => {
    const text = textInForce();
    if (text !== known.text) known = { text, bytes: utf8(text) };
    return known.bytes;
  };
}

function cacheable(body: string | Uint8Array, maxAgeSeconds: number): Answer {
  const headers = {
    "content-type": "application/json",
    "cache-control": `public, max-age=${maxAgeSeconds}`,
  };
  return { kind: "answer", status: 200, headers, body };
}

function unknownBusiness(): Outcome {
  return refused(problem("not_found", "No business with a certificate has this uuid."));
}

async function readBusinessKeys(deps: VerificationDeps, uuid: string): Promise<Outcome> {
  const party = isUuidV4(uuid) ? await deps.register.party(uuid) : null;
  const [certificate] = party?.kind === "business" ? await deps.register.certificates(uuid) : [];
  if (certificate === undefined) return unknownBusiness();
  const issuedAt = formatTimestamp(deps.clock.now());
  const keys = await deps.register.keys(uuid);
  const payload = publishedKeys({ uuid, certId: certificate.cert_id, issuedAt, keys });
  const bytes = canonicalBytes(payload as unknown as JsonValue);
  const signed = await signEnvelope(payloadTypes["business-keys.v1"], bytes, [deps.keys.statement(issuedAt)]);
  const { v: _version, ...members } = payload;
  return cacheable(JSON.stringify({ ...members, signed }), 30);
}

async function readKeyCustody(deps: VerificationDeps, uuid: string): Promise<Outcome> {
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

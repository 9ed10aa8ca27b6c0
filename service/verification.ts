// The public verification reads (specification, «C. Public verification API»): signed documents and published facts,
// answered to anyone.

import type { Clock, CryptoPort } from "../crypto/port.ts";
import { aiPolicyKeyDocument } from "../protocol/ai-policy-key.ts";
import { utf8 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonValue } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp, isUuidV4 } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { projectionDocument } from "../protocol/projection/specifications.ts";
import { recordSchemaDocument, recordSchemaNames } from "../protocol/record-schemas.ts";
import {
  type VocabularyName,
  vocabularyDocument,
  vocabularyNames,
} from "../protocol/records/vocabularies/vocabulary-document.ts";
import { type Answer, type Outcome, refused } from "./answer.ts";
import { type PageFormat, readCertificate } from "./certificate-read.ts";
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

export interface ConditionalRead {
  /** The `If-None-Match` header of the request. */
  readonly ifNoneMatch: string | null;
}

export interface Verification {
  certificate(uuid: string, format: PageFormat): Promise<Outcome>;
  businessKeys(uuid: string): Promise<Outcome>;
  keyCustody(uuid: string): Promise<Outcome>;
  keySet(): Outcome;
  keyDirectory(): Promise<Outcome>;
  projection(type: string, version: string): Outcome;
  recordSchema(type: string, version: string): Outcome;
  aiPolicyKey(): Outcome;
  vocabulary(request: ConditionalRead & { readonly name: string; readonly version: string | null }): Outcome;
}

const daySeconds = 86_400;

export function createVerification(deps: VerificationDeps): Verification {
  const keySet = keySetBytes(deps.keys.keySet);
  return {
    certificate: (uuid, format) => readCertificate(deps.register, uuid, format),
    businessKeys: (uuid) => readBusinessKeys(deps, uuid),
    keyCustody: (uuid) => readKeyCustody(deps, uuid),
    keySet: () => cacheable(keySet(), 300),
    keyDirectory: async () => cacheable(await keyDirectoryText(deps), 300),
    projection: readProjection,
    recordSchema: readRecordSchema,
    aiPolicyKey: () => cacheable(sameBytes("ai-policy-key", aiPolicyKeyDocument), daySeconds),
    vocabulary: (request) => readVocabulary(deps, request),
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

/** Documents of this release: the same bytes for all readers, so that what is being sent to many is in memory once. */
const documents = new Map<string, Uint8Array>();

function sameBytes(name: string, make: () => unknown): Uint8Array {
  const known = documents.get(name);
  if (known !== undefined) return known;
  const bytes = utf8(JSON.stringify(make()));
  documents.set(name, bytes);
  return bytes;
}

function cacheable(
  body: string | Uint8Array,
  maxAgeSeconds: number,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const cached = {
    "content-type": "application/json",
    "cache-control": `public, max-age=${maxAgeSeconds}`,
    ...headers,
  };
  return { kind: "answer", status: 200, headers: cached, body };
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

function readProjection(type: string, version: string): Outcome {
  const isWellFormed = /^[a-z_]{1,32}$/.test(type) && /^[1-9][0-9]{0,5}$/.test(version);
  const document = isWellFormed ? projectionDocument(type, Number(version)) : null;
  if (document === null) return refused(problem("not_found", "This projection version does not exist."));
  return cacheable(
    sameBytes(`projection/${type}/${version}`, () => document),
    daySeconds,
  );
}

function readRecordSchema(type: string, version: string): Outcome {
  const name = `${type}/${version}`;
  const document = recordSchemaDocument(name);
  if (document === null) {
    const detail = "There is no schema of such a record type and version.";
    return refused(problem("not_found", detail, { allowed: recordSchemaNames }));
  }
  const headers = { "content-type": "application/schema+json" };
  return cacheable(
    sameBytes(`schema/${name}`, () => document),
    daySeconds,
    headers,
  );
}

function readVocabulary(deps: VerificationDeps, request: Parameters<Verification["vocabulary"]>[0]): Outcome {
  const { name, version } = request;
  if (version !== null && !/^[1-9][0-9]{0,8}$/.test(version)) {
    return refused(
      problem("request_invalid", "version must be an integer of at least 1.", { pointer: "/query/version" }),
    );
  }
  const isKnown = (vocabularyNames as readonly string[]).includes(name);
  const document = isKnown
    ? vocabularyDocument(name as VocabularyName, version === null ? undefined : Number(version))
    : null;
  if (document === null) {
    return refused(
      problem("not_found", "This vocabulary or version does not exist.", { allowed: vocabularyNames }),
    );
  }
  const body = sameBytes(`vocabulary/${name}/${version ?? "latest"}`, () => document);
  const etag = `"${hashOf(body, deps.crypto.sha256)}"`;
  const headers = { etag, "cache-control": "public, max-age=3600" };
  const isCurrent =
    request.ifNoneMatch?.split(",").some((each) => each.trim().replace(/^W\//, "") === etag) === true;
  return isCurrent || request.ifNoneMatch?.trim() === "*"
    ? { kind: "answer", status: 304, headers, body: "" }
    : cacheable(body, 3_600, headers);
}

// Runs a case by this project's verifier, in Node and in browsers alike. What a case says is compared with what comes out here.

import type { CryptoPort } from "../../crypto/port.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { type Anchors, parseAnchors } from "../../protocol/keys/anchors.ts";
import { parsePublicJwk } from "../../protocol/keys/jwk.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import { ok } from "../../protocol/result.ts";
import { verifyPossession } from "../../service/register/key-possession.ts";
import type { Report } from "../../verifier/members.ts";
import type { createRowVerifier } from "../../verifier/rows.ts";
import type { SealEvidence } from "../../verifier/seal.ts";
import { createVerifier, type Verifier, verifyEvidence } from "../../verifier/verifier.ts";
import { acceptedKeys } from "../../verifier/verify.ts";
import type { CheckName, Expected, Outcome, TrustVector, VectorCase } from "./case.ts";

export type Primitives = Pick<CryptoPort, "verify" | "sha256">;

export interface Judge {
  judge(vector: VectorCase): Expected;
}

/** What the verifiers of the suite share: one for each name in `trust.json`, made once. */
export function makeJudge(trust: Readonly<Record<string, TrustVector>>, primitives: Primitives): Judge {
  const made = new Map<string, Verifier>();
  const verifierOf = (name: string): Verifier => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const { key_set: keySet } = trust[name] ?? { key_set: null };
    const verifier = createVerifier({ anchors: anchorsOf(trust[name]), keySet, ...primitives });
    if (!verifier.ok) throw new Error(`${name} is not a trust: ${verifier.code}: ${verifier.detail}`);
    made.set(name, verifier.value);
    return verifier.value;
  };
  const own: Partial<Record<CheckName, (vector: VectorCase) => Expected>> = {
    anchors: ({ input }) => expectedOf(parseAnchors(input["anchors"] ?? null)),
    key_set: ({ input }) => {
      const anchors = parseAnchors(input["anchors"] ?? null);
      if (!anchors.ok) return expectedOf(anchors);
      const keySet = input["key_set"] ?? null;
      return expectedOf(createVerifier({ anchors: anchors.value, keySet, ...primitives }));
    },
    evidence: ({ trust: name, input }) =>
      reported(
        verifyEvidence(
          {
            anchors: anchorsOf(trust[name ?? ""]),
            ...primitives,
            ...given<{ keySet?: JsonValue }>({ keySet: input["key_set"] }),
          },
          bytesOf(input, "file_base64"),
        ),
      ),
    signature: ({ input }) => {
      const key = parsePublicJwk(input["key"]);
      const [message, signature] = [bytesOf(input, "message_base64"), bytesOf(input, "signature_base64")];
      const isValid = key.ok && primitives.verify(key.value, message, signature);
      return isValid ? { valid: true } : { valid: false, reason: "signature_invalid" };
    },
    key_possession: ({ trust: name, input }) => possession(anchorsOf(trust[name ?? ""]), input, primitives),
  };
  return {
    judge(vector) {
      const judge = own[vector.check];
      if (judge !== undefined) return judge(vector);
      const { trust: name, input } = vector;
      if (input["witnesses"] === undefined) return judged(vector, verifierOf(name ?? ""));
      const witnesses = input["witnesses"] as unknown as { keys: readonly string[]; quorum: number };
      const { key_set: keySet } = trust[name ?? ""] ?? { key_set: null };
      const anchors = anchorsOf(trust[name ?? ""]);
      const verifier = createVerifier({ anchors, keySet, witnesses, ...primitives });
      return verifier.ok ? judged(vector, verifier.value) : expectedOf(verifier);
    },
  };
}

function anchorsOf(trust: TrustVector | undefined): Anchors {
  const anchors = parseAnchors(trust?.anchors ?? null);
  if (!anchors.ok) throw new Error(`No trust: ${anchors.detail}`);
  return anchors.value;
}

function judged(vector: VectorCase, verifier: Verifier): Expected {
  const check = checks[vector.check];
  if (check === undefined) throw new Error(`Nothing runs ${vector.check}.`);
  return check(verifier, vector.input);
}

type Input = JsonObject;

/** The checks that the entry for rows has too. */
const rowChecks: Partial<
  Record<
    CheckName,
    (verifier: Pick<Verifier, "receipt" | "rowSignature" | "projection">, input: Input) => Expected
  >
> = {
  receipt: (verifier, input) => {
    const { caller_key_id, request_hash, retrieval_id, rows, whole } = input;
    const subject = {
      callerKeyId: caller_key_id,
      requestHash: request_hash,
      retrievalId: retrieval_id,
      rows,
      isWhole: whole,
    };
    return expectedOf(verifier.receipt(value(input, "envelope"), given(subject)));
  },
  row: (verifier, input) =>
    expectedOf(verifier.rowSignature(value(input, "row"), optional<string>(input, "served_at"))),
  projection: (verifier, input) => {
    const row = verifier.rowSignature(value(input, "row"));
    return expectedOf(row.ok ? verifier.projection(row.value, bytesOf(input, "record_base64")) : row);
  },
};

/** Whether the entry for rows has this check. */
export function isRowCheck(check: CheckName): boolean {
  return rowChecks[check] !== undefined;
}

/** The same for these checks alone, by the entry for rows under the accepted keys of each trust, which are JSON on the way. */
export function makeRowJudge(
  trust: Readonly<Record<string, TrustVector>>,
  createRows: typeof createRowVerifier,
): Judge {
  const verifiers = new Map(
    Object.entries(trust).map(([name, { key_set: keySet, anchors }]) => {
      const accepted = acceptedKeys(keySet, anchors, { allowSandbox: true });
      return [
        name,
        accepted.ok
          ? createRows(JSON.parse(JSON.stringify(accepted.value)), { allowSandbox: true })
          : accepted,
      ];
    }),
  );
  return {
    judge: ({ trust: name, check, input }) => {
      const verifier = verifiers.get(name ?? "");
      const judge = rowChecks[check];
      if (!verifier?.ok || judge === undefined) throw new Error(`${name} does not judge ${check}.`);
      return judge(verifier.value, input);
    },
  };
}

const checks: Partial<Record<CheckName, (verifier: Verifier, input: Input) => Expected>> = {
  certificate: (verifier, input) =>
    expectedOf(verifier.certificate(value(input, "envelope")), ({ certId }) => certId),
  certificates: (verifier, input) =>
    expectedOf(verifier.certificates(text(input, "uuid"), list(input, "envelopes")), ({ issuances }) =>
      issuances.map(({ certId }) => certId),
    ),
  certificate_at: (verifier, input) => {
    const history = verifier.certificates(text(input, "uuid"), list(input, "envelopes"));
    if (!history.ok) return expectedOf(history);
    const seal = { cert_id: text(input, "cert_id"), sealed_at: text(input, "sealed_at") };
    return expectedOf(verifier.certificateAt(history.value, seal));
  },
  business_keys: (verifier, input) =>
    expectedOf(verifier.businessKeys(text(input, "uuid"), value(input, "answer"))),
  key_custody: (verifier, input) => expectedOf(verifier.keyCustody(value(input, "envelope"))),
  custody_at: (verifier, input) => {
    const about = { business_uuid: text(input, "business_uuid"), key_id: text(input, "key_id") };
    return expectedOf(
      verifier.custodyAt(value(input, "answer"), { ...about, at: text(input, "at") }),
      (state) => state,
    );
  },
  mandate: (verifier, input) => {
    const keys = verifier.businessKeys(text(input, "uuid"), value(input, "business_keys"));
    return expectedOf(keys.ok ? verifier.mandate(keys.value, value(input, "envelope")) : keys);
  },
  hold_decision: (verifier, input) => {
    const keys = verifier.businessKeys(text(input, "uuid"), value(input, "business_keys"));
    return expectedOf(keys.ok ? verifier.holdDecision(keys.value, value(input, "envelope")) : keys);
  },
  custody_request: (verifier, input) => {
    const keys = verifier.businessKeys(text(input, "uuid"), value(input, "business_keys"));
    return expectedOf(keys.ok ? verifier.custodyRequest(keys.value, value(input, "envelope")) : keys);
  },
  seal: judgeSeal,
  sidecar: (verifier, input) =>
    expectedOf(verifier.sidecar(value(input, "envelope"), optional(input, "subject"))),
  ...rowChecks,
  projection_document: (verifier, input) => expectedOf(verifier.projectionDocument(value(input, "document"))),
  ai_policy_bits: (verifier, input) => {
    const sealed = input["policy"] ?? null;
    const evidence = sealed === null ? ok(null) : sealEvidenceOf(verifier, sealed as JsonObject);
    return expectedOf(
      evidence.ok ? verifier.policyBits(value(input, "bits"), evidence.value) : evidence,
      ({ blocked }) => [...blocked],
    );
  },
  statement: (verifier, input) => {
    const bytes = input["record_base64"] === undefined ? {} : { bytes: bytesOf(input, "record_base64") };
    return expectedOf(verifier.statement(value(input, "answer"), bytes));
  },
  page: (verifier, input) => {
    const bytes = input["record_base64"] === undefined ? {} : { bytes: bytesOf(input, "record_base64") };
    const id = given<{ recordId?: string }>({ recordId: input["record_id"] });
    return expectedOf(verifier.page(value(input, "answer"), { ...bytes, ...id }));
  },
  key_directory: (verifier, input) => expectedOf(verifier.keyDirectory(value(input, "answer"))),
  listed_key_at: (verifier, input) => {
    const directory = verifier.keyDirectory(value(input, "answer"));
    if (!directory.ok) return expectedOf(directory);
    const about = { key_id: text(input, "key_id"), at: text(input, "at") };
    return expectedOf(verifier.listedKeyAt(directory.value, about), ({ company }) => company.ai_company_uuid);
  },
  entitlement: (verifier, input) => {
    const subject = given<{ keyId?: string; aiCompanyUuid?: string }>({
      keyId: input["key_id"],
      aiCompanyUuid: input["ai_company_uuid"],
    });
    const at = text(input, "at");
    return expectedOf(verifier.entitlement(value(input, "answer"), { at, ...subject }));
  },
  checkpoint: (verifier, input) => expectedOf(verifier.checkpoint(text(input, "note")), ({ size }) => size),
  log_inclusion: (verifier, input) =>
    expectedOf(verifier.logInclusion(optional(input, "entry"), optional(input, "evidence"))),
  receipt_inclusion: (verifier, input) =>
    expectedOf(verifier.receiptInclusion(bytesOf(input, "envelope_base64"), optional(input, "evidence"))),
  log_consistency: (verifier, input) =>
    expectedOf(
      verifier.logConsistency(text(input, "first"), text(input, "second"), optional(input, "proof")),
    ),
  search_answer: (verifier, input) =>
    reported(verifier.searchAnswer(bytesOf(input, "body_base64"), answerEvidence(input))),
  fetch_answer: (verifier, input) =>
    reported(verifier.fetchAnswer(bytesOf(input, "body_base64"), answerEvidence(input))),
  pool_answer: (verifier, input) =>
    reported(verifier.poolAnswer(bytesOf(input, "body_base64"), answerEvidence(input))),
  ad_item: (verifier, input) => {
    const held = input["images"] as JsonObject;
    const images = new Map(Object.keys(held).map((name) => [name, bytesOf(held, name)]));
    const at = given<{ servedAt?: string }>({ servedAt: input["served_at"] });
    return reported(verifier.adItem(value(input, "item"), { images, ...at }));
  },
};

function answerEvidence(input: Input): Parameters<Verifier["fetchAnswer"]>[1] {
  const { caller_key_id, request_hash, certificate, business_keys, key_custody, mandate } = input;
  return given({
    callerKeyId: caller_key_id,
    requestHash: request_hash,
    certificate,
    verifyUrl: input["verify_url"],
    businessKeys: business_keys,
    keyCustody: key_custody,
    mandate,
  });
}

function possession(anchors: Anchors, input: Input, { verify, sha256 }: Primitives): Expected {
  const proof = parseEnvelope(value(input, "proof"));
  if (!proof.ok) return expectedOf(proof);
  const request = {
    key: optional<Key>(input, "key"),
    challenge: text(input, "challenge"),
    proof: proof.value,
  };
  return expectedOf(verifyPossession({ crypto: { verify, sha256 }, passkeys: anchors.passkeys }, request));
}

type Key = Parameters<typeof verifyPossession>[1]["key"];

/** A verdict as a case states it; `found` says what a good one found. */
function expectedOf<T>(verdict: Verdict<T>, found?: (value: T) => JsonValue): Expected {
  if (!verdict.ok) return { valid: false, reason: verdict.code };
  return found === undefined ? { valid: true } : { valid: true, value: found(verdict.value) };
}

function reported(report: Report): Expected {
  const outcomes = report.checks.map(({ name, state, reason }): readonly [string, Outcome] => [
    name,
    reason ?? (state as Exclude<typeof state, "failed">),
  ]);
  return { valid: report.valid, checks: Object.fromEntries(outcomes) };
}

function value(input: Input, name: string): JsonValue {
  return input[name] ?? null;
}

function text(input: Input, name: string): string {
  return String(input[name]);
}

function list(input: Input, name: string): readonly JsonValue[] {
  const found = input[name];
  if (!Array.isArray(found)) throw new Error(`${name} is a list.`);
  return found;
}

/** A member in the form that the verifier takes: the suite is written in that form. */
function optional<T>(input: Input, name: string): T {
  return input[name] as unknown as T;
}

function given<T>(members: Readonly<Record<string, JsonValue | undefined>>): T {
  return Object.fromEntries(Object.entries(members).filter(([, each]) => each !== undefined)) as T;
}

/** The bytes of a base64 member. */
function bytesOf(input: Input, name: string): Uint8Array {
  const bytes = parseBase64(text(input, name));
  if (bytes === null) throw new Error(`${name} is base64.`);
  return bytes;
}

// Runs a case about a seal: the certificates and keys are verified first, and the first refusal is the verdict.

/** What a case about a seal gives besides the bytes, the seal, the certificates and the keys. */
interface SealInput {
  readonly uuid: string;
  readonly document?: NonNullable<SealEvidence["document"]>;
  readonly seal: JsonValue;
  readonly certificates: readonly JsonValue[];
  readonly business_keys: JsonValue;
  readonly mandates?: NonNullable<SealEvidence["mandates"]>;
  readonly sidecar?: JsonValue;
  readonly expected_hash?: string;
  readonly policies?: {
    readonly versions: readonly { readonly version: number; readonly live_from: string }[];
    readonly complete: boolean;
    readonly uncertain_ms: number;
  };
  readonly received?: { readonly at: string | null };
  readonly key_event?: { readonly found: boolean; readonly required: boolean };
}

/** What the verifier takes, from the members of a case. */
function sealEvidenceOf(verifier: Verifier, input: JsonObject): Verdict<SealEvidence> {
  const given = input as unknown as SealInput;
  const certificates = verifier.certificates(given.uuid, given.certificates);
  if (!certificates.ok) return certificates;
  const keys = verifier.businessKeys(given.uuid, given.business_keys);
  if (!keys.ok) return keys;
  const { document, mandates, sidecar, received, policies, key_event: event } = given;
  return ok({
    bytes: bytesOf(input, "bytes_base64"),
    seal: given.seal,
    certificates: certificates.value,
    keys: keys.value,
    ...(document === undefined ? {} : { document }),
    ...(given.expected_hash === undefined ? {} : { expectedHash: given.expected_hash }),
    ...(mandates === undefined ? {} : { mandates }),
    ...(sidecar === undefined ? {} : { sidecar }),
    ...(received === undefined ? {} : { received }),
    ...(event === undefined ? {} : { keyEvent: { found: event.found, isRequired: event.required } }),
    ...(policies === undefined
      ? {}
      : {
          policies: {
            versions: policies.versions,
            isComplete: policies.complete,
            uncertainMs: policies.uncertain_ms,
          },
        }),
  });
}

function judgeSeal(verifier: Verifier, input: JsonObject): Expected {
  const evidence = sealEvidenceOf(verifier, input);
  if (!evidence.ok) return expectedOf(evidence);
  const verdict = verifier.seal(evidence.value);
  const found = expectedOf(verdict);
  if (!verdict.ok || verdict.value.sidecar === null) return found;
  const { sidecar } = verdict.value;
  return { ...found, sidecar: sidecar.ok ? "ok" : sidecar.code };
}

// Evidence that fails verification, and the reason that a verifier gives: by POST /v1/verify, or by the offline verifier
// with the anchors of `sandbox.json`.

import { evidenceOf, verifyEvidenceFile } from "../../../client/evidence.ts";
import { createSvcClient, type FetchedRecord, type RecordAnswer } from "../../../client/service-client.ts";
import { toBase64, utf8 } from "../../../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json/canonical-json.ts";
import { exactMember } from "../../../protocol/json/strict-json.ts";
import type { Anchors } from "../../../protocol/keys/anchors.ts";
import type { KeyEntry } from "../../../protocol/keys/key-set.ts";
import { newPublisher } from "./publishing.ts";
import {
  type Attempts,
  freshText,
  type Publisher,
  type Refused,
  type Trial,
  trialProduct,
  trialSearch,
} from "./trial.ts";

/** A record that was sealed on its own, as it was fetched. */
async function fetchFirst(
  trial: Trial,
  search: Readonly<Record<string, unknown>> = inTrialCountry,
): Promise<RecordAnswer> {
  const { client } = await clientOf(trial);
  const found = await client.search({ ...JSON.parse(trialSearch(search)) });
  const [row] = found.body.rows;
  if (row === undefined) throw new Error("There is no record to try it with.");
  return client.fetchRecord(row.record_id);
}

const inTrialCountry = { filter: { all: [{ country: "IE" }] }, q: "trial lamp", sort_by: "_text_match:desc" };

async function clientOf({ everyday, sandbox }: Trial) {
  const { searcher } = await everyday;
  const client = createSvcClient({
    key: searcher.key,
    grant: searcher.grant,
    baseUrl: sandbox.base_url,
    businessUrl: null,
    verifyUrl: sandbox.verify_url,
  });
  return { client, keyId: searcher.key.keyId };
}

const sections = ["seal", "sidecar", "projection", "ai_policy_bits"] as const;

/** Calls POST /v1/verify; the first section that fails gives the reason. */
async function verify({ send, sandbox }: Trial, evidence: object): Promise<Refused> {
  const { status, json } = await send({
    url: `${sandbox.verify_url}/v1/verify`,
    body: JSON.stringify(evidence),
  });
  const found = sections
    .map((name) => json[name] as JsonObject | null | undefined)
    .find((each) => each?.["valid"] === false);
  return {
    status,
    code: String(found?.["reason"] ?? ""),
    detail: String(found?.["detail"] ?? json["detail"] ?? ""),
  };
}

interface Held {
  readonly bytes: Uint8Array;
  readonly body: FetchedRecord;
}

/** A record and its seal, with one thing changed. */
const fetchedWith =
  (change: (held: Held) => object, search?: Readonly<Record<string, unknown>>) =>
  async (trial: Trial): Promise<Refused> => {
    const { recordBytes: bytes, body } = await fetchFirst(trial, search);
    return verify(trial, { record_base64: toBase64(bytes), seal: body.seal, ...change({ bytes, body }) });
  };

interface Envelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly Readonly<Record<string, string>>[];
}

/** The seal, with another payload text under the same signature. */
function withPayload({ body }: Held, change: (text: string) => string): { readonly seal: object } {
  const seal = body.seal as Envelope;
  const text = Buffer.from(seal.payload, "base64").toString();
  return { seal: { ...seal, payload: toBase64(utf8(change(text))) } };
}

function withSignature({ body }: Held, changes: object): { readonly seal: object } {
  const seal = body.seal as Envelope;
  return { seal: { ...seal, signatures: [{ ...seal.signatures[0], ...changes }] } };
}

function flipped(bytes: Uint8Array): string {
  const copy = Uint8Array.from(bytes);
  copy[40] = (copy[40] ?? 0) ^ 1;
  return toBase64(copy);
}

const documents: Attempts = {
  "verify/hash_mismatch": fetchedWith(({ bytes }) => ({ record_base64: flipped(bytes) })),
  "verify/inclusion_invalid": fetchedWith(
    ({ body }) => ({ seal: { ...(body.seal as object), leaf_index: 1, proof: [] } }),
    {
      q: "ideal cut",
    },
  ),
  "verify/signature_invalid": fetchedWith((held) =>
    withSignature(held, { sig: toBase64(new Uint8Array(64)) }),
  ),
  "verify/key_mismatch": fetchedWith((held) => withSignature(held, { keyid: freshText() })),
  "verify/payload_type_mismatch": fetchedWith(({ body }) => ({
    seal: { ...(body.seal as object), payloadType: "application/vnd.svc.receipt.v3+json" },
  })),
  "verify/envelope_malformed": fetchedWith(({ body }) => ({ seal: { ...(body.seal as object), note: "" } })),
  "verify/payload_malformed": fetchedWith((held) =>
    withPayload(held, (text) => text.replace("{", '{"a":1,')),
  ),
  "verify/version_unknown": fetchedWith((held) =>
    withPayload(held, (text) => text.replace('"v":2', '"v":9')),
  ),
  "verify/ai_policy_bits_mismatch": async (trial) => {
    const { body, text } = await fetchFirst(trial);
    const policy = exactMember(exactMember(text, "ai_policy") ?? "", "record") ?? "";
    const bits = {
      ai_policy_version: body.ai_policy.version,
      ai_policy_schema: 2,
      use: 127,
      action: 63,
      blocked: 0,
    };
    return verify(trial, {
      record_base64: toBase64(utf8(policy)),
      seal: body.ai_policy.seal,
      ai_policy_bits: bits,
    });
  },
  "verify/key_event_missing": async (trial) => {
    const asked = async () => verifySealed(trial, await newPublisher(trial), newKeyRequired);
    const refused = await asked();
    // The log may take leaves just then: the next new key is registered after that.
    return refused.code === "" ? asked() : refused;
  },
  "verify/row_signature_invalid": rowWith({ price_US: 1 }),
  "verify/projection_unknown": rowWith({ adl_proj: "products/99" }),
};

function rowWith(changes: object) {
  return async (trial: Trial): Promise<Refused> => {
    const { client } = await clientOf(trial);
    const { body } = await client.search(JSON.parse(trialSearch()));
    const [row] = body.rows;
    const { recordBytes } = await client.fetchRecord(row?.record_id ?? "");
    return verify(trial, { record_base64: toBase64(recordBytes), row: { ...row, ...changes } });
  };
}

interface Sealing {
  readonly certId?: string;
  readonly aiPolicyVersion?: number;
  readonly recordType?: string;
  readonly record?: Uint8Array;
  readonly keyEvents?: "require";
}

const newKeyRequired: Sealing = { aiPolicyVersion: 0, keyEvents: "require" };

/** A batch of one record, sealed now by a sample key; nobody has published it. */
async function verifySealed(
  trial: Trial,
  publisher: Publisher,
  { record, keyEvents, ...changes }: Sealing = {},
): Promise<Refused> {
  const bytes = record ?? trialProduct("sealed-lamp");
  const { batch_seal } = await trial.seal(publisher, [bytes], changes);
  const seal = { batch_seal, leaf_index: 0, tree_size: 1, proof: [] };
  const asked = keyEvents === undefined ? {} : { key_events: keyEvents };
  return verify(trial, { record_base64: toBase64(bytes), seal, ...asked });
}

const sealedBy =
  (words: string, sealing?: Sealing) =>
  async (trial: Trial): Promise<Refused> =>
    verifySealed(trial, await trial.publisher(words), sealing);

const sealedWith =
  (sealing: Sealing) =>
  async (trial: Trial): Promise<Refused> =>
    verifySealed(trial, (await trial.everyday).publisher, sealing);

const standing: Attempts = {
  "verify/key_unknown": async (trial) => {
    const { publisher } = await trial.everyday;
    return verifySealed(trial, { ...publisher, key: await trial.newKey() });
  },
  "verify/key_not_valid": sealedBy("Its time is over: every request"),
  "verify/key_not_valid/revoked": sealedBy("Revoked: every request"),
  "verify/key_compromised": sealedBy("Revoked as compromised"),
  "verify/certificate_not_in_force": sealedUnderFirst("Its certificate is revoked"),
  "verify/certificate_withdrawn": sealedUnderFirst("withdrew its certificate"),
  "verify/certificate_not_in_force/closed": sealedUnderFirst("Closed:"),
  "verify/out_of_scope": sealedBy("For IE and NZ only", {
    record: trialProduct("sealed-abroad", {
      countries: ["US"],
      prices: [{ country: "US", currency: "USD", amount: "19.00" }],
    }),
  }),
  "verify/out_of_scope/mandate_revoked": sealedBy("Its mandate was revoked"),
  "verify/record_type_mismatch": sealedWith({ recordType: "events" }),
  "verify/certificate_unknown": sealedWith({ certId: `sha256:${"0".repeat(64)}` }),
  "verify/ai_policy_version_mismatch": sealedWith({ aiPolicyVersion: 7 }),
};

/** The oldest certificate of the business is the one issued as active. */
function sealedUnderFirst(words: string) {
  return async (trial: Trial): Promise<Refused> => {
    const publisher = await trial.publisher(words);
    const { json } = await trial.send({
      url: `${trial.sandbox.verify_url}/v1/certificates/${publisher.businessUuid}`,
    });
    const history = json["history"] as readonly { readonly cert_id: string }[];
    return verifySealed(trial, { ...publisher, certId: history.at(-1)?.cert_id ?? "" });
  };
}

/** A modified evidence file that is judged offline, or one that is judged by other anchors. */
const offlineWith =
  (
    change: (file: JsonObject) => JsonObject,
    anchorsOf: (anchors: Anchors, file: JsonObject) => object = (anchors) => anchors,
  ) =>
  async (trial: Trial): Promise<Refused> => {
    const { client, keyId } = await clientOf(trial);
    const fetched = await fetchFirst(trial);
    const text = await evidenceOf(client, fetched, { environment: "sandbox", keyId });
    const changed = change(JSON.parse(text) as JsonObject);
    const file = JSON.stringify(changed);
    const verified = verifyEvidenceFile(utf8(file), {
      anchorsText: JSON.stringify(anchorsOf(trial.sandbox.anchors, changed)),
      allowSandbox: true,
    });
    const failed = verified.ok ? verified.value.checks.find(({ state }) => state === "failed") : undefined;
    return { status: null, code: failed?.reason ?? "", detail: failed?.detail ?? "" };
  };

/** Pins the issuance keys of the set, which no certificate declares to be roots. */
function otherAnchors(anchors: Anchors, file: JsonObject): object {
  const { keys } = file["key_set"] as unknown as { readonly keys: readonly KeyEntry[] };
  const issuance = keys.filter(({ use }) => use === "issuance");
  return {
    ...anchors,
    roots: issuance.map(({ key_id, alg, public_key, pair }) => ({ key_id, alg, public_key, pair })),
  };
}

function member(value: JsonValue | undefined, name: string): JsonObject {
  return ((value as JsonObject | undefined)?.[name] ?? {}) as JsonObject;
}

const offline: Attempts = {
  "verify/post_quantum_required": offlineWith((file) => {
    const signed = member(file["key_set"], "signed");
    const signatures = (signed["signatures"] as readonly JsonValue[]).slice(0, 1);
    return { ...file, key_set: { ...(file["key_set"] as JsonObject), signed: { ...signed, signatures } } };
  }),
  "verify/trust_chain_broken": offlineWith((file) => file, otherAnchors),
  "verify/receipt_caller_mismatch": offlineWith((file) => ({ ...file, caller_key_id: "A".repeat(43) })),
  "verify/receipt_row_mismatch": async (trial) => {
    const other = await fetchFirst(trial, { q: "ideal cut" });
    const receipt = other.body.receipt as unknown as JsonValue;
    // Which request the receipt answered is a separate question.
    return offlineWith(({ request_hash: _asked, ...file }) => ({
      ...file,
      fetched: { ...(file["fetched"] as JsonObject), receipt },
    }))(trial);
  },
};

export const evidenceRefusals: Attempts = {
  ...documents,
  ...standing,
  ...offline,
};

// The published JSON Schema of each payload takes what the verifier takes, and refuses what is not a member.

import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parseBase64 } from "../protocol/bytes.ts";
import { type Envelope, type PayloadKind, payloadTypes } from "../protocol/dsse.ts";
import { openEntitlement } from "../protocol/entitlement.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { openBusinessKeys } from "../protocol/keys/business-keys.ts";
import { openCertificate } from "../protocol/keys/certificate.ts";
import {
  openCustodyRequest,
  openKeyCustody,
  openKeyDirectory,
  openKeyPossession,
} from "../protocol/keys/key-directory.ts";
import { openKeyCertificate, parseKeySet } from "../protocol/keys/key-set.ts";
import { openMandate } from "../protocol/mandate.ts";
import { payloadSchemaDocument, publishedKinds } from "../protocol/payload-kinds.ts";
import { openReceipt } from "../protocol/receipt.ts";
import { openBatchSeal, openSeal } from "../protocol/seal.ts";
import { openSidecar } from "../protocol/signed-version.ts";
import { openVerifyPage, openVerifyStatement } from "../protocol/verify-page.ts";
import { openHoldDecision } from "../protocol/withdrawal.ts";
import {
  batchSeal,
  passkeySeal,
  publishedKeys,
  recordBytes,
  sealedCustodyRequest,
  sealedDecision,
  sealedMandate,
  sidecarFacts,
} from "./business.fixture.ts";
import { callerKeyId, receiptFacts } from "./retrieval.fixture.ts";
import { makeScene } from "./scene.fixture.ts";
import { asJson, document, keySetAnswer, soleKey } from "./service.fixture.ts";
import { directoryFacts, entitlementFacts, pageFacts, statementFacts } from "./stated.fixture.ts";

const { service, business } = makeScene();
const bytes = recordBytes();
const termsOf = ({ ai_policy_version, ...facts }: JsonObject, v: number): JsonObject => ({
  ...facts,
  v,
  terms_version: ai_policy_version ?? 0,
});

const keySet = payloadOf((keySetAnswer(service) as JsonObject)["signed"]);
const seal = payloadOf(passkeySeal(business, bytes));
const batch = payloadOf((batchSeal(business, [bytes], 0) as JsonObject)["batch_seal"]);
const sidecar = asJson(sidecarFacts(business, bytes));
const row = {
  record_id: `svc_${"a".repeat(26)}`,
  adl_origin: `sha256:${"0".repeat(64)}`,
  adl_row_sig: `${"A".repeat(86)}==`,
  ai_policy_version: 1,
};
const receipt = asJson(receiptFacts([row]));
const { key_id: _keyId, ...receiptWithoutKey } = receipt;
const termsRows = [termsOf(row, 0)].map(({ v: _v, ...each }) => each);

/** A real payload of every kind. */
const payloads: Readonly<Record<PayloadKind, JsonObject>> = {
  "seal.v2": seal,
  "seal.v1": termsOf(seal, 1),
  "batch-seal.v2": batch,
  "batch-seal.v1": termsOf(batch, 1),
  "sidecar.v2": sidecar,
  "sidecar.v1": termsOf(sidecar, 1),
  "receipt.v3": receipt,
  "receipt.v2": { ...receipt, v: 2, rows: termsRows },
  "receipt.v1": { ...receiptWithoutKey, v: 1, rows: termsRows },
  "certificate.v1": payloadOf(business.issued.envelope),
  "business-keys.v1": payloadOf((publishedKeys(service, business) as JsonObject)["signed"]),
  "key-custody.v1": {
    v: 1,
    business_uuid: business.uuid,
    key_id: business.system.keyId,
    custody: "self",
    issued_at: "2026-02-01T00:00:00.000Z",
    effective_from: "2026-02-01T00:00:00.000Z",
  },
  "mandate.v1": payloadOf(sealedMandate(business)),
  "hold-decision.v1": payloadOf(sealedDecision(business)),
  "custody-request.v1": payloadOf(sealedCustodyRequest(business)),
  "key-possession.v1": {
    v: 1,
    party_uuid: business.uuid,
    key_id: callerKeyId,
    role: "retrieval",
    challenge: "c".repeat(22),
  },
  "key-set.v1": keySet,
  "key-certificate.v1": payloadOf((keySet["certificates"] as readonly JsonValue[])[0]),
  "entitlement.v1": asJson(entitlementFacts(soleKey(service.receipt))),
  "key-directory.v1": asJson(directoryFacts(soleKey(service.receipt))),
  "verify-statement.v1": asJson(statementFacts(bytes)),
  "verify-page.v1": asJson(pageFacts(business, bytes)),
};

function payloadOf(envelope: JsonValue | undefined): JsonObject {
  const { payload } = envelope as unknown as Envelope;
  return JSON.parse(new TextDecoder().decode(parseBase64(payload) ?? new Uint8Array())) as JsonObject;
}

/** Reads a payload of each kind, and verifies no signature. */
const readers: Readonly<Record<string, (envelope: Envelope) => { readonly ok: boolean }>> = {
  seal: openSeal,
  "batch-seal": openBatchSeal,
  sidecar: openSidecar,
  receipt: openReceipt,
  certificate: openCertificate,
  "business-keys": openBusinessKeys,
  "key-custody": openKeyCustody,
  mandate: openMandate,
  "hold-decision": openHoldDecision,
  "custody-request": openCustodyRequest,
  "key-possession": openKeyPossession,
  "key-set": ({ payload }) => parseKeySet(parseBase64(payload) ?? new Uint8Array()),
  "key-certificate": openKeyCertificate,
  "key-directory": openKeyDirectory,
  entitlement: openEntitlement,
  "verify-statement": openVerifyStatement,
  "verify-page": openVerifyPage,
};

const readerTakes = (name: PayloadKind, payload: JsonObject): boolean => {
  const envelope = document(name, payload, soleKey(service.statement)) as unknown as Envelope;
  return readers[name.split(".")[0] ?? ""]?.(envelope).ok === true;
};

describe("the kinds of payloads", () => {
  it("are those that envelopes may have, each once", () => {
    expect(publishedKinds.map(({ payloadType }) => payloadType).sort()).toEqual(
      Object.values(payloadTypes).sort(),
    );
    for (const { kind, version, payloadType } of publishedKinds)
      expect(payloadType).toBe(`application/vnd.svc.${kind}.v${version}+json`);
  });

  it("have a schema by kind and version, and no other has one", () => {
    for (const [kind, version] of [
      ["seal", "3"],
      ["seal", "02"],
      ["row", "1"],
      ["", ""],
    ] as const)
      expect(payloadSchemaDocument(kind, version)).toBeNull();
  });
});

describe.each(Object.keys(payloads) as PayloadKind[])("the schema of %s", (name) => {
  const [kind = "", version = ""] = name.split(".v");
  const schema = payloadSchemaDocument(kind, version) ?? {};
  const takes = new Ajv2020({ strict: true, validateFormats: false }).compile(schema);
  const payload = payloads[name];

  it("takes a real payload, as its reader does", () => {
    expect([takes(payload), takes.errors]).toEqual([true, null]);
    expect(readerTakes(name, payload)).toBe(true);
  });

  it("refuses a further member, another version and any member of another kind, as its reader does", () => {
    const changed: readonly JsonObject[] = [
      { ...payload, more: 1 },
      { ...payload, v: 9 },
      ...Object.keys(payload).map((member) => ({ ...payload, [member]: { more: [] } })),
    ];
    for (const each of changed)
      expect([each, takes(each), readerTakes(name, each)]).toEqual([each, false, false]);
  });

  it("demands the members that its reader demands", () => {
    for (const member of Object.keys(payload)) {
      const { [member]: _, ...without } = payload;
      expect([member, takes(without)]).toEqual([member, false]);
      expect([member, readerTakes(name, without)]).toEqual([member, false]);
    }
  });
});

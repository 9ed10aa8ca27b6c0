// An envelope states its payload type. Whichever document a verifier expects, any other type is `payload_type_mismatch`.

import { describe, expect, it } from "vitest";
import { payloadTypes } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import {
  batchSeal,
  passkeySeal,
  publishedKeys,
  recordBytes,
  sealedCustodyRequest,
  sealedDecision,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import { receiptFacts } from "./retrieval.fixture.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";
import { asJson, document, issueCertificate, keySetAnswer, soleKey } from "./service.fixture.ts";
import { directoryFacts, pageFacts, statementFacts } from "./stated.fixture.ts";
import { createVerifier } from "./verifier.ts";

const { service, business, verifier, certificates, keys } = makeScene();
const bytes = recordBytes();
const evidence = { bytes, certificates: certificates(business.issued.envelope), keys: keys() };
const custody = {
  v: 1,
  business_uuid: business.uuid,
  key_id: business.system.keyId,
  custody: "self",
  issued_at: "2026-02-01T00:00:00.000Z",
  effective_from: "2026-02-01T00:00:00.000Z",
};
const pushedSeal = batchSeal(business, [bytes], 0) as JsonObject;

/** Each document with the function that verifies it. */
const documents: readonly (readonly [string, JsonValue, (envelope: JsonValue) => string])[] = [
  ["certificate", business.issued.envelope, (envelope) => codeOf(verifier.certificate(envelope))],
  [
    "business-keys",
    (publishedKeys(service, business) as JsonObject)["signed"] ?? null,
    (envelope) => codeOf(verifier.businessKeys(business.uuid, envelope)),
  ],
  [
    "key-custody",
    document("key-custody.v1", custody, ...service.issuance.halves),
    (envelope) => codeOf(verifier.keyCustody(envelope)),
  ],
  ["mandate", sealedMandate(business), (envelope) => codeOf(verifier.mandate(keys(), envelope))],
  ["hold-decision", sealedDecision(business), (envelope) => codeOf(verifier.holdDecision(keys(), envelope))],
  [
    "custody-request",
    sealedCustodyRequest(business),
    (envelope) => codeOf(verifier.custodyRequest(keys(), envelope)),
  ],
  [
    "sidecar",
    sidecarEnvelope(service, sidecarFacts(business, bytes)),
    (envelope) => codeOf(verifier.sidecar(envelope)),
  ],
  [
    "receipt",
    document("receipt.v3", receiptFacts([]), soleKey(service.receipt)),
    (envelope) => codeOf(verifier.receipt(envelope)),
  ],
  [
    "verify-statement",
    document("verify-statement.v1", statementFacts(bytes), soleKey(service.statement)),
    (envelope) => codeOf(verifier.statement(envelope)),
  ],
  [
    "verify-page",
    document("verify-page.v1", pageFacts(business, bytes), soleKey(service.statement)),
    (envelope) => codeOf(verifier.page(envelope)),
  ],
  [
    "key-directory",
    document("key-directory.v1", directoryFacts(), soleKey(service.statement)),
    (envelope) => codeOf(verifier.keyDirectory(envelope)),
  ],
  [
    "seal",
    passkeySeal(business, bytes),
    (envelope) => codeOf(verifier.seal({ ...evidence, seal: envelope })),
  ],
  [
    "batch-seal",
    pushedSeal["batch_seal"] ?? null,
    (envelope) => codeOf(verifier.seal({ ...evidence, seal: { ...pushedSeal, batch_seal: envelope } })),
  ],
  [
    "key-set",
    (keySetAnswer(service) as JsonObject)["signed"] ?? null,
    (envelope) => codeOf(createVerifier({ anchors: service.anchors, keySet: envelope })),
  ],
];

describe.each(documents)("where a %s is expected", (kind, envelope, verify) => {
  const under = (payloadType: JsonValue) => verify({ ...(envelope as JsonObject), payloadType });

  it("a document of its type is taken", () => {
    expect(verify(envelope)).toBe("ok");
  });

  it("an unknown type, the empty one too, and that of another document is payload_type_mismatch", () => {
    const other = kind === "receipt" ? payloadTypes["sidecar.v2"] : payloadTypes["receipt.v3"];
    for (const type of ["", "application/json", other])
      expect(under(type), type).toBe("payload_type_mismatch");
  });

  it("a type that is no string, or none, is envelope_malformed", () => {
    for (const type of [null, 1, [], {}]) expect(under(type)).toBe("envelope_malformed");
    const { payloadType: _, ...without } = envelope as JsonObject;
    expect(verify(without)).toBe("envelope_malformed");
  });

  it("a later format of it is version_unknown for a certificate, and payload_type_mismatch otherwise", () => {
    const expected = kind === "certificate" ? "version_unknown" : "payload_type_mismatch";
    expect(under(`application/vnd.svc.${kind}.v9+json`)).toBe(expected);
  });
});

describe("a certificate of format v2", () => {
  it("is version_unknown under its own payload type, and under that of v1", () => {
    const second = issueCertificate(service, rubbish({ ...business.certificate, v: 2 }));
    expect(codeOf(verifier.certificate(second.envelope))).toBe("version_unknown");
    const own = asJson({
      ...(second.envelope as JsonObject),
      payloadType: "application/vnd.svc.certificate.v2+json",
    });
    expect(codeOf(verifier.certificate(own))).toBe("version_unknown");
  });
});

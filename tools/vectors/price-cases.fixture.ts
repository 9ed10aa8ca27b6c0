// Cases about the proof of one shown price (`svc-evidence/3`): by the chain in it, and by a key set that its reader has.

import { hashOf } from "../../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Certificate } from "../../protocol/keys/certificate.ts";
import type { IndexRow } from "../../protocol/row.ts";
import { receiptFacts, servedAt, shownPrice } from "../../verifier/retrieval.fixture.ts";
import {
  asJson,
  document,
  issueCertificate,
  keyCertificate,
  type ServiceKey,
  soleKey,
} from "../../verifier/service.fixture.ts";
import { type Checks, outcome, utf8 } from "./answer-cases.fixture.ts";
import type { Outcome, VectorCase } from "./case.ts";
import {
  base64,
  casesOf,
  otherUuid,
  signedKeySet,
  type World,
  withFlippedSignature,
  withSignatures,
} from "./world.fixture.ts";

const chained: Checks = { key_chain: "ok", key_set: "not_checked" };
const fine: Checks = {
  receipt: "ok",
  row: "ok",
  source_line: "ok",
  certificate: "ok",
  "unsigned/row/ai_policy_bits": "unsigned",
  "unsigned/row/sponsored": "unsigned",
  "unsigned/source_line": "unsigned",
};
const noReceipt = (reason: Outcome): Checks => ({ receipt: reason, source_line: "not_checked" });
const noRow = (reason: Outcome): Checks => ({
  row: reason,
  source_line: "not_checked",
  certificate: "not_checked",
});

export function priceCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, under } = casesOf("evidence");
  const file = shownPrice(service, business);
  const { key_certificates: _, ...bare } = file;
  const of = (members: object, more: object = {}) => ({
    file_base64: base64(utf8(JSON.stringify(members))),
    ...more,
  });
  const one = (name: string, says: string, members: object, checks: Checks, keySet?: JsonValue) =>
    good(
      `price: ${name}`,
      says,
      of(members, keySet === undefined ? {} : { key_set: keySet }),
      outcome(checks),
    );
  /** Another member in the file than in the one that is good. */
  const other = (name: string, says: string, changes: object, checks: Checks) =>
    one(name, says, { ...file, ...changes }, { ...chained, ...fine, ...checks });
  const keySet = signedKeySet(service);
  const elsewhere = shownPrice(world.other, business);
  return [
    one("with its chain", "A row, its receipt, and the chain of the keys that signed them.", file, {
      ...chained,
      ...fine,
    }),
    one(
      "by a key set",
      "Without the chain, for a reader who has a key set.",
      bare,
      { key_set: "ok", ...fine },
      keySet,
    ),
    one(
      "by both",
      "With the chain, for a reader who has a key set.",
      file,
      { key_chain: "ok", key_set: "ok", ...fine },
      keySet,
    ),
    good("price: under anchors alone", "There is neither a chain nor a key set.", of(bare), {
      valid: false,
      checks: { key_set: "not_checked" },
    }),
    one(
      "by a key set of others",
      "The chain is good, and the key set given has none to the anchors.",
      file,
      { key_chain: "ok", key_set: "trust_chain_broken" },
      signedKeySet(world.other),
    ),
    good(
      "price: by a key set, with another chain",
      "The key set would do, and the chain in the file is of other roots.",
      of({ ...bare, key_certificates: elsewhere["key_certificates"] }, { key_set: keySet }),
      outcome({ key_chain: "trust_chain_broken", key_set: "ok" }),
    ),
    one(
      "compromised since",
      "The key set says what the chain does not: the receipt's key was compromised.",
      file,
      { key_chain: "ok", key_set: "ok", ...fine, ...noReceipt("key_compromised") },
      signedKeySet(service, {
        entries: (key) => (key === service.receipt ? { compromised_from: servedAt } : {}),
      }),
    ),
    under("sandbox").good(
      "price: of another environment",
      "The anchors are of the sandbox.",
      of(file),
      outcome({ environment: "key_unknown" }),
    ),
    ...shownCases(world, { file, other }),
    ...namedCases(world, { other }),
    ...chainCases(world, { file, other, one }),
    ...[
      ["no row", "The row is missing.", { row: undefined }],
      ["empty chain", "The chain has no certificate.", { key_certificates: [] }],
      ["further member", "A member that the format does not have.", { extra: 1 }],
      ["receipt not an envelope", "The receipt is what an envelope has in it.", { receipt: {} }],
    ].map(([name, says, changes]) =>
      one(String(name), String(says), { ...file, ...(changes as object) }, { file: "payload_malformed" }),
    ),
  ];
}

interface Parts {
  readonly file: JsonObject;
  readonly other: (name: string, says: string, changes: object, checks: Checks) => VectorCase;
  readonly one: (name: string, says: string, members: object, checks: Checks) => VectorCase;
}

/** What was shown: row, receipt, source line and certificate. */
function shownCases({ production }: World, { file, other }: Omit<Parts, "one">): readonly VectorCase[] {
  const { service } = production;
  const row = file["row"] as IndexRow;
  const line = String(file["source_line"]);
  const receipt = (facts: object) =>
    document("receipt.v3", { ...receiptFacts([row]), ...facts }, soleKey(service.receipt));
  const facts = receiptFacts([row]);
  const listed = facts.rows.map(({ ai_policy_version: _, ...entry }) => ({ ...entry, terms_version: 1 }));
  const first = { ...facts, v: 1, key_id: undefined, rows: listed };
  const older = {
    ...(row["ai_policy_bits"] as JsonObject),
    ai_policy_version: 0,
    use: 0,
    action: 0,
    blocked: 0,
  };
  return [
    other(
      "another price",
      "The price is another than was signed.",
      { row: { ...row, price_DE: 1 } },
      noRow("row_signature_invalid"),
    ),
    other(
      "bits of an older policy",
      "The bits are of an older AI policy than the row.",
      { row: { ...row, ai_policy_bits: older } },
      noRow("ai_policy_version_mismatch"),
    ),
    other(
      "another row",
      "The receipt lists another row.",
      { receipt: receipt({ rows: [] }) },
      {
        receipt: "receipt_row_mismatch",
      },
    ),
    other(
      "to nobody",
      "The receipt is of the first format, which names no caller.",
      { receipt: document("receipt.v1", first, soleKey(service.receipt)) },
      { receipt: "receipt_caller_mismatch" },
    ),
    other(
      "fetched",
      "The receipt is of a fetch.",
      { receipt: receipt({ kind: "fetch" }) },
      noReceipt("receipt_row_mismatch"),
    ),
    other(
      "of events",
      "The receipt is of a search of events.",
      { receipt: receipt({ collection: "events" }) },
      noReceipt("receipt_row_mismatch"),
    ),
    other(
      "receipt changed",
      "A bit of the receipt's signature is flipped.",
      { receipt: withFlippedSignature(file["receipt"] ?? null) },
      noReceipt("signature_invalid"),
    ),
    other(
      "served at another time",
      "The source line names another time than the receipt.",
      { source_line: line.replaceAll("10:00:00", "11:00:00").replaceAll("10%3A00%3A00", "11%3A00%3A00") },
      { source_line: "hash_mismatch" },
    ),
    other(
      "no source line",
      "The source line is another text.",
      { source_line: "" },
      {
        source_line: "payload_malformed",
      },
    ),
  ];
}

/** Who the business is. */
function namedCases({ production, sandbox }: World, { other }: Pick<Parts, "other">): readonly VectorCase[] {
  const { service, business } = production;
  const named = (payload: JsonValue, certId: string) => ({
    ...shownPrice(service, business, { change: { adl_origin_cert: certId } }),
    certificate_base64: payload,
  });
  const issued = (facts: Partial<Certificate>) => {
    const { certId, envelope } = issueCertificate(service, { ...business.certificate, ...facts });
    return named((envelope as JsonObject)["payload"] ?? null, certId);
  };
  return [
    other(
      "no certificate",
      "Nothing says the name of the business.",
      { certificate_base64: undefined },
      {
        certificate: "not_checked",
      },
    ),
    other(
      "another certificate",
      "The row names another certificate.",
      { certificate_base64: (sandbox.business.issued.envelope as JsonObject)["payload"] },
      { certificate: "hash_mismatch" },
    ),
    other(
      "certificate of another",
      "The certificate that the row names is of another business.",
      issued({ subject: { kind: "business", uuid: otherUuid } }),
      { certificate: "certificate_unknown" },
    ),
    other(
      "certificate of an AI company",
      "The certificate that the row names is of an AI company.",
      issued({ subject: { kind: "ai_company", uuid: business.uuid } }),
      { certificate: "certificate_unknown" },
    ),
    other(
      "certificate of a sandbox",
      "The certificate that the row names is of the sandbox.",
      issued({ sandbox: true }),
      { certificate: "key_unknown" },
    ),
    other(
      "certificate revoked",
      "The certificate that the row names was revoked.",
      issued({ status: "revoked", status_reason: "key_compromise" }),
      { certificate: "certificate_not_in_force" },
    ),
    other(
      "certificate of later",
      "The certificate that the row names was issued after the row was served.",
      issued({ issued_at: "2030-01-01T00:00:00.000Z" }),
      { certificate: "certificate_not_in_force" },
    ),
    other(
      "certificate unreadable",
      "What the row names is no certificate.",
      named(base64(utf8("{}")), hashOf(utf8("{}"))),
      { certificate: "payload_malformed" },
    ),
  ];
}

/** The certificates of the keys. */
function chainCases(
  { production, sandbox, other: elsewhere }: World,
  { file, other, one }: Parts,
): readonly VectorCase[] {
  const { service } = production;
  const chain = file["key_certificates"] as readonly JsonValue[];
  const certificate = (key: ServiceKey, facts: object = {}) => {
    const link = service.links.find(({ certified }) => certified === key);
    if (link === undefined) throw new Error("A key of the service is certified.");
    return asJson(keyCertificate(service, { ...link, facts }));
  };
  const broken = (name: string, says: string, key_certificates: readonly JsonValue[], reason: Outcome) =>
    one(name, says, { ...file, key_certificates }, { key_chain: reason, key_set: "not_checked" });
  const [issuance = null, projection = null, receipt = null] = chain;
  const half = (kept: number) => withSignatures(receipt, (each) => each.slice(kept, kept + 1));
  return [
    other(
      "with the root's own certificate",
      "A pinned root needs no certificate, and may have one.",
      { key_certificates: [certificate(service.root), ...chain] },
      {},
    ),
    other(
      "in another order",
      "The certificates stand in another order.",
      { key_certificates: chain.toReversed() },
      {},
    ),
    other(
      "without the receipt's key",
      "The certificate of the receipt's key is missing.",
      { key_certificates: [issuance, projection] },
      noReceipt("key_unknown"),
    ),
    other(
      "without the row's key",
      "The certificate of the row's key is missing.",
      { key_certificates: [issuance, receipt] },
      noRow("key_unknown"),
    ),
    other(
      "compromise certified",
      "The certificate of the receipt's key names a compromise.",
      {
        key_certificates: [
          issuance,
          projection,
          certificate(service.receipt, { compromised_from: servedAt }),
        ],
      },
      noReceipt("key_compromised"),
    ),
    broken(
      "without the issuer",
      "The certificate of the issuer is missing.",
      [projection, receipt],
      "trust_chain_broken",
    ),
    broken(
      "with a certificate of others",
      "A further certificate leads to other roots.",
      [
        ...chain,
        (shownPrice(elsewhere, production.business)["key_certificates"] as readonly JsonValue[])[0] ?? null,
      ],
      "trust_chain_broken",
    ),
    broken(
      "certificate changed",
      "A bit of a certificate's signature is flipped.",
      [issuance, projection, withFlippedSignature(receipt)],
      "trust_chain_broken",
    ),
    broken(
      "post-quantum half changed",
      "A bit of the second signature of a certificate is flipped.",
      [issuance, projection, withFlippedSignature(receipt, 1)],
      "trust_chain_broken",
    ),
    broken(
      "one half alone",
      "The ES256 signature stands alone.",
      [issuance, projection, half(0)],
      "post_quantum_required",
    ),
    broken(
      "the other half alone",
      "The ML-DSA signature stands alone.",
      [issuance, projection, half(1)],
      "post_quantum_required",
    ),
    broken(
      "of other roots",
      "The chain leads to other roots.",
      shownPrice(elsewhere, production.business)["key_certificates"] as readonly JsonValue[],
      "trust_chain_broken",
    ),
    broken(
      "of the sandbox",
      "The certificates are of the sandbox.",
      shownPrice(sandbox.service, sandbox.business)["key_certificates"] as readonly JsonValue[],
      "key_unknown",
    ),
    broken(
      "not a certificate",
      "The receipt stands among the certificates.",
      [...chain, file["receipt"] ?? null],
      "payload_type_mismatch",
    ),
  ];
}

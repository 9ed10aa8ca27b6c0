import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import type { IndexRow } from "../../protocol/row.ts";
import { recordBytes, recordId, sidecarEnvelope, sidecarFacts } from "../../verifier/business.fixture.ts";
import { receiptFacts, servedRow } from "../../verifier/retrieval.fixture.ts";
import { document, soleKey } from "../../verifier/service.fixture.ts";
import type { VectorCase } from "./case.ts";
import {
  casesOf,
  otherUuid,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
  withText,
} from "./world.fixture.ts";

const bytes = recordBytes();

export function sidecarCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("sidecar");
  const facts = sidecarFacts(business, bytes);
  const of = (changes: object = {}, subject?: object) => ({
    envelope: sidecarEnvelope(service, { ...facts, ...changes }),
    ...(subject === undefined ? {} : { subject }),
  });
  const terms = { ...facts, v: 1, ai_policy_version: undefined, terms_version: 1 };
  const first = (members: object) => ({
    envelope: document("sidecar.v1", members, soleKey(service.sidecar)),
  });
  const own = of().envelope;
  return [
    good("format 2", "Signed by the sidecar key.", of()),
    good(
      "about this record",
      "It names this record, business and bytes.",
      of({}, { record_id: recordId, business_uuid: business.uuid, hash: facts.sha256 }),
    ),
    good("format 1", "Format 1 names terms.", first(terms)),
    bad("key_unknown", "by the receipt key", "A key of another use signed it.", {
      envelope: sidecarEnvelope(service, facts, soleKey(service.receipt)),
    }),
    bad("key_unknown", "by nobody's key", "A key that is not in the key set signed it.", {
      envelope: sidecarEnvelope(service, facts, world.strangers.ed25519),
    }),
    bad(
      "key_not_valid",
      "before its key",
      "It was published before the sidecar key was valid.",
      of({ published_at: "2025-12-31T00:00:00.000Z" }),
    ),
    bad("signature_invalid", "flipped", "A bit of the signature is flipped.", {
      envelope: withFlippedSignature(own),
    }),
    bad(
      "payload_malformed",
      "mixed formats",
      "Format 2 with a member of format 1.",
      of({ terms_version: 1 }),
    ),
    bad(
      "payload_malformed",
      "format 2 under the type of format 1",
      "The payload's format is not its type's.",
      first(facts),
    ),
    bad("version_unknown", "v", "A format that is not known.", of({ v: 3 })),
    bad("payload_malformed", "seal_ok: false", "It is only issued for a good seal.", of({ seal_ok: false })),
    bad(
      "payload_malformed",
      "an origin that does not exist",
      "A source that is not one of the three.",
      of({ source: "guess" }),
    ),
    bad(
      "hash_mismatch",
      "another record",
      "It is about another record.",
      of({}, { record_id: `svc_${"b".repeat(26)}` }),
    ),
    bad(
      "hash_mismatch",
      "another business",
      "It is about another business.",
      of({}, { business_uuid: otherUuid }),
    ),
    ...(
      [
        ["a permission twice", { scope: { ...facts.scope, permissions: ["publish:jobs", "publish:jobs"] } }],
        ["no permission", { scope: { ...facts.scope, permissions: [] } }],
        ["another form of a permission", { scope: { ...facts.scope, permissions: ["Publish"] } }],
        ["generation 0", { generation: 0 }],
      ] as const
    ).map(([name, changes]) =>
      bad("payload_malformed", name, "A value that the specification does not allow.", of(changes)),
    ),
    bad("hash_mismatch", "other bytes", "It is about other bytes.", of({}, { hash: business.issued.certId })),
    bad("payload_type_mismatch", "a receipt", "A receipt where a sidecar is expected.", {
      envelope: document("receipt.v3", receiptFacts([]), soleKey(service.receipt)),
    }),
  ];
}

export function receiptCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad, under } = casesOf("receipt");
  const row = servedRow(service, business, bytes) as JsonObject;
  const stored = Object.fromEntries(Object.entries(row).filter(([name]) => name !== "ai_policy_bits"));
  const facts = receiptFacts([stored as unknown as IndexRow]);
  const receipt = (
    changes: object = {},
    key = soleKey(service.receipt),
    kind: "receipt.v1" | "receipt.v2" | "receipt.v3" = "receipt.v3",
  ) => document(kind, { ...facts, ...changes }, key);
  const of = (...given: Parameters<typeof receipt>) => ({ envelope: receipt(...given) });
  const termsRows = facts.rows.map(({ ai_policy_version: version, ...rest }) => ({
    ...rest,
    terms_version: version,
  }));
  const second = of({ v: 2, rows: termsRows }, undefined, "receipt.v2");
  const first = of({ v: 1, rows: termsRows, key_id: undefined }, undefined, "receipt.v1");
  const whole = {
    caller_key_id: facts.key_id,
    request_hash: facts.request_hash,
    retrieval_id: facts.retrieval_id,
    rows: [stored],
    whole: true,
  };
  const against = (change: object) => ({ ...of(), rows: [{ ...stored, ...change }] });
  return [
    good("format 3", "Signed by the receipt key of its region.", of()),
    good("for its caller and rows", "It names this caller, request, retrieval and exactly these rows.", {
      ...of(),
      ...whole,
    }),
    good("format 2", "Format 2 names terms, and the caller.", second),
    good("format 2 for its caller", "Format 2 presented by the caller that it names.", {
      ...second,
      caller_key_id: facts.key_id,
    }),
    good("format 1", "Format 1 names terms and no caller.", first),
    good("none of its rows", "The presenter shows none of the rows, and does not say that these are all.", {
      ...of(),
      rows: [],
    }),
    ...(
      [
        ["a long retrieval id", { retrieval_id: "x".repeat(129) }],
        [
          "an AI policy version of 2^31",
          { rows: facts.rows.map((each) => ({ ...each, ai_policy_version: 2 ** 31 })) },
        ],
        ["a short row signature", { rows: facts.rows.map((each) => ({ ...each, adl_row_sig: "AAAA" })) }],
      ] as const
    ).map(([name, changes]) =>
      bad("payload_malformed", name, "A value that the specification does not allow.", of(changes)),
    ),
    bad("receipt_caller_mismatch", "another caller", "Another key presents it.", {
      ...of(),
      caller_key_id: business.system.keyId,
    }),
    bad("receipt_caller_mismatch", "format 2, another caller", "Another key presents it.", {
      ...second,
      caller_key_id: business.system.keyId,
    }),
    bad("receipt_caller_mismatch", "format 1 names no caller", "The caller must be named.", {
      ...first,
      caller_key_id: facts.key_id,
    }),
    bad("receipt_caller_mismatch", "another request", "It answers another request.", {
      ...of(),
      request_hash: stored["adl_origin"],
    }),
    bad("receipt_caller_mismatch", "another retrieval", "It is of another retrieval.", {
      ...of(),
      retrieval_id: "other",
    }),
    bad(
      "receipt_row_mismatch",
      "row: origin",
      "The row has another origin.",
      against({ adl_origin: facts.request_hash }),
    ),
    bad(
      "receipt_row_mismatch",
      "row: signature",
      "The row has another signature.",
      against({ adl_row_sig: `${"A".repeat(86)}==` }),
    ),
    bad(
      "receipt_row_mismatch",
      "row: id",
      "The row is of another record.",
      against({ record_id: `svc_${"b".repeat(26)}` }),
    ),
    bad(
      "receipt_row_mismatch",
      "row: AI policy",
      "The row names another AI policy version.",
      against({ ai_policy_version: 9 }),
    ),
    bad("receipt_row_mismatch", "a row less", "A row that was served is left out.", {
      ...of(),
      rows: [],
      whole: true,
    }),
    bad(
      "key_unknown",
      "another region's key",
      "The receipt key of another region signed it.",
      of({}, soleKey(service.otherReceipt)),
    ),
    bad(
      "key_unknown",
      "another region",
      "It names another region than its key's.",
      of({ region: "us-east1" }),
    ),
    bad(
      "key_unknown",
      "by the sidecar key",
      "A key of another use signed it.",
      of({}, soleKey(service.sidecar)),
    ),
    bad(
      "key_unknown",
      "by nobody's key",
      "A key that is not in the key set signed it.",
      of({}, world.strangers.ed25519),
    ),
    bad("payload_malformed", "terms in format 3", "Rows of format 1 in format 3.", of({ rows: termsRows })),
    bad(
      "payload_malformed",
      "format 3 under the type of format 2",
      "The payload's format is not its type's.",
      of({}, undefined, "receipt.v2"),
    ),
    bad(
      "payload_malformed",
      "AI policy in format 2",
      "Rows of format 3 in format 2.",
      of({ v: 2 }, undefined, "receipt.v2"),
    ),
    bad(
      "payload_malformed",
      "no caller in format 3",
      "Format 3 names the caller.",
      of({ key_id: undefined }),
    ),
    bad("payload_malformed", "further member", "A member that receipts do not have.", of({ note: "x" })),
    bad("version_unknown", "v", "A format that is not known.", of({ v: 4 })),
    bad("envelope_malformed", "two signatures", "It carries exactly one.", {
      envelope: withSignatures(receipt(), (each) => [...each, ...each]),
    }),
    bad("signature_invalid", "changed after signing", "Another instant under the same signature.", {
      envelope: withPayloadOf(receipt(), receipt({ served_at: "2026-03-05T10:00:00.001Z" })),
    }),
    bad("payload_malformed", "not canonical", "A space in the payload's JSON.", {
      envelope: withText(receipt(), (text) => text.replace(",", ", ")),
    }),
    under("receipt-key-ended").bad(
      "key_not_valid",
      "key ended",
      "The receipt key ended when it was served.",
      of(),
    ),
    under("receipt-key-compromised").bad(
      "key_compromised",
      "key compromised",
      "The receipt key was compromised when it was served.",
      of(),
    ),
    under("receipt-key-compromised").good(
      "before the compromise",
      "It was served a millisecond before the compromise.",
      of({ served_at: "2026-03-05T09:59:59.999Z" }),
    ),
  ];
}

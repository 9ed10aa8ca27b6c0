// Signed documents and JSON: what is read must be what was written, and a changed document must not verify.

import referenceCanonical from "canonicalize";
import { type Node as JsonNode, parseTree } from "jsonc-parser";
import { aiPolicyBytes, parseAiPolicy } from "../../protocol/ai-policy.ts";
import { parseEnvelope, parsePayload } from "../../protocol/dsse.ts";
import { collectionNames, type ShownType } from "../../protocol/identifiers.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { parseAnchors } from "../../protocol/keys/anchors.ts";
import { parseBusinessKeys } from "../../protocol/keys/business-keys.ts";
import { parseCertificate } from "../../protocol/keys/certificate.ts";
import { parseCustodyRequest, parseKeyCustody } from "../../protocol/keys/key-directory.ts";
import { parseKeySet } from "../../protocol/keys/key-set.ts";
import { parseMandate } from "../../protocol/mandate.ts";
import { openReceipt } from "../../protocol/receipt.ts";
import { parseRecord } from "../../protocol/records/parse-record.ts";
import { sampleAd, sampleRecords } from "../../protocol/records/records.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { batchSealV2, openBatchSeal, openSeal, parseRecordSeal, sealV2 } from "../../protocol/seal.ts";
import { openSidecar } from "../../protocol/signed-version.ts";
import { withdrawalDocument } from "../../protocol/withdrawal.fixture.ts";
import { holdDecisionFormat, parseWithdrawal } from "../../protocol/withdrawal.ts";
import { isRefused } from "../../service/answer.ts";
import { parsePublishBody } from "../../service/publishing/publish-batch.ts";
import {
  batchSeal,
  passkeySeal,
  policyRecord,
  publishedKeys,
  recordBytes,
  recordId,
  sealedDecision,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { receiptFacts, searchBody, servedRow } from "../../verifier/retrieval.fixture.ts";
import { held, makeScene } from "../../verifier/scene.fixture.ts";
import { document, keySetAnswer, soleKey } from "../../verifier/service.fixture.ts";
import { type FuzzTarget, must, mustEqual, outcomeOf } from "./target.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
const { service, business, verifier } = makeScene();
const bytes = recordBytes();
const row = servedRow(service, business, bytes);
const receipt = document(
  "receipt.v3",
  receiptFacts([held(verifier.rowSignature(row))]),
  soleKey(service.receipt),
);
const jsonWords = [
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "null",
  "true",
  "1e999",
  "-0",
  "\\u0000",
  "\\ud800",
  "\\u0061",
  "__proto__",
  '"v":2',
  "0.1",
  "\u2028",
  "sha256:",
  "==",
];

const strictJson: FuzzTarget = {
  name: "strict-json",
  seeds: [
    '{"a":[1,2.5,-0,1e3],"b":{"c":null,"\\u0064":"\\ud83d\\ude00"},"a ":""}',
    '[[[[]]],"x",true]',
    '{"__proto__":{"a":1},"constructor":2}',
  ].map(utf8),
  words: jsonWords,
  check: (input) => {
    const parsed = parseStrictJson(input);
    const written = text(input);
    if (parsed.ok) {
      // Not JSON.parse: V8 gives some escaped names the name of one that it read before (nodejs/node issue 63785).
      mustEqual(parsed.value, valueIn(parseTree(written)), "the value");
      must(!hasDuplicates(parseTree(written)), "a member that occurs twice was read once");
      mustEqual(canonicalize(parsed.value), referenceCanonical(parsed.value), "the canonical form");
    } else if (parsed.code === "json_malformed") {
      must(!isFiniteJson(written), `JSON was refused: ${parsed.detail}`);
    } else if (parsed.code === "member_duplicated") {
      must(hasDuplicates(parseTree(written)), "no member occurs twice");
    }
    return outcomeOf(parsed);
  },
};

/**
 * JSON whose numbers are all finite: `JSON.parse` reads 1e400 as infinity, which no JSON text expresses. The numbers come
 * from the reference parser's tree, which also holds members that a later one of the same name hides from `JSON.parse`.
 */
function isFiniteJson(written: string): boolean {
  try {
    JSON.parse(written);
  } catch {
    return false;
  }
  return hasFiniteNumbers(parseTree(written));
}

function hasFiniteNumbers(node: JsonNode | undefined): boolean {
  if (node?.type === "number") return Number.isFinite(node.value);
  return (node?.children ?? []).every(hasFiniteNumbers);
}

/** The value that the reference parser read, with `__proto__` as an ordinary member. */
function valueIn(node: JsonNode | undefined): unknown {
  if (node?.type === "array") return (node.children ?? []).map(valueIn);
  if (node?.type !== "object") return node?.value as unknown;
  const members = (node.children ?? []).map(({ children = [] }) => [
    children[0]?.value,
    valueIn(children[1]),
  ]);
  return Object.fromEntries(members) as unknown;
}

function hasDuplicates(node: JsonNode | undefined): boolean {
  if (node?.children === undefined) return false;
  if (node.type === "object") {
    const names = node.children.map((property) => String(property.children?.[0]?.value));
    if (new Set(names).size < names.length) return true;
  }
  return node.children.some(hasDuplicates);
}

type Opened = { readonly ok: true } | { readonly ok: false; readonly code: string; readonly detail: string };

const envelopes = [
  passkeySeal(business, bytes),
  batchSeal(business, [bytes, utf8("{}")], 0),
  sidecarEnvelope(service, sidecarFacts(business, bytes)),
  receipt,
  business.issued.envelope,
  sealedMandate(business),
  sealedDecision(business),
  publishedKeys(service, business),
  keySetAnswer(service),
] as readonly unknown[];

const envelopeTarget: FuzzTarget = {
  name: "envelopes",
  seeds: envelopes.map((each) => utf8(JSON.stringify(each))),
  words: [
    ...jsonWords,
    '"payloadType":""',
    '"signatures":[]',
    "application/vnd.svc.",
    "+json",
    '"clientDataJSON":"e30="',
  ],
  check: (input) => {
    const parsed = parseStrictJson(input);
    if (!parsed.ok) return "no JSON";
    const asSeal = parseRecordSeal(parsed.value);
    const envelope = parseEnvelope(parsed.value);
    if (!envelope.ok) return `${outcomeOf(asSeal)} ${outcomeOf(envelope)}`;
    // The parsed envelope contains everything that is in the input.
    mustEqual(canonicalize(rubbish(envelope.value)), canonicalize(parsed.value), "the envelope");
    const opened: readonly Opened[] = [openSeal, openBatchSeal, openSidecar, openReceipt].map((open) =>
      open(envelope.value),
    );
    must(opened.filter((each) => each.ok).length <= 1, "one document was read as two kinds");
    return opened.map(outcomeOf).join(" ");
  },
};

const payloadParsers = [
  (payload) => parsePayload(payload, sealV2),
  (payload) => parsePayload(payload, batchSealV2),
  parseMandate,
  (payload) => parsePayload(payload, holdDecisionFormat),
  parseCustodyRequest,
  parseCertificate,
  parseBusinessKeys,
  parseKeySet,
  parseKeyCustody,
  parseAiPolicy,
] as readonly ((payload: Uint8Array) => Opened & { readonly value?: unknown })[];

const payloads: FuzzTarget = {
  name: "payloads",
  seeds: [
    ...envelopes.flatMap((each) => payloadsIn(each)),
    aiPolicyBytes(policyRecord()),
    utf8(
      JSON.stringify({
        v: 1,
        business_uuid: business.uuid,
        custody: "self",
        effective_from: "2026-01-01T00:00:00.000Z",
        issued_at: "2026-01-01T00:00:00.000Z",
        key_id: "k".repeat(43),
      }),
    ),
  ],
  words: jsonWords,
  check: (input) => {
    const outcomes = payloadParsers.map((parse) => parse(input));
    for (const [at, outcome] of outcomes.entries()) {
      // A payload that is accepted is canonical: nothing in it was left unread. An AI policy is a record, which is sealed as it is.
      if (outcome.ok && payloadParsers[at] !== parseAiPolicy)
        mustEqual(canonicalize(JSON.parse(text(input))), text(input), "the canonical form");
    }
    must(outcomes.filter((each) => each.ok).length <= 1, "one payload was read as two kinds");
    return outcomes.map(outcomeOf).join(" ").slice(0, 200);
  },
};

function payloadsIn(value: unknown): readonly Uint8Array[] {
  if (value === null || typeof value !== "object") return [];
  const { payload } = value as { readonly payload?: unknown };
  const own = typeof payload === "string" ? [Uint8Array.fromBase64(payload)] : [];
  return [...own, ...Object.values(value).flatMap(payloadsIn)];
}

const genuineReceipt = canonicalize(receipt);
const receipts: FuzzTarget = {
  name: "receipts",
  seeds: [utf8(genuineReceipt), utf8(JSON.stringify(envelopes[2]))],
  words: jsonWords,
  check: (input) => {
    const parsed = parseStrictJson(input);
    if (!parsed.ok) return "no JSON";
    const verdict = verifier.receipt(parsed.value as JsonValue, {});
    if (verdict.ok) mustEqual(canonicalize(parsed.value), genuineReceipt, "a receipt that nobody signed");
    return outcomeOf(verdict);
  },
};

const answers: FuzzTarget = {
  name: "search-answers",
  seeds: [utf8(searchBody(service, business, bytes))],
  words: jsonWords,
  check: (input) => {
    const parsed = parseStrictJson(input);
    if (!parsed.ok) return "no JSON";
    const rows = (parsed.value as { rows?: readonly JsonValue[] } | null)?.rows;
    const verdict =
      Array.isArray(rows) && rows[0] !== undefined ? verifier.rowSignature(rows[0] as JsonValue) : null;
    if (verdict?.ok)
      mustEqual(
        verdict.value.adl_origin,
        (row as { adl_origin: string }).adl_origin,
        "a row that nobody signed",
      );
    return verdict === null ? "no row" : outcomeOf(verdict);
  },
};

const recordTypes: readonly ShownType[] = [...collectionNames, "ads"];

const records: FuzzTarget = {
  name: "records",
  seeds: [...Object.values(sampleRecords), sampleAd].map((record) => utf8(JSON.stringify(record))),
  words: [
    ...jsonWords,
    "svc/products/1",
    '"amount":"1e9"',
    '"countries":["US","US"]',
    "https://",
    "2026-13-01",
    "\u{e0041}",
    "\u202e",
  ],
  check: (input) => {
    const outcomes = recordTypes.map((name) => parseRecord(name, input));
    must(outcomes.filter((each) => each.ok).length <= 1, "one record was read as two types");
    return outcomes
      .map((each) => (each.ok ? "ok" : each.faults.map((fault) => fault.code).join("+")))
      .join(" ")
      .slice(0, 200);
  },
};

const withdrawals: FuzzTarget = {
  name: "withdrawals",
  seeds: [withdrawalDocument({ record_id: recordId, action: "withdraw", at: "2026-03-01T12:00:00.000Z" })],
  words: [...jsonWords, "delete", "withdraw"],
  check: (input) => {
    const parsed = parseWithdrawal(input);
    if (parsed.ok)
      mustEqual(text(withdrawalDocument(parsed.value)), text(input), "the document, written again");
    return outcomeOf(parsed);
  },
};

const sealOfBatch = (batchSeal(business, [bytes, utf8("{}")], 0) as JsonObject)["batch_seal"];

const bodies: FuzzTarget = {
  name: "publish-body",
  seeds: [
    utf8(JSON.stringify({ batch_seal: sealOfBatch, records: ["e30=", "AAAA"] })),
    utf8(JSON.stringify({ batch_seal: sealOfBatch, records: Array.from({ length: 200 }, () => "AA==") })),
    utf8('{"records":["AA==" , "\\u0041AAA"],"batch_seal":{}}'),
  ],
  words: [...jsonWords, '"records":[', '"AAAA",', '"batch_seal"', "\\/", '\\"'],
  check: async (input) => {
    const outcome = await parsePublishBody(input, () => Promise.resolve());
    const strict = parseStrictJson(input);
    if (isRefused(outcome))
      return `${outcome.problem.code} ${outcome.problem.detail.replaceAll(/[0-9]+|"[^"]*"/g, "#").slice(0, 60)}`;
    must(strict.ok, "a body that is no strict JSON was read");
    const written = (strict.ok ? strict.value : null) as { readonly records: readonly string[] };
    mustEqual(
      outcome.records.map((record) => record.toBase64()),
      written.records,
      "the records",
    );
    return `ok ${Math.min(outcome.records.length, 3)}`;
  },
};

const anchors: FuzzTarget = {
  name: "anchors-and-evidence",
  seeds: [utf8(JSON.stringify(service.anchors))],
  words: jsonWords,
  check: (input) => {
    const parsed = parseStrictJson(input);
    return parsed.ok ? outcomeOf(parseAnchors(parsed.value)) : "no JSON";
  },
};

export const documentTargets: readonly FuzzTarget[] = [
  strictJson,
  envelopeTarget,
  payloads,
  receipts,
  answers,
  records,
  withdrawals,
  bodies,
  anchors,
];

// Test support: every kind of answer that is verified whole, and evidence files of them, each with its judge.

import { utf8 } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { SignatureVerifier } from "../protocol/keys/signatures.ts";
import { adRenderMs } from "../protocol/limits.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import type { IndexRow } from "../protocol/row.ts";
import type { AnswerName } from "../protocol/unsigned-members.ts";
import { makeAdItem } from "./ad.fixture.ts";
import {
  batchSeal,
  passkeySeal,
  publishedKeys,
  recordBytes,
  recordId,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "./business.fixture.ts";
import { type EvidenceTexts, evidenceText } from "./evidence.ts";
import { type Report, reportOf } from "./members.ts";
import {
  callerKeyId,
  fetchBody,
  receiptFacts,
  searchBody,
  servedAt,
  shownPrice,
} from "./retrieval.fixture.ts";
import { held, makeScene } from "./scene.fixture.ts";
import { certificateAnswer, custodyAnswer, document, keySetAnswer, soleKey } from "./service.fixture.ts";
import { answerWith, directoryFacts, pageFacts, statedAt, statementFacts } from "./stated.fixture.ts";
import { type StatedAnswer, statedAnswer, verifyStatedAnswer } from "./stated-answer.ts";
import { createVerifier, verifyEvidence, verifyOnce } from "./verifier.ts";

export interface Subject {
  readonly name: string;
  /** Null for an answer whose members are all signed. */
  readonly answer: AnswerName | null;
  readonly value: JsonValue;
  readonly judge: (text: Uint8Array) => Report;
  /** Where the answer is in the value. */
  readonly within: readonly string[];
  /** What a file need not say: without it, less is judged, and nothing else is believed. */
  readonly saysLess: readonly RegExp[];
  /** The checks whose evidence is not given. */
  readonly open: RegExp;
}

const bytes = recordBytes();
const requestHash = receiptFacts([]).request_hash;
const fileId = `bf_${"c".repeat(26)}`;

export async function memberSubjects(crypto: {
  readonly verify: SignatureVerifier;
}): Promise<readonly Subject[]> {
  const scene = makeScene();
  const { service, business } = scene;
  const keySet = keySetAnswer(service);
  const verify = verifyOnce(crypto.verify);
  const { anchors } = service;
  const verifier = held(createVerifier({ anchors, keySet, verify }));
  const { mandate, ...evidence } = evidenceOf(scene);
  const fileOf = (answer: EvidenceTexts["answer"], more: object = {}) =>
    evidenceText({
      environment: "production",
      answer,
      keySet: JSON.stringify(keySet),
      callerKeyId,
      requestHash,
      ...more,
    });
  const about = {
    certificate: JSON.stringify(evidence.certificate),
    businessKeys: JSON.stringify(evidence.businessKeys),
    keyCustody: JSON.stringify(evidence.keyCustody),
    mandate: JSON.stringify(mandate),
  };
  const judgeFile = (file: Uint8Array) => verifyEvidence({ anchors, verify }, file);
  const search = searchBody(service, business, bytes);
  const others = recordBytes({ product_name: "Assam" });
  const fetched = fetchBody(service, business, bytes, { seal: batchSeal(business, [others, bytes], 1) });
  const ads = await pool(scene);
  const { key_certificates, ...unchained } = shownPrice(service, business);
  const { certificate_base64: _, ...unnamed } = unchained;
  const presented = [/^caller_key_id$/, /^request_hash$/];
  return [
    ...statedSubjects(scene, verify),
    subject("a search answer", "search", search, (body) => verifier.searchAnswer(body, { callerKeyId })),
    subject("a fetched product", "fetch", fetched, (body) =>
      verifier.fetchAnswer(body, { ...evidence, mandate, requestHash }),
    ),
    subject("a fetched business file", "fetch", businessFile(scene), (body) =>
      verifier.fetchAnswer(body, evidence),
    ),
    subject(
      "a record of a catalogue",
      "catalogue",
      catalogueBody(scene),
      (body) => verifier.catalogueAnswer(body, { ...evidence, mandate, businessUuid: business.uuid }),
      {
        open: /^ai_policy$/,
      },
    ),
    subject("a pool of ads", "ad_pool", ads, (body) => verifier.poolAnswer(body), { open: /\/images$/ }),
    subject("evidence of a pool", "ad_pool", fileOf({ kind: "pool", text: ads }), judgeFile, {
      within: ["pool"],
      saysLess: presented,
      open: /\/images$/,
    }),
    subject("evidence of a search", "search", fileOf({ kind: "search", text: search }), judgeFile, {
      within: ["search"],
      saysLess: presented,
    }),
    subject("a shown price by a key set", "shown_price", JSON.stringify(unchained), (file) =>
      verifyEvidence({ anchors, verify, keySet }, file),
    ),
    subject(
      "a shown price by its chain",
      "shown_price",
      JSON.stringify({ ...unnamed, key_certificates }),
      judgeFile,
      {
        open: /^(?:key_set|certificate)$/,
        // A certificate that is repeated says nothing new; without one, a key is unknown.
        saysLess: [/^key_certificates\/\d+$/],
      },
    ),
    subject("evidence of a product", "fetch", fileOf({ kind: "fetched", text: fetched }, about), judgeFile, {
      within: ["fetched"],
      // A statement that is left out makes the custody `unstated`, and one that is repeated says nothing new.
      saysLess: [
        ...presented,
        /^(?:ai_policy_)?record_base64$/,
        /^mandate$/,
        /^key_custody\/statements\/\d+$/,
      ],
    }),
  ];
}

function subject(
  name: string,
  answer: AnswerName | null,
  text: string,
  judge: Subject["judge"],
  more: Partial<Subject> = {},
): Subject {
  const value = JSON.parse(text) as JsonValue;
  return { name, answer, value, judge, within: [], saysLess: [], open: /^$/, ...more };
}

/** Saved answers with a statement of the service. */
function statedSubjects({ service, business }: World, verify: SignatureVerifier): readonly Subject[] {
  const options = { anchors: service.anchors, keySet: keySetAnswer(service), verify };
  const keys = [soleKey(service.statement)];
  const judge = (file: Uint8Array) => {
    const answer = statedAnswer(file);
    return answer === null
      ? reportOf([])
      : verifyStatedAnswer(options, answer, {
          at: statedAt,
          ...(isOfRecord(answer) ? { record: bytes } : {}),
        });
  };
  const isOfRecord = ({ kind }: StatedAnswer) => kind === "page" || kind === "statement";
  const statement = { ...statementFacts(bytes), valid: true, seal: null };
  const { v: _, record_hash: __, ...shown } = statement;
  const files = {
    "a verification": answerWith("verify-statement.v1", statement, { keys, shown }),
    "a verify page": answerWith("verify-page.v1", pageFacts(business, bytes), { keys }),
    "a key directory": answerWith("key-directory.v1", directoryFacts(business.system), { keys }),
  };
  return Object.entries(files).map(([name, file]) => subject(name, null, JSON.stringify(file), judge));
}

/** What is published of the business, and who presents the answers. */
function evidenceOf({ service, business }: World) {
  const custody = {
    v: 1,
    business_uuid: business.uuid,
    key_id: business.system.keyId,
    custody: "self",
    issued_at: "2026-02-01T00:00:00.000Z",
    effective_from: "2026-02-01T00:00:00.000Z",
  };
  const statement = document("key-custody.v1", custody, ...service.issuance.halves);
  return {
    certificate: certificateAnswer(business.issued.envelope),
    businessKeys: publishedKeys(service, business),
    keyCustody: custodyAnswer(business.uuid, [statement]),
    mandate: sealedMandate(business),
    callerKeyId,
  };
}

type World = Pick<ReturnType<typeof makeScene>, "service" | "business">;

/** Sealed by a person. */
function businessFile({ service, business }: World): string {
  const { represent_us, endpoints, ...others } = sampleRecords.business_files;
  const file = utf8(JSON.stringify({ ...others, represent_us, endpoints }));
  const type = "business_files";
  const facts = sidecarFacts(business, file);
  const sidecar = {
    ...facts,
    path: "B",
    batch_id: null,
    record_id: fileId,
    record_type: type,
    source: "manual",
    sealed_by_key_id: business.passkey.keyId,
    scope: {
      basis: "role",
      kind: "passkey",
      key_id: business.passkey.keyId,
      mandate_id: null,
      permissions: [`publish:${type}`],
    },
  };
  return fetchBody(service, business, file, {
    row: { collection: type, recordId: fileId },
    seal: passkeySeal(business, file, { record_type: type }),
    sidecar: sidecarEnvelope(service, sidecar),
    represent_us,
    endpoints: { status: "authorised", items: endpoints },
  });
}

function catalogueBody({ business }: World): string {
  const others = [recordBytes({ product_name: "Assam" }), bytes];
  const members = {
    record_id: recordId,
    business_product_id: JSON.parse(text(bytes)).business_product_id,
    type: "products",
    record: null,
    seal: batchSeal(business, others, 1),
    live_in: ["eu-west1"],
    last_updated: "2026-03-01T12:00:02.000Z",
    source: "api",
  };
  return JSON.stringify(members).replace('"record":null', () => `"record":${text(bytes)}`);
}

const text = (given: Uint8Array): string => new TextDecoder().decode(given);

async function pool({ service, business }: World): Promise<string> {
  const items = [await makeAdItem(service, business)];
  const rows = items.map((item) => item["row"] as unknown as IndexRow);
  const facts = { ...receiptFacts(rows), kind: "ad_pool", collection: null };
  const answer: JsonObject = {
    retrieval_id: facts.retrieval_id,
    country: "DE",
    subdivision: "DE-BE",
    ads: items,
    render_until: formatTimestamp(Date.parse(servedAt) + adRenderMs),
    receipt: document("receipt.v3", facts, soleKey(service.receipt)),
  };
  return JSON.stringify(answer);
}

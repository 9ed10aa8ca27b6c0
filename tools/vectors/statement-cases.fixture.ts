// Cases about what the statement key signs: verify statements, verify pages and the key directory.

import { type PayloadKind, payloadTypes } from "../../protocol/dsse.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { recordBytes, recordId } from "../../verifier/business.fixture.ts";
import { altered } from "../../verifier/scene.fixture.ts";
import { document, soleKey } from "../../verifier/service.fixture.ts";
import type { TestKey } from "../../verifier/signing.fixture.ts";
import {
  answerWith,
  directoryFacts,
  pageFacts,
  removalFacts,
  statementFacts,
} from "../../verifier/stated.fixture.ts";
import type { CheckName, VectorCase } from "./case.ts";
import {
  base64,
  casesOf,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
} from "./world.fixture.ts";

const bytes = recordBytes();

interface Kind {
  readonly check: CheckName;
  readonly kind: PayloadKind;
  readonly facts: object;
  /** The members of the answer beside the statement. */
  readonly shown: object;
  readonly instant: string;
}

/** What holds for each document that the statement key signs. */
function commonCases(world: World, { check, kind, facts, shown, instant }: Kind): readonly VectorCase[] {
  const { good, bad, under } = casesOf(check);
  const { service } = world.production;
  const signer = soleKey(service.statement);
  const of = (changes: object = {}, key: TestKey = signer) => ({
    answer: document(kind, { ...facts, ...changes }, key),
  });
  const own = of().answer;
  const answer = (given: object) => ({ answer: answerWith(kind, facts, { keys: [signer], shown: given }) });
  const mark = check === "statement" ? { sandbox: true } : {};
  const theirs = { answer: document(kind, { ...facts, ...mark }, soleKey(world.sandbox.service.statement)) };
  const elsewhere = kind === "verify-page.v1" ? "key-directory.v1" : "verify-page.v1";
  return [
    good("alone", "The envelope alone.", of()),
    good("in its answer", "The whole answer, which says the same beside it.", answer(shown)),
    bad(
      "payload_malformed",
      "another answer",
      "The answer says something else than the envelope.",
      answer({ ...shown, [instant]: "2026-07-02T08:00:00.000Z" }),
    ),
    bad(
      "payload_malformed",
      "a member more beside it",
      "The answer has a further member.",
      answer({ ...shown, more: 1 }),
    ),
    bad("signature_invalid", "flipped", "A bit of the signature is flipped.", {
      answer: withFlippedSignature(own),
    }),
    bad("signature_invalid", "changed after signing", "Another instant under the same signature.", {
      answer: withPayloadOf(own, of({ [instant]: "2026-08-01T08:00:00.000Z" }).answer),
    }),
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
    bad("envelope_malformed", "two signatures", "It carries exactly one.", {
      answer: withSignatures(own, (each) => [...each, ...each]),
    }),
    bad("envelope_malformed", "further member", "A member that envelopes do not have.", {
      answer: { ...(own as JsonObject), more: 1 },
    }),
    bad("payload_type_mismatch", "another document", "Another kind of document.", {
      answer: document(elsewhere, facts, signer),
    }),
    bad("signature_invalid", "relabelled", "Another kind of document under this type.", {
      answer: { ...(document(elsewhere, facts, signer) as JsonObject), payloadType: payloadTypes[kind] },
    }),
    bad(
      "key_not_valid",
      "before its key",
      "It was stated before the statement key was valid.",
      of({ [instant]: "2025-12-31T23:59:59.999Z" }),
    ),
    under("statement-key-compromised").bad(
      "key_compromised",
      "key compromised",
      "The statement key was compromised when it was stated.",
      of(),
    ),
    bad("key_unknown", "of the sandbox", "The sandbox states it, and the anchors are production's.", theirs),
    under("sandbox").good("in the sandbox", "The sandbox states it under its own anchors.", theirs),
    bad(
      "payload_malformed",
      "further member in it",
      "A member that the payload does not have.",
      of({ kind: "x" }),
    ),
    bad(
      "payload_malformed",
      "a member less",
      "It does not say when it was stated.",
      of({ [instant]: undefined }),
    ),
    bad("version_unknown", "v", "A format that is not known.", of({ v: 2 })),
  ];
}

const aboutEntitlement = {
  seal: null,
  log_inclusion: null,
  entitlement: {
    valid: false,
    reason: "entitlement_expired",
    detail: "It is over.",
    pointer: "/valid_until",
  },
};

export function statementCases(world: World): readonly VectorCase[] {
  const { good, bad } = casesOf("statement");
  const facts = statementFacts(bytes);
  const { v: _v, record_hash: _hash, ...shown } = facts;
  const signer = soleKey(world.production.service.statement);
  const answer = document("verify-statement.v1", facts, signer);
  return [
    ...commonCases(world, {
      check: "statement",
      kind: "verify-statement.v1",
      facts,
      shown,
      instant: "checked_at",
    }),
    good("about these bytes", "It is about these bytes.", { answer, record_base64: base64(bytes) }),
    bad("hash_mismatch", "about other bytes", "It is about other bytes.", {
      answer,
      record_base64: base64(altered(bytes)),
    }),
    good("about an entitlement", "It says what was found about an entitlement.", {
      answer: document("verify-statement.v1", { ...facts, ...aboutEntitlement }, signer),
    }),
    bad("key_unknown", "mark of the sandbox", "The mark of the sandbox, by production's key.", {
      answer: document("verify-statement.v1", { ...facts, sandbox: true }, signer),
    }),
  ];
}

export function pageCases(world: World): readonly VectorCase[] {
  const { good, bad } = casesOf("page");
  const { business, service } = world.production;
  const facts = pageFacts(business, bytes);
  const of = (changes: object = {}) => ({
    answer: document("verify-page.v1", { ...facts, ...changes }, soleKey(service.statement)),
  });
  const removed = (changes: Parameters<typeof removalFacts>[1]) =>
    of({ removal: removalFacts(business, changes) });
  return [
    ...commonCases(world, {
      check: "page",
      kind: "verify-page.v1",
      facts,
      shown: facts,
      instant: "checked_at",
    }),
    good("about this record", "It is about this record and these bytes.", {
      ...of(),
      record_base64: base64(bytes),
      record_id: recordId,
    }),
    bad("hash_mismatch", "about other bytes", "It is about other bytes.", {
      ...of(),
      record_base64: base64(altered(bytes)),
    }),
    bad("hash_mismatch", "about another record", "It is about another record.", {
      ...of(),
      record_id: `svc_${"b".repeat(26)}`,
    }),
    bad("record_type_mismatch", "type", "The record id is of another type.", of({ record_type: "events" })),
    good("removal", "A withdrawal of its record, sealed over that document.", removed({})),
    bad(
      "payload_malformed",
      "removal of another record",
      "The withdrawal is of another record.",
      removed({ document: { record_id: `svc_${"b".repeat(26)}` } }),
    ),
    bad(
      "payload_malformed",
      "removal of another action",
      "The document says another action.",
      removed({ document: { action: "delete" } }),
    ),
    bad(
      "hash_mismatch",
      "removal over other bytes",
      "The seal is over another document.",
      removed({ sealed: { hash: `sha256:${"0".repeat(64)}` } }),
    ),
    bad(
      "record_type_mismatch",
      "removal of another type",
      "The seal is for another record type.",
      removed({ sealed: { record_type: "events" } }),
    ),
    bad(
      "payload_malformed",
      "removal's document",
      "The document is none.",
      of({ removal: { ...removalFacts(business), document_base64: base64(new TextEncoder().encode("{}")) } }),
    ),
  ];
}

export function directoryCases(world: World): readonly VectorCase[] {
  const { bad } = casesOf("key_directory");
  const at = casesOf("listed_key_at");
  const { ed25519, p256 } = world.strangers;
  const signer = soleKey(world.production.service.statement);
  const facts = directoryFacts(ed25519, p256);
  const [company] = facts.companies;
  const [first, second] = company?.keys ?? [];
  const of = (companies: object) => ({
    answer: document("key-directory.v1", { ...facts, companies }, signer),
  });
  const withKeys = (...keys: readonly object[]) => of([{ ...company, keys }]);
  const other = { ...company, ai_company_uuid: "10000000-0000-4000-8000-000000000002" };
  const asked = (instant: string, key_id = ed25519.keyId) => ({
    ...of(facts.companies),
    key_id,
    at: instant,
  });
  return [
    ...commonCases(world, {
      check: "key_directory",
      kind: "key-directory.v1",
      facts,
      shown: facts,
      instant: "issued_at",
    }),
    bad(
      "payload_malformed",
      "a company twice",
      "A company is listed twice.",
      of([{ ...company, keys: [] }, company]),
    ),
    bad(
      "payload_malformed",
      "a key of two companies",
      "A key is listed of two companies.",
      of([company, other]),
    ),
    bad("payload_malformed", "a key twice", "A key is listed twice.", withKeys({ ...first }, { ...first })),
    bad(
      "payload_malformed",
      "thumbprint",
      "A key under another key's thumbprint.",
      withKeys({ ...first, key_id: second?.key_id }),
    ),
    bad(
      "payload_malformed",
      "algorithm",
      "A key under another algorithm.",
      withKeys({ ...first, alg: "ES256" }),
    ),
    bad(
      "payload_malformed",
      "source",
      "A source that does not exist.",
      withKeys({ ...first, source: "guessed" }),
    ),
    at.good("within its window", "Whose the key was at that instant.", asked("2026-03-01T00:00:00.000Z"), {
      value: company?.ai_company_uuid ?? "",
    }),
    at.bad(
      "key_not_valid",
      "before its window",
      "A millisecond before the key's window.",
      asked("2026-01-31T23:59:59.999Z"),
    ),
    at.bad(
      "key_not_valid",
      "at its end",
      "At the end of the key's window.",
      asked("2026-06-01T00:00:00.000Z"),
    ),
    at.bad(
      "key_unknown",
      "not listed",
      "A key that is not listed.",
      asked("2026-03-01T00:00:00.000Z", signer.keyId),
    ),
  ];
}

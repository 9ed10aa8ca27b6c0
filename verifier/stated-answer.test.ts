import { describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { recordBytes } from "./business.fixture.ts";
import type { Report } from "./members.ts";
import { altered, makeScene } from "./scene.fixture.ts";
import { keySetAnswer, soleKey } from "./service.fixture.ts";
import { makeKey } from "./signing.fixture.ts";
import {
  answerWith,
  directoryFacts,
  entitlementFacts,
  pageFacts,
  statedAt,
  statementFacts,
} from "./stated.fixture.ts";
import { statedAnswer, verifyStatedAnswer } from "./stated-answer.ts";

const { service, business } = makeScene();
const bytes = recordBytes();
const keys = [soleKey(service.statement)];
const options = { anchors: service.anchors, keySet: keySetAnswer(service) };

const bad = statementFacts(bytes);
const good = { ...bad, valid: true, seal: null };
const findingsOf = ({ v: _v, record_hash: _hash, ...shown }: typeof bad) => shown;
const fileOf = {
  statement: (facts: typeof bad) =>
    answerWith("verify-statement.v1", facts, { keys, shown: findingsOf(facts) }),
  page: (changes: object = {}, by = keys) =>
    answerWith("verify-page.v1", { ...pageFacts(business, bytes), ...changes }, { keys: by }),
  entitlement: () => {
    const facts = entitlementFacts(makeKey("Ed25519"));
    const { v: _v, ...shown } = facts;
    return answerWith("entitlement.v1", facts, { keys, shown });
  },
  directory: () => answerWith("key-directory.v1", directoryFacts(makeKey("Ed25519")), { keys }),
};

function reportOf(file: object, record?: Uint8Array, from = options): Report {
  const answer = statedAnswer(utf8(JSON.stringify(file)));
  if (answer === null) throw new Error("The file holds a statement.");
  return verifyStatedAnswer(from, answer, { at: statedAt, ...(record === undefined ? {} : { record }) });
}

const states = ({ checks }: Report) => checks.map(({ name, state, reason }) => [name, reason ?? state]);

describe("a saved answer", () => {
  it("that states something good about the record at hand is valid and complete", () => {
    for (const file of [fileOf.statement(good), fileOf.page()])
      expect(reportOf(file, bytes)).toMatchObject({ valid: true, complete: true });
    for (const file of [fileOf.directory(), fileOf.entitlement()])
      expect(reportOf(file)).toMatchObject({ valid: true, complete: true });
  });

  it("with an entitlement is judged at the instant that is asked for", () => {
    const answer = statedAnswer(utf8(JSON.stringify(fileOf.entitlement())));
    if (answer === null) throw new Error("The file holds an entitlement.");
    const report = verifyStatedAnswer(options, answer, { at: "2026-07-02T08:00:00.000Z" });
    expect(states(report)).toEqual([
      ["key_set", "ok"],
      ["entitlement", "entitlement_expired"],
    ]);
  });

  it("in full and as its envelope alone says the same", () => {
    for (const file of [fileOf.statement(bad), fileOf.page(), fileOf.directory(), fileOf.entitlement()])
      expect(reportOf(file["statement"] as object)).toEqual(reportOf(file));
  });

  it("without the record is not complete, and with another one it is hash_mismatch", () => {
    expect(reportOf(fileOf.page())).toMatchObject({ valid: true, complete: false });
    expect(states(reportOf(fileOf.statement(good), altered(bytes)))).toEqual([
      ["key_set", "ok"],
      ["statement", "ok"],
      ["record", "hash_mismatch"],
      ["findings", "ok"],
    ]);
    expect(states(reportOf(fileOf.page(), altered(bytes)))).toContainEqual(["record", "hash_mismatch"]);
  });

  it("that genuinely states a fault is not valid, for the reason that was stated", () => {
    expect(states(reportOf(fileOf.statement(bad), bytes))).toEqual([
      ["key_set", "ok"],
      ["statement", "ok"],
      ["record", "ok"],
      ["findings", "key_unknown"],
    ]);
    const log = {
      status: "invalid",
      reason: "inclusion_invalid",
      detail: "Not there.",
      checkpoint: null,
    } as const;
    const { v: _v, ...entitled } = entitlementFacts(makeKey("Ed25519"));
    const expired = { valid: false, reason: "entitlement_expired", detail: "It is over." } as const;
    for (const [entitlement, found] of [
      [expired, { valid: false }],
      [{ valid: true, ...entitled } as const, { valid: true }],
    ] as const)
      expect(states(reportOf(fileOf.statement({ ...good, ...found, entitlement })))).toContainEqual([
        "findings",
        found.valid ? "ok" : "entitlement_expired",
      ]);
    const unlogged = fileOf.statement({ ...good, valid: false, log_inclusion: log });
    expect(states(reportOf(unlogged))).toContainEqual(["findings", "inclusion_invalid"]);
    const page = fileOf.page({ valid: false, checks: { cert: "differs", served_at: "within" } });
    expect(states(reportOf(page, bytes))).toContainEqual(["findings", "failed"]);
  });

  it("that nobody signed, or the key set's service did not, says nothing of its content", () => {
    const forged = fileOf.page({}, [makeKey("Ed25519")]);
    expect(states(reportOf(forged, bytes))).toEqual([
      ["key_set", "ok"],
      ["page", "key_unknown"],
    ]);
    const other = makeScene().service;
    expect(states(reportOf(fileOf.page(), bytes, { ...options, keySet: keySetAnswer(other) }))).toEqual([
      ["key_set", "trust_chain_broken"],
    ]);
  });
});

it.each([
  "",
  "[]",
  "null",
  "{}",
  '{"statement":null}',
  '{"statement":{"payloadType":"x"}}',
  '{"format":"svc-evidence/1"}',
])("%j holds no statement", (text) => {
  expect(statedAnswer(utf8(text))).toBeNull();
});

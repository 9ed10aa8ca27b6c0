import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { remoteFailure } from "../actor-transport.ts";
import {
  aliveText,
  answerText,
  askText,
  deliverText,
  failureText,
  parseAnswer,
  parseCall,
  refusalText,
} from "./messages.ts";

const to = { kind: "push", id: "x" };
const traceparent = `00-${"4bf92f3577b34da6".repeat(2)}-00f067aa0ba902b7-01`;

describe("messages", () => {
  it("come out as they went in", () => {
    expect(
      parseCall(JSON.parse(askText(7, to, { type: "t" }, { timeoutMs: 99.5, traceparent: null }))),
    ).toEqual({ kind: "ask", id: 7, to, command: { type: "t" }, timeoutMs: 100, traceparent: null });
    const messages = [{ seq: 2, message: { type: "t" } }];
    expect(parseCall(JSON.parse(deliverText(8, to, "a/b", messages)))).toEqual({
      kind: "deliver",
      id: 8,
      to,
      from: "a/b",
      messages,
    });
    expect(parseAnswer(JSON.parse(answerText(7, { a: 1 })))).toEqual({
      id: 7,
      failure: null,
      value: { a: 1 },
    });
    const failure = remoteFailure("store", { retryAfterSeconds: 3, effect: "not_applied" });
    expect(parseAnswer(JSON.parse(failureText(7, failure)))).toMatchObject({
      id: 7,
      failure: { reason: "store", retryAfterSeconds: 3, effect: "not_applied" },
    });
    expect(parseCall(JSON.parse(aliveText))).toBeNull();
    expect(parseAnswer(JSON.parse(aliveText))).toBeNull();
  });

  it("have a trace, unless it is none: another node's word is judged like anybody's (M8)", () => {
    const text = (given: string | null) =>
      askText(7, to, { type: "t" }, { timeoutMs: 1, traceparent: given });
    expect(text(null)).not.toContain("trace");
    expect(parseCall(JSON.parse(text(traceparent)))).toMatchObject({ kind: "ask", traceparent });
    for (const odd of ["", "01-00-00-01", traceparent.slice(1), 7, {}, null])
      expect(parseCall({ ...(JSON.parse(text(null)) as object), traceparent: odd })).toMatchObject({
        kind: "ask",
        traceparent: null,
      });
    const messages = [{ seq: 2, message: { type: "t" }, traceparent }];
    expect(parseCall(JSON.parse(deliverText(8, to, "a/b", messages)))).toMatchObject({ messages });
  });

  it("may have members that are not known yet", () => {
    const ask = {
      ...(JSON.parse(askText(7, to, { type: "t" }, { timeoutMs: 1, traceparent: null })) as object),
      trace: "later",
    };
    expect(parseCall(ask)).toMatchObject({ kind: "ask", id: 7 });
    expect(parseAnswer({ k: "answer", id: 7, value: 1, later: true })).toMatchObject({ id: 7, value: 1 });
  });

  it("of a kind that is not known yet are refused when they have an id, ignored when they have none", () => {
    expect(parseCall({ k: "later", id: 9 })).toEqual({ kind: "unfit", id: 9, fault: "unsupported" });
    expect(parseCall({ k: "later" })).toBeNull();
    expect(parseAnswer({ k: "later", id: 9 })).toBeNull();
    expect(parseAnswer(JSON.parse(refusalText(9, "unsupported")))).toMatchObject({
      id: 9,
      failure: { reason: "refused", effect: "not_applied" },
    });
  });

  it("with a reason that is not known yet promise nothing", () => {
    expect(parseAnswer({ k: "failure", id: 7, reason: "later", effect: "later" })).toMatchObject({
      failure: { reason: "refused", effect: "unknown", retryAfterSeconds: 1 },
    });
  });

  it.each([
    { to: ["push"] },
    { to: ["push", ""] },
    { to: ["", "x"] },
    { to: ["push", "x".repeat(1_025)] },
    { to: "push/x" },
    { to: { kind: "push", id: "x" } },
    { command: null },
    { command: { name: "t" } },
    { command: { type: 7 } },
    { timeout_ms: 0 },
    { timeout_ms: "1" },
    { timeout_ms: 600_001 },
  ])("an ask with %j is malformed", (members) => {
    const ask = {
      ...(JSON.parse(askText(7, to, { type: "t" }, { timeoutMs: 1, traceparent: null })) as object),
      ...members,
    };
    expect(parseCall(ask)).toEqual({ kind: "unfit", id: 7, fault: "malformed" });
  });

  it.each([
    { from: 7 },
    { messages: {} },
    { messages: [null] },
    { messages: [{ seq: 0, message: { type: "t" } }] },
    { messages: [{ seq: 1.5, message: { type: "t" } }] },
    { messages: [{ seq: 1, message: {} }] },
    { messages: [2, 1].map((seq) => ({ seq, message: { type: "t" } })) },
    { messages: [1, 1].map((seq) => ({ seq, message: { type: "t" } })) },
    { messages: Array.from({ length: 4_097 }, (_, index) => ({ seq: index + 1, message: { type: "t" } })) },
  ])("a delivery with %j is malformed", (members) => {
    const deliver = { ...(JSON.parse(deliverText(7, to, "a/b", [])) as object), ...members };
    expect(parseCall(deliver)).toEqual({ kind: "unfit", id: 7, fault: "malformed" });
  });

  it("may be anything: they are read or refused, never a crash", () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom("ask", "deliver", "answer", "failure", 7, ["a", "b"]),
    );
    const keys = ["k", "id", "to", "command", "timeout_ms", "from", "messages", "reason", "effect", "detail"];
    const message = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...keys), member));
    fc.assert(
      fc.property(message, (given) => {
        expect(() => [parseCall(given), parseAnswer(given)]).not.toThrow();
      }),
    );
  });
});

import { randomUUID } from "node:crypto";
import cassandra from "cassandra-driver";
import { describe, expect, it } from "vitest";
import { StoreError } from "../actor-store.ts";
import { isUnknownTable, retryPolicy, toStoreError, wordsOf } from "./session.ts";

const { errors, policies, types } = cassandra;
const codes = types.responseErrorCodes;

function response(code: number, more: object = {}): Error {
  return Object.assign(new errors.ResponseError(code, "said so"), more);
}

const hosts = { contactPoints: ["cassandra-1", "10.0.0.2:9043"], localDc: "eu-west1" };

function effectOf(error: Error, isRead = false): unknown {
  return (toStoreError(error, { isRead, hosts }) as { effect?: unknown }).effect;
}

describe("C2: what a failure of the driver says of a write", () => {
  const timeout = new errors.OperationTimedOutError("no answer");
  const socketClosed = Object.assign(new Error("closed"), { isSocketError: true });
  const afterShutdown = new errors.NoHostAvailableError(null, "Connecting after shutdown is not supported");
  const notWritten = Object.assign(new Error("closed"), { isSocketError: true, requestNotWritten: true });

  it.each<[string, Error]>([
    ["the driver waited in vain", timeout],
    ["the connection broke", socketClosed],
    ["replicas did not answer in time", response(codes.writeTimeout, { writeType: "CAS" })],
    ["replicas failed", response(codes.writeFailure)],
    ["the node failed", response(codes.serverError)],
    ["the node is overloaded, perhaps halfway", response(codes.overloaded)],
    ["a read within a conditional write timed out", response(codes.readTimeout)],
    ["replicas for the commit are missing", response(codes.unavailableException, { consistencies: 0x0007 })],
    ["of all hosts that were tried one left doubt", new errors.NoHostAvailableError({ a: timeout, b: null })],
    ["something that nobody thought of", new Error("?")],
  ])("%s: unknown", (_, error) => {
    expect(effectOf(error)).toBe("unknown");
    expect(effectOf(error, true)).toBe("not_applied");
  });

  it.each<[string, Error]>([
    [
      "replicas for the agreement are missing",
      response(codes.unavailableException, { consistencies: 0x0009 }),
    ],
    ["the statement is wrong", response(codes.syntaxError)],
    ["the statement is refused", response(codes.invalid)],
    ["the node is starting", response(codes.isBootstrapping)],
    ["the connection broke before the statement was written", notWritten],
    ["every connection is busy", new errors.BusyConnectionError("a", 1, 1)],
    ["no host was tried", new errors.NoHostAvailableError({})],
    ["the session is closed", afterShutdown],
    ["no host took it", new errors.NoHostAvailableError({ a: "Host considered as DOWN", b: notWritten })],
  ])("%s: not applied", (_, error) => {
    expect(effectOf(error)).toBe("not_applied");
  });

  it("a value of a wrong type is our own bug and stays one", () => {
    const bug = new TypeError("not a blob");
    expect(toStoreError(bug, { isRead: false, hosts })).toBe(bug);
  });
});

describe("the words for hosts that are not to be had", () => {
  it("name the contact points and the data centre where the driver names none", () => {
    const unresolved = new errors.NoHostAvailableError({}, "No host could be resolved");
    expect(wordsOf(unresolved, hosts)).toBe(
      "No host could be resolved: no host of the data centre eu-west1 can be asked (contact points: cassandra-1, 10.0.0.2:9043)",
    );
    expect(wordsOf(new errors.NoHostAvailableError({}), hosts)).toBe(
      "no host of the data centre eu-west1 can be asked (contact points: cassandra-1, 10.0.0.2:9043)",
    );
  });

  it("name each host that was tried, with what it said", () => {
    const inner = { "10.0.0.2:9043": new Error("refused"), "10.0.0.3:9042": "Host considered as DOWN" };
    expect(wordsOf(new errors.NoHostAvailableError(inner), hosts)).toBe(
      "10.0.0.2:9043: refused; 10.0.0.3:9042: Host considered as DOWN",
    );
  });

  it("say that a session is closed where the driver lists no hosts at all", () => {
    const closed = new errors.NoHostAvailableError(null, "Connecting after shutdown is not supported");
    const failure = toStoreError(closed, { isRead: false, hosts });
    expect(failure).toBeInstanceOf(StoreError);
    expect(String(failure)).toContain("Cassandra: the session is closed");
  });
});

describe("a table that is not known", () => {
  const said = (code: number, words: string, more: object = {}): unknown =>
    toStoreError(Object.assign(new errors.ResponseError(code, words), more), { isRead: true, hosts });
  const failed = (reason: number): unknown =>
    said(codes.readFailure, "failed", { reasons: { "10.0.0.2": 0, "10.0.0.3": reason } });

  it("is told from other failures, and from another table", () => {
    const known: readonly [unknown, boolean][] = [
      [said(codes.invalid, "table one does not exist"), true],
      [said(codes.invalid, "unconfigured table one"), true],
      [said(codes.invalid, "table one_more does not exist"), false],
      [said(codes.invalid, "unconfigured table two"), false],
      [said(codes.serverError, "table one does not exist"), false],
      [said(codes.serverError, `java.lang.IllegalArgumentException: Unknown CF ${randomUUID()}`), true],
      [said(codes.serverError, "java.lang.IllegalArgumentException"), false],
      [failed(3), true],
      [failed(1), false],
      [said(codes.readFailure, "failed, by an earlier protocol, which gives no reasons"), false],
      [new Error("table one does not exist"), false],
    ];
    expect(known.map(([error]) => isUnknownTable(error, "one"))).toEqual(known.map(([, is]) => is));
  });
});

describe("C1: what the driver may repeat", () => {
  const decisions = (policies.retry.RetryPolicy as unknown as { retryDecision: Record<string, number> })
    .retryDecision;
  const info = (isIdempotent: boolean, nbRetry: number) =>
    ({
      query: "",
      nbRetry,
      executionOptions: {
        isIdempotent: () => isIdempotent,
        getConsistency: () => types.consistencies.localSerial,
      },
    }) as unknown as cassandra.policies.retry.OperationInfo;
  const level = types.consistencies.localQuorum;
  const ask = (about: cassandra.policies.retry.OperationInfo) => [
    retryPolicy.onReadTimeout(about, level, 1, 2, false),
    retryPolicy.onRequestError(about, level, new Error("closed")),
    retryPolicy.onUnavailable(about, level, 2, true),
    retryPolicy.onWriteTimeout(about, level, 1, 2, "CAS"),
  ];

  it("is nothing that is not idempotent", () => {
    for (const decision of ask(info(false, 0))) expect(decision.decision).toBe(decisions["rethrow"]);
  });

  it("is what is idempotent, once, elsewhere, at the level that was asked for", () => {
    for (const decision of ask(info(true, 0))) {
      expect(decision).toEqual({
        decision: decisions["retry"],
        consistency: types.consistencies.localSerial,
        useCurrentHost: false,
      });
    }
    for (const decision of ask(info(true, 1))) expect(decision.decision).toBe(decisions["rethrow"]);
  });
});

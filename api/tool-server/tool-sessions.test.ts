import { describe, expect, it } from "vitest";
import { createToolSessions, type ToolSessions } from "./tool-sessions.ts";

let nowMs = 0;
const limits = { idleMs: 1_000, sessionsMax: 3, perAddressMax: 2 };
const make = (): ToolSessions => {
  nowMs = 0;
  return createToolSessions(() => nowMs, limits);
};

function opened(sessions: ToolSessions, source: string | null, credential: string | null = null): string {
  const id = sessions.open({ credential, source });
  if (typeof id !== "string") throw new Error(id.problem.detail);
  return id;
}

describe("a session (T1)", () => {
  it("ends once it was idle for as long as the limit, and never comes back", () => {
    const sessions = make();
    const id = opened(sessions, "192.0.2.1");
    nowMs = 999;
    expect(sessions.use(id, null)).toBe(true);
    nowMs = 1_998;
    expect(sessions.use(id, null)).toBe(true);
    nowMs = 2_998;
    expect(sessions.use(id, null)).toBe(false);
    nowMs = 0;
    expect([sessions.use(id, null), sessions.end(id, null), sessions.count]).toEqual([false, false, 0]);
  });

  it("ends when it is ended, once", () => {
    const sessions = make();
    const id = opened(sessions, "192.0.2.1");
    expect([sessions.end(id, null), sessions.end(id, null), sessions.use(id, null)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("that is used keeps none open that is not", () => {
    const sessions = make();
    const idle = opened(sessions, "192.0.2.1");
    const busy = opened(sessions, "192.0.2.2");
    for (nowMs = 100; nowMs < 1_000; nowMs += 100) sessions.use(busy, null);
    nowMs = 1_000;
    expect([sessions.count, sessions.use(idle, null), sessions.use(busy, null)]).toEqual([1, false, true]);
  });
});

describe("the credential (T2)", () => {
  it.each([
    [null, "Bearer a"],
    ["Bearer a", null],
    ["Bearer a", "Bearer b"],
  ])("opened with %s, a session is not there for %s", (own, other) => {
    const sessions = make();
    const id = opened(sessions, "192.0.2.1", own);
    expect([sessions.use(id, other), sessions.end(id, other)]).toEqual([false, false]);
    expect(sessions.use(id, own)).toBe(true);
  });

  it("of another session in use does not keep it open", () => {
    const sessions = make();
    const id = opened(sessions, "192.0.2.1", "Bearer a");
    nowMs = 999;
    sessions.use(id, "Bearer b");
    nowMs = 1_000;
    expect(sessions.use(id, "Bearer a")).toBe(false);
  });
});

describe("the number (T3)", () => {
  it("of an address is bounded, by the whole network of an IPv6 customer", () => {
    const sessions = make();
    opened(sessions, "2001:db8::1");
    const second = opened(sessions, "2001:db8::2");
    expect(sessions.open({ credential: null, source: "2001:db8::3" })).toMatchObject({
      problem: { code: "rate_limited", reason: "tool_sessions", retry_after_seconds: 60 },
    });
    sessions.end(second, null);
    opened(sessions, "2001:db8::3");
  });

  it("of all is bounded, and no session ends for another where no address has more than others", () => {
    const sessions = make();
    const ids = ["192.0.2.1", "192.0.2.2", null].map((source) => opened(sessions, source));
    expect(sessions.open({ credential: null, source: null })).toMatchObject({
      problem: { code: "unavailable", reason: "tool_sessions", retry_after_seconds: 60 },
    });
    expect(ids.every((id) => sessions.use(id, null))).toBe(true);
    nowMs = 1_000;
    expect(opened(sessions, null)).toEqual(expect.any(String));
    expect(sessions.count).toBe(1);
  });

  it("goes from the address that has most to others that come: its longest-idle session ends", () => {
    const sessions = make();
    const [used, idle] = [opened(sessions, "2001:db8::1"), opened(sessions, "2001:db8::2")];
    const other = opened(sessions, "192.0.2.2");
    nowMs = 900;
    expect(sessions.use(used, null)).toBe(true);
    const newcomer = opened(sessions, "192.0.2.3");
    expect([used, idle, other, newcomer].map((id) => sessions.use(id, null))).toEqual([
      true,
      false,
      true,
      true,
    ]);
    expect(sessions.open({ credential: null, source: "192.0.2.4" })).toMatchObject({
      problem: { code: "unavailable", reason: "tool_sessions" },
    });
    expect(sessions.count).toBe(3);
  });

  it("of an address is right again after its sessions were idle", () => {
    const sessions = make();
    for (let round = 0; round < 5; round += 1) {
      opened(sessions, "192.0.2.1");
      opened(sessions, "192.0.2.1");
      nowMs += 1_000;
    }
    expect(sessions.count).toBe(0);
  });
});

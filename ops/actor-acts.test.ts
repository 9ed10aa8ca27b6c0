import { describe, expect, it } from "vitest";
import type { ActorActing, ActResult } from "./cluster.ts";
import { act, authorization, by, openOps } from "./ops.fixture.ts";

const expected = { status: "active", states: ["held"], head: 3 };

function noting(result: ActResult) {
  const asked: unknown[] = [];
  const lines: [string, Readonly<Record<string, unknown>>][] = [];
  const acting: ActorActing = {
    act: async (...given) => {
      asked.push(given);
      return result;
    },
    drain: async (...given) => {
      asked.push(given);
      return result;
    },
  };
  const audit = {
    record: (event: string, detail: Readonly<Record<string, unknown>>) => void lines.push([event, detail]),
  };
  const server = openOps({ acting, audit });
  const post = (url: string, payload: object) =>
    server.inject({ method: "POST", url, payload, headers: { authorization } });
  return { asked, lines, post };
}

describe("operators who act on an actor or a node", () => {
  it.each(["retry", "passivate", "release", "cancel"] as const)(
    "each member of an act reaches what does it, and the audit log (%s)",
    async (name) => {
      const { asked, lines, post } = noting({ outcome: "retried" });
      const answer = await post(`/ops/actors/push/b.p/${name}`, { expected, ...act });
      expect([answer.statusCode, answer.json()]).toEqual([200, { outcome: "retried" }]);
      expect(asked).toEqual([[{ kind: "push", id: "b.p" }, name, { expected, said: { by, ...act } }]]);
      const said = {
        by,
        reason: act.reason,
        params: { kind: "push", id: "b.p" },
        asked: { expected },
      };
      expect(lines).toMatchObject([
        ["ops.asked", said],
        ["ops.acted", { ...said, outcome: { outcome: "retried" } }],
      ]);
    },
  );

  it("drain a node that they saw in a state", async () => {
    const { asked, post } = noting({ outcome: "draining" });
    const answer = await post("/ops/nodes/abc/drain", { expected: { state: "active" }, ...act });
    expect([answer.statusCode, asked]).toEqual([200, [["abc", { state: "active" }]]]);
  });

  it.each([
    [{ refused: "unknown" } as const, [404, "not_found", undefined]],
    [
      { refused: "state_changed", detail: "The actor is passive by now." } as const,
      [409, "state_changed", undefined],
    ],
    [{ refused: "not_possible", detail: "no." } as const, [400, "request_invalid", "not_possible"]],
  ])("are told why nothing was done: %j", async (result, problem) => {
    const { post } = noting(result);
    const answer = await post("/ops/actors/push/b.p/retry", { expected, ...act });
    const { code, reason } = answer.json();
    expect([answer.statusCode, code, reason]).toEqual(problem);
  });

  it.each([
    [{ ...act }],
    [{ expected }],
    [{ expected, by: "Bob", ...act }],
    [{ expected: {}, ...act }],
    [{ expected: { ...expected, more: 1 }, ...act }],
    [{ expected: { status: "asleep" }, ...act }],
  ])("are refused without what an act needs: %j", async (payload) => {
    const { asked, post } = noting({ outcome: "retried" });
    expect((await post("/ops/actors/push/b.p/retry", payload)).json().code).toBe("request_invalid");
    expect(asked).toEqual([]);
  });
});

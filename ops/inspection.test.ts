import { describe, expect, it } from "vitest";
import { refuse } from "../protocol/result.ts";
import type { Inspection } from "./inspection.ts";
import { noInspection, openOps } from "./ops.fixture.ts";

/** Notes what the routes ask. */
function noting(): { readonly asked: unknown[]; readonly inspection: Inspection } {
  const asked: unknown[] = [];
  const noted =
    (name: string) =>
    async (...given: readonly unknown[]) => {
      asked.push([name, ...given.map((each) => (each instanceof Object ? { ...each } : each))]);
      return refuse("unknown", "This actor does not exist.");
    };
  const inspection: Inspection = {
    ...noInspection,
    list: async (query) => {
      asked.push(["list", query]);
      return noInspection.list(query);
    },
    search: async (...given) => {
      asked.push(["search", ...given]);
      return noInspection.search(...given);
    },
    refused: async (...given) => {
      asked.push(["refused", ...given]);
      return noInspection.refused(...given);
    },
    detail: async (ref) => {
      asked.push(["detail", { ...ref }]);
      return null;
    },
    past: {
      journal: noted("journal"),
      exported: noted("exported"),
    },
  };
  return { asked, inspection };
}

const any = { scope: "active", kind: null, state: null, region: null, node: null, part: null, after: "" };
const ref = { kind: "push", id: "b.p" };

describe("operators", () => {
  it("each member of a read reaches what answers it", async () => {
    const { asked, inspection } = noting();
    const server = openOps({ inspection });
    const actor = "/ops/actors/push/b.p";
    const reads: readonly (readonly [string, unknown])[] = [
      ["/ops/actors", ["list", { ...any, limit: 50 }]],
      [
        "/ops/actors?kind=push&state=held&region=eu-west1&node=n&part=p&after=push/a&limit=7",
        [
          "list",
          {
            ...any,
            kind: "push",
            state: "held",
            region: "eu-west1",
            node: "n",
            part: "p",
            after: "push/a",
            limit: 7,
          },
        ],
      ],
      ["/ops/actors?scope=known&kind=push", ["list", { ...any, scope: "known", kind: "push", limit: 50 }]],
      ["/ops/search?q=bat_1&limit=3", ["search", "bat_1", 3]],
      ["/ops/refusals", ["refused", { surface: null, code: null, key_id: null }]],
      [
        "/ops/refusals?surface=business&code=key_unknown&key_id=k",
        ["refused", { surface: "business", code: "key_unknown", key_id: "k" }],
      ],
      [actor, ["detail", ref]],
      ["/ops/live/actors/push/b.p", ["detail", ref]],
      [`${actor}/journal`, ["journal", ref, { before: Number.MAX_SAFE_INTEGER, limit: 50 }]],
      [`${actor}/journal?before=9&limit=2`, ["journal", ref, { before: 9, limit: 2 }]],
    ];
    for (const [url, expected] of reads) {
      await server.inject(url);
      expect([url, asked.at(-1)]).toEqual([url, expected]);
    }
    expect(asked).toHaveLength(reads.length);
    for (const url of ["/ops/machines/pusch", "/ops/actors/pusch/b.p"])
      expect((await server.inject(url)).json()).toMatchObject({
        status: 404,
        detail: "There is no such kind of actor.",
        suggestion: "push",
      });
  });

  it.each([
    ["/ops/actors?limit=0", "/query/limit"],
    ["/ops/actors?limit=201", "/query/limit"],
    ["/ops/actors?limit=ten", "/query/limit"],
    ["/ops/actors?scope=all", "/query/scope"],
    ["/ops/actors?scope=known", "/query/kind"],
    ["/ops/actors?scope=known&kind=push&node=n", "/query/scope"],
    ["/ops/actors?kind=foo", "/query/kind"],
    ["/ops/actors?scope=known&kind=pusch", "/query/kind"],
    ["/ops/search?q=a", "/query/q"],
    [`/ops/search?q=${"a".repeat(257)}`, "/query/q"],
    ["/ops/actors/push/b.p/journal?before=-1", "/query/before"],
    ["/ops/actors/push/b.p/journal?limit=999", "/query/limit"],
  ])("are told what is wrong with %s", async (url, pointer) => {
    const answer = await openOps().inject(url);
    expect([answer.statusCode, answer.json().code, answer.json().pointer]).toEqual([
      400,
      "request_invalid",
      pointer,
    ]);
  });

  it("are told why an actor has no journal", async () => {
    const past = { ...noInspection.past, journal: async () => refuse("no_journal", "A reason.") };
    const server = openOps({ inspection: { ...noInspection, past } });
    const answer = await server.inject("/ops/actors/push/x/journal");
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      { code: "request_invalid", reason: "no_journal" },
    ]);
  });
});

// What `svc ops act` asks of the operators' surface, whose own document judges each request.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ClusterOps } from "../../ops/cluster.ts";
import type { NodeState } from "../../ops/inspection-shapes.ts";
import { noInspection, report } from "../../ops/ops.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { opsAct } from "./act.ts";
import { type OpsCommands, serveOps } from "./ops-commands.fixture.ts";

const party = "6f1c0a2e-0000-4000-8000-000000000001";
const node: NodeState = {
  incarnation: "f00d",
  region: "eu-west1",
  address: "10.0.0.5:7390",
  state: "active",
  is_self: false,
  reachable: true,
  detail: null,
  readiness: null,
  version: "1.2.3",
  started_at: null,
  lease: null,
  load: null,
};

let ops: OpsCommands;
let asked: unknown[] = [];
/** What the person at the terminal answers. */
let answer: string | null = null;

function note<O extends string>(outcome: O, ...what: readonly unknown[]): Promise<O> {
  asked.push(what);
  return Promise.resolve(outcome);
}

const cluster: Partial<ClusterOps> = {
  move: (of, to) => note("moved", "move", of, to),
  declareDead: ({ region, successor, force }) => note("declared", "declare-dead", region, successor, force),
  putIn: (region) => note("put_in", "put-in", region),
  rejoin: (region) => note("rejoined", "rejoin", region),
  rebuild: (collection) => note("begun", "rebuild", collection),
};

beforeEach(async () => {
  [asked, answer] = [[], null];
  ops = await serveOps({
    cluster: rubbish(cluster),
    inspection: { ...noInspection, nodes: async () => [node] },
    acting: {
      act: async ({ kind, id }, act, { expected }) => ({
        outcome: await note("retried", act, `${kind}/${id}`, expected),
      }),
      drain: async (incarnation, expected) => ({
        outcome: await note("draining", "drain", incarnation, expected),
      }),
    },
  });
});
afterEach(() => ops[Symbol.asyncDispose]());

const run = (words: readonly string[]) => ops.run(opsAct, words, { question: async () => answer });
const why = ["--by", "Ada", "--reason", "A test."];

describe("an act in the terminal", () => {
  it.each([
    [
      ["move", party, "us-east1"],
      ["move", party, "us-east1"],
    ],
    [
      ["rebuild", "events"],
      ["rebuild", "events"],
    ],
    [
      ["declare-dead", "us-east1", "--successor", "eu-west1"],
      ["declare-dead", "us-east1", "eu-west1", false],
    ],
    [
      ["declare-dead", "us-east1", "--successor", "eu-west1", "--force"],
      ["declare-dead", "us-east1", "eu-west1", true],
    ],
    [
      ["put-in", "us-east1"],
      ["put-in", "us-east1"],
    ],
    [
      ["rejoin", "us-east1"],
      ["rejoin", "us-east1"],
    ],
    [
      ["drain", "f00d"],
      ["drain", "f00d", { state: "active" }],
    ],
    [
      ["retry", "push/bat_1"],
      ["retry", "push/bat_1", { status: "active", states: ["processing"], head: report.head }],
    ],
  ] as const)("%j is what the surface is asked for, once it is confirmed", async (words, wanted) => {
    answer = "no";
    expect((await run([...words, ...why])).code).toBe(1);
    expect(asked).toEqual([]);
    answer = "yes";
    const done = await run([...words, ...why]);
    expect([done.code, asked]).toEqual([0, [wanted]]);
    expect(done.text).toMatch(/Done: \w+\./);
  });

  it("says before the question what follows from declaring a region dead, and what forcing does", async () => {
    answer = "no";
    const order = ["declare-dead", "us-east1", "--successor", "eu-west1"];
    const { text } = await run([...order, "--force", ...why]);
    expect(text).toMatch(
      /cannot be taken back: eu-west1 serves its parties .* is lost.*never start its old data/s,
    );
    expect(text).toContain("Its nodes may still run");
    expect((await run([...order, ...why])).text).not.toContain("Its nodes may still run");
  });

  it.each([
    [["drain", "beef"], /There is no node beef/],
    [["move", party], /svc help ops act/],
    [["rejoin", "us-east1", "--force"], /--force is for declare-dead/],
    [["toString", "x"], /is not an act/],
    [["declare-dead", "us-east1"], /--successor is missing/],
  ] as const)("%j is refused without a request", async (words, message) => {
    await expect(run([...words, ...why, "--yes"])).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });
});

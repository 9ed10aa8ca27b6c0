// Inspection and acts while a cluster is upgraded: what a node of an earlier release cannot answer is said, and so is that it did nothing.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { remoteFailure } from "../../transport/actor-transport.ts";
import { type Json, type OpsNode, type OpsWorld, openOpsWorld } from "./ops-world.fixture.ts";

let there: OpsWorld;
beforeEach(async () => {
  there = await openOpsWorld();
});
afterEach(() => there[Symbol.asyncDispose]());

describe("while a cluster is upgraded", () => {
  /** From now on it refuses what it is asked for operators, as the router of a release does that had no such questions. */
  const makeOlder = ({ routed }: OpsNode): void => {
    routed.operators = async ({ type }) => {
      const detail = `"${type}" is not a command that another node may send here`;
      throw remoteFailure("refused", { retryAfterSeconds: 1, effect: "not_applied", detail });
    };
  };

  it("NA2: a node of an earlier release is not taken for one that is away, and what it lacks is said", async () => {
    const { party, owner, asked } = await there.partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await there.tell(owner, party, { type: "add", by: 5 });
    makeOlder(owner);
    const { incarnation } = owner.routed.node;
    const detail = expect.stringContaining("earlier release");
    const seen = (await there.read(asked, "/ops/nodes")).nodes;
    expect(seen.find((each: Json) => each.incarnation === incarnation)).toMatchObject({
      state: "active",
      reachable: true,
      version: null,
      readiness: null,
      load: null,
      detail,
    });
    expect((await there.read(asked, "/ops/counts")).missing).toMatchObject([{ incarnation, detail }]);
    expect(await there.read(asked, actor)).toMatchObject({
      status: "passive",
      context: { n: 5 },
      place: { at: "node", node: incarnation, detail },
    });
  });

  it("AC3: what a node of an earlier release cannot do was not done, and the answer says so", async () => {
    const { party, owner, asked } = await there.partyElsewhere();
    await there.tell(owner, party, { type: "add", by: 5 });
    makeOlder(owner);
    const retry = `/ops/actors/ledger/${party}/retry`;
    expect(await there.doAct(asked, retry, { status: "active" })).toEqual([503, "upgrading"]);
    const drain = `/ops/nodes/${owner.routed.node.incarnation}/drain`;
    expect(await there.doAct(asked, drain, { state: "active" })).toEqual([503, "upgrading"]);
    expect(owner.drained).toBe(0);
  });

  it("this release refuses a question of a later one in the way that nodes understand", async () => {
    const [asked, other] = there.nodes as [OpsNode, OpsNode];
    const member = rubbish(other.routed.node.membership.self());
    const question = { type: "operators.of_a_later_release" };
    const answer = asked.routed.router.askNode(member, question, 2_000);
    await expect(there.world.time.run(answer)).rejects.toMatchObject({
      reason: "refused",
      effect: "not_applied",
    });
  });
});

// The groups of AI companies: which a business blocks, and which a company is in.

import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { partyFacts, businessUuid as uuid } from "../facts.fixture.ts";
import type { PartyFacts } from "../messages/business.ts";
import { businessActor } from "./definition.ts";
import { blockedGroupsMax, formerGroupsMax } from "./register.ts";

function opened(changes: Partial<PartyFacts>) {
  const actor = driveActor(businessActor, uuid);
  actor.send({ type: "party.open", party: partyFacts(changes) });
  return actor;
}

const company = () => opened({ kind: "ai_company", group: "a" });

/** The party as its entry in the register says it. */
function entryOf(actor: ReturnType<typeof opened>): PartyFacts {
  const row = actor.rows(18).findLast(({ k2 }) => k2.startsWith("party/"));
  return JSON.parse(JSON.parse(row?.body ?? "{}").body) as PartyFacts;
}

const done = { status: "done", changed: true };
const act = { by: "Ada", reason: "It was bought." };

describe("a company changes its group", () => {
  it("and keeps every group that it was in, each once; the same group again changes nothing", () => {
    const actor = company();
    expect(entryOf(actor)).not.toHaveProperty("former_groups");
    for (const [group, former] of [
      ["b", ["a"]],
      ["a", ["b"]],
      ["c", ["b", "a"]],
    ] as const) {
      expect(actor.send({ type: "group.join", group })).toEqual(done);
      expect(actor.send({ type: "group.join", group })).toEqual({ status: "done" });
      expect(entryOf(actor)).toMatchObject({ group, former_groups: former });
      expect(actor.snapshot.context.party).toMatchObject({ group, former_groups: former });
    }
  });

  it("and no other change of its entry brings an old group back", () => {
    const actor = company();
    actor.send({ type: "directory.choose", listed: true });
    actor.send({ type: "group.join", group: "b" });
    const joined = { group: "b", former_groups: ["a"] };
    expect(entryOf(actor)).toMatchObject({ ...joined, listed: true });
    actor.send({ type: "directory.choose", listed: false });
    expect(entryOf(actor)).toMatchObject({ ...joined, listed: false });
    actor.send({ type: "group.block", group: "g" });
    expect(entryOf(actor)).toMatchObject({ ...joined, blocked_groups: ["g"] });
    actor.send({ type: "party.open", party: partyFacts({ kind: "ai_company", group: "a" }) });
    expect(entryOf(actor)).toMatchObject(joined);
    expect(actor.send({ type: "publishing.facts", key_id: "k" })).toMatchObject({ party: joined });
  });

  it("is told to every region, and kept with who asked for it and why", () => {
    const actor = company();
    actor.send({ type: "group.join", group: "b", act });
    const kept = { ...act, act: "group.join", entry: `party/${uuid}` };
    expect(actor.send({ type: "acts.read", after: 0, limit: 9 })).toMatchObject({ acts: [kept] });
    expect(actor.effects.at(-1)).toMatchObject({ params: { keys: [`party/${uuid}`] } });
  });

  it("is refused for a business, for nobody, and once it has too many former groups", () => {
    const refused = { status: "refused", code: "role_not_allowed" };
    expect(opened({}).send({ type: "group.join", group: "b" })).toMatchObject(refused);
    const nobody = driveActor(businessActor, uuid);
    expect(nobody.send({ type: "group.join", group: "b" })).toMatchObject({ code: "party_unknown" });
    const actor = company();
    for (let group = 1; group <= formerGroupsMax; group += 1)
      expect(actor.send({ type: "group.join", group: `g${group}` })).toEqual(done);
    expect(actor.send({ type: "group.join", group: "more" })).toMatchObject({ code: "too_many_groups" });
    // To return to a former group makes none more, and no block is forgotten.
    expect(actor.send({ type: "group.join", group: "a" })).toEqual(done);
    expect(entryOf(actor).former_groups).toHaveLength(formerGroupsMax);
  });
});

describe("a business blocks groups", () => {
  it("with who and why, and as many as it may", () => {
    const actor = opened({});
    actor.send({ type: "group.block", group: "b", act });
    actor.send({ type: "group.unblock", group: "b", act });
    expect(actor.send({ type: "acts.read", after: 0, limit: 9 })).toMatchObject({
      acts: [
        { ...act, act: "group.block" },
        { ...act, act: "group.unblock" },
      ],
    });
    for (let group = 0; group < blockedGroupsMax; group += 1)
      actor.send({ type: "group.block", group: `g${group}` });
    expect(actor.send({ type: "group.block", group: "more" })).toMatchObject({
      status: "refused",
      code: "too_many_groups",
    });
    expect(entryOf(actor).blocked_groups).toHaveLength(blockedGroupsMax);
  });
});

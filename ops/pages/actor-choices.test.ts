// What the form on an actor's page asks the API to do.

import { expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { english } from "../../web/texts/catalogue.ts";
import { actorActNames } from "../cluster.ts";
import { actorChoices } from "./views/actor.ts";

const ref = { kind: "push", id: "b.p" };
type Judged = Parameters<typeof actorChoices>[0];
const effect = part<Judged["outbox"][number]>({ to: "region/eu-west1" });
const choicesOf = (
  status: Judged["status"],
  states: readonly string[],
  outbox: Judged["outbox"] = [],
  kind = "push",
) => actorChoices({ ref: { ...ref, kind }, status, states, outbox }, english.operations.acts);

it("an act expects the state that was shown, and not that a busy actor made no commit since", () => {
  const choices = choicesOf("active", ["working.step.processing"], [effect]);
  expect(choices.map(({ key }) => key)).toEqual(["retry", "passivate", "cancel"]);
  for (const { key, request } of choices) {
    expect(actorActNames).toContain(key);
    expect(request({})).toEqual({
      address: `/ops/actors/push/b.p/${key}`,
      members: { expected: { status: "active", states: ["working.step.processing"] } },
      subject: "push/b.p",
    });
  }
});

it("a campaign is stopped with what its advertiser is told, or goes on", () => {
  const campaign = { kind: "ad-campaign", id: "b.spring" };
  const last = (states: readonly string[]) =>
    actorChoices({ ref: campaign, status: "passive", states, outbox: [] }, english.operations.acts).at(-1);
  expect(last(["running"])?.request({ statement: " Why. " })).toEqual({
    address: "/ops/campaigns/b/spring/stop",
    look: "/ops/campaigns/b/spring",
    members: { statement: "Why." },
    subject: "b.spring",
  });
  expect(last(["stopped"])?.request({})).toMatchObject({
    address: "/ops/campaigns/b/spring/resume",
    look: "/ops/campaigns/b/spring",
    members: {},
  });
});

it.each([
  ["quarantined", [], [], "push", ["release"]],
  ["active", ["complete"], [], "push", ["passivate"]],
  ["active", ["indexing"], [effect], "push", ["retry", "passivate"]],
  ["backing_off", ["held"], [], "push", ["retry", "cancel"]],
  ["passive", ["failed"], [], "push", []],
  ["passive", ["held"], [], "push", ["cancel"]],
  ["active", ["working.step.queued"], [], "ad-pool", ["passivate"]],
] as const)(
  "an actor that is %s in %j with effects %j is offered what can be done: a %s",
  (status, states, outbox, kind, acts) => {
    expect(choicesOf(status, states, outbox, kind).map(({ key }) => key)).toEqual(acts);
  },
);

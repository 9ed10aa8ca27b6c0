// What the form on an actor's page asks the API to do.

import { expect, it } from "vitest";
import { english } from "../../web/texts/catalogue.ts";
import { actorActNames } from "../actor-acts.ts";
import { actorChoices } from "./views/acts.ts";

const ref = { kind: "push", id: "b.p" };
const choicesOf = (status: "active" | "quarantined", states: readonly string[]) =>
  actorChoices({ ref, status, states }, english.operations.acts);

it("an act expects the state that was shown, and not that a busy actor made no commit since", () => {
  const choices = choicesOf("active", ["working.processing"]);
  expect(choices.map(({ key }) => key)).toEqual(["retry", "passivate", "cancel"]);
  for (const { key, request } of choices) {
    expect(actorActNames).toContain(key);
    expect(request({})).toEqual({
      address: `/ops/actors/push/b.p/${key}`,
      members: { expected: { status: "active", states: ["working.processing"] } },
      subject: "push/b.p",
    });
  }
});

it("a quarantined actor is released alone", () => {
  expect(choicesOf("quarantined", []).map(({ key }) => key)).toEqual(["release"]);
});

import { describe, expect, it } from "vitest";
import type { Of } from "../../protocol/shape.ts";
import { english } from "../../web/texts/catalogue.ts";
import type { recoveryState } from "../shapes.ts";
import { recoveryChoices } from "./views/recoveries.ts";

const words = english.operations.recoveries;
const [ada, bob] = ["10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000002"];
const at = "2026-11-25T12:00:00.000Z";
const asked: Of<typeof recoveryState> = {
  recovery_id: "p.u",
  uuid: "u",
  legal_name: "Lost Ltd",
  applicant: "p",
  applicant_name: "Ada again",
  key_id: "k",
  state: "waiting",
  filed_at: at,
  approvals: [],
  due_at: null,
  owners: [
    { person_id: ada, name: "Ada", since: at },
    { person_id: bob, name: "Bob", since: at },
  ],
  statement: null,
  failure: null,
};
const choices = (more: Partial<typeof asked> = {}) =>
  recoveryChoices({ recoveries: [{ ...asked, ...more }], next_after: null }, words);
const [approve, refuse] = choices();
const optionsOf = (choice = approve) => choice?.fields[0]?.options?.map(([value]) => value);

describe("what operators may decide about a lost passkey", () => {
  it("is an owner who is replaced, and none before one is chosen", () => {
    expect(optionsOf()).toEqual(["", `p.u ${ada} k`, `p.u ${bob} k`]);
    expect(approve?.request({ pair: `p.u ${bob} k` })).toMatchObject({
      address: "/ops/recoveries/p.u/approve",
      members: { replaces: bob, key_id: "k" },
      subject: words.pair("Ada again", "Bob", "Lost Ltd", bob),
      consequences: words.approveFollows,
    });
    expect(refuse?.request({ recovery: "p.u k", statement: " No. " })).toMatchObject({
      address: "/ops/recoveries/p.u/refuse",
      members: { statement: "No.", key_id: "k" },
    });
  });

  it("is for the second operator the owner whom the first one named", () => {
    const approvals = [{ by: "Olga", reason: "Seen.", replaces: bob }];
    const [second] = choices({ state: "approved", approvals });
    expect(optionsOf(second)).toEqual(["", `p.u ${bob} k`]);
  });

  it("is a refusal alone in the wait, and nothing after it", () => {
    const keys = (state: typeof asked.state) => choices({ state, owners: [] }).map(({ key }) => key);
    expect(keys("announced")).toEqual(["refuse"]);
    for (const state of ["announcing", "replacing", "done", "refused", "stopped"] as const)
      expect(keys(state)).toEqual([]);
  });
});

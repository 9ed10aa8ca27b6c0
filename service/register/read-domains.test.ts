import { expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { bodyText } from "../answer.ts";
import { readOwnDomains } from "./read-domains.ts";

it("announces no look at a domain where nobody looks", async () => {
  const next_probe_at = "2026-01-01T00:00:00.000Z";
  const known = { domains: [{ domain: "shop.example", next_probe_at }] };
  const told = async (areDomainsChecked: boolean): Promise<unknown> => {
    const actors = rubbish({ ask: async () => known });
    const answer = await readOwnDomains({ actors, areDomainsChecked }, "b");
    return answer.kind === "answer" && JSON.parse(bodyText(answer.body)).domains[0].next_probe_at;
  };
  expect([await told(true), await told(false)]).toEqual([next_probe_at, null]);
});

import { expect, it } from "vitest";
import { domainsInMemory } from "../../transport/domain-probe.fixture.ts";
import { countProbes } from "./domain-probe.ts";

it("looks at domains are counted, and those that told nothing apart", async () => {
  const domains = domainsInMemory();
  domains.txt("a.example", ["text"]);
  domains.answersTxt("b.example", false);
  const counted = countProbes(domains);
  expect(await counted.probe("a.example", "text")).toEqual({ kind: "confirmed", by: "txt" });
  expect((await counted.probe("b.example", "text")).kind).toBe("unanswered");
  expect((await counted.probe("c.example", "text")).kind).toBe("absent");
  const values = counted.readings().map(({ name, value }) => [name, value]);
  expect(values).toEqual([
    ["svc_domain_probes_total", 3],
    ["svc_domain_probes_unanswered_total", 1],
  ]);
});

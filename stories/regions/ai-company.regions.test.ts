// An AI company's script against a production cluster of two regions with real engines. A node of each region is killed at a random
// moment meanwhile, and started again: every answer verifies offline, and its receipts, its usage, its statement and its account
// agree to the last millionth.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestNode, testSeed } from "../../node/composition/cluster.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { subjects } from "../ads/company-advertiser.fixture.ts";
import { type BilledCluster, openBilledCluster } from "../money/billed-cluster.fixture.ts";
import { type AiCompany, openAiCompany } from "../retrieval/ai-company.fixture.ts";
import { enterPayment, tellCompanyStory } from "../retrieval/company-story.fixture.ts";

const regions = ["eu-west1", "us-east1"] as const;
const { random } = testSeed("an AI company on the cluster", 20_261_124);
const brand = "Regional";
let billed: BilledCluster;
let company: AiCompany;

beforeAll(async () => {
  billed = await openBilledCluster(enginesUnderTest(), { [regions[0]]: 2, [regions[1]]: 1 });
  const doors = billed.cluster.nodes.map(({ region, urls }) => ({
    region,
    baseUrl: urls.retrieval,
    businessUrl: urls.business,
    verifyUrl: urls.verification,
  }));
  company = openAiCompany({
    anchors: billed.anchors,
    key: billed.parties.company,
    doors: () => doors,
    brand,
    subject: subjects.many,
    random,
    payIn,
  });
}, 240_000);
afterAll(() => billed?.[Symbol.asyncDispose]());

const payIn = (entryId: string, amount: string): Promise<void> =>
  enterPayment({ company: billed.parties.companyUuid, entryId, amount }, () =>
    billed.cluster.nodes.map((node) => ({ url: node.urls.ops, token: () => node.opsToken() })),
  );

/** Each region loses a node, the regions in a random order. */
function victims(): readonly TestNode[] {
  const order = random() < 0.5 ? regions : regions.toReversed();
  return order.map((region) => {
    const there = billed.cluster.nodesOf(region);
    const victim = there[Math.floor(random() * there.length)];
    if (victim === undefined) throw new Error(`${region} has no node.`);
    return victim;
  });
}

describe("on a cluster of two regions, an AI company", () => {
  it("verifies everything, runs out, pays in, and is charged exactly its receipts, whatever is killed", {
    timeout: 420_000,
  }, async () => {
    const chosen = victims();
    const settled = await tellCompanyStory({
      company,
      advertiser: { key: billed.parties.integration, owner: billed.parties.owner, brand },
      random,
      victims: chosen.map(({ urls }) => urls.retrieval),
      disturb: async (victim) => {
        await chosen[victim]?.kill();
        await chosen[victim]?.start();
      },
    });
    for (const region of regions)
      expect(
        settled.receipts.filter((each) => each.region === region && each.billable).length,
      ).toBeGreaterThan(0);
  });
});

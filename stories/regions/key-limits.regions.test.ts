// The limits of a key hold for all nodes of a region together, over real engines and connections.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ReceivedAnswer, type SentRequest, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { openCluster, type TestCluster, type TestNode } from "../../node/composition/cluster.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { productSearch, until } from "./cluster-load.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
const perSecond = 20;
const burst = 2 * perSecond;
const perMinute = 66;
/** The largest slices: the most expensive request, and one request. */
const [costSlice, rateSlice] = [11, 1];
const searchCost = 2;
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({
    engines: enginesUnderTest(),
    nodes: { [home]: 2, [other]: 1 },
    env: {
      SVC_KEY_REQUESTS_PER_SECOND: String(perSecond),
      SVC_KEY_QUERY_COST_PER_MINUTE: String(perMinute),
    },
  });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const ask = (node: TestNode, company: TestCaller, request: SentRequest): Promise<ReceivedAnswer> =>
  send(node.urls.retrieval, company, request);
const isLimitedBy = ({ status, json }: ReceivedAnswer, reason: string): boolean =>
  status === 429 && json["reason"] === reason;
/** It counts towards the rate, and costs nothing. */
const malformed: SentRequest = { path: "/v1/records/none" };

/** A company that every node knows, whose minute has not begun. */
async function knownCompany(): Promise<TestCaller> {
  const company = await cluster.newCompany();
  for (const node of cluster.nodes)
    await until(async () => (await ask(node, company, malformed)).status === 400);
  return company;
}

interface Spent {
  readonly passed: number;
  readonly refused: readonly ReceivedAnswer[];
  readonly seconds: number;
}

/** A node that lost its lease begins again with its actors, which know of nothing: on a busy machine it is tried again. */
const attemptsMax = 5;

/** What became of requests of a new company while nothing else happened: null for an answer of a node that was leaving. */
async function undisturbed(spend: (company: TestCaller) => Promise<Spent | null>): Promise<Spent> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const spent = await spend(await knownCompany());
    if (spent !== null) return spent;
  }
  throw new Error("The nodes never stayed for as long as it takes.");
}

async function spendBudget(company: TestCaller): Promise<Spent | null> {
  const startedMs = performance.now();
  let passed = 0;
  const refused = new Map<string, ReceivedAnswer>();
  const nodes = cluster.nodesOf(home);
  for (let turn = 0; refused.size < nodes.length && turn < 10 * perMinute; turn += 1) {
    for (const node of nodes) {
      const answer = await ask(node, company, productSearch);
      if (answer.status === 200) passed += 1;
      else if (isLimitedBy(answer, "query_cost")) refused.set(node.name, answer);
      // Whatever is beyond the rate is sent again.
      else if (!isLimitedBy(answer, "request_rate")) return null;
    }
  }
  return { passed, refused: [...refused.values()], seconds: (performance.now() - startedMs) / 1_000 };
}

async function spendRate(company: TestCaller): Promise<Spent | null> {
  const nodes = cluster.nodesOf(home);
  const startedMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 6 * burst }, (_, index) => {
      const node = nodes[index % nodes.length];
      if (node === undefined) throw new Error("There is no node.");
      return ask(node, company, malformed);
    }),
  );
  const seconds = (performance.now() - startedMs) / 1_000;
  const refused = answers.filter((answer) => isLimitedBy(answer, "request_rate"));
  const passed = answers.filter(({ status }) => status === 400).length;
  return passed + refused.length === answers.length ? { passed, refused, seconds } : null;
}

describe("a key that is used at both nodes of a region", () => {
  it("has one budget there, and another in the other region; a refusal says when its minute ends", async () => {
    const nodes = cluster.nodesOf(home).length;
    const { passed, refused, seconds } = await undisturbed(spendBudget);
    const minutes = 1 + Math.floor(seconds / 60);
    expect(refused).toHaveLength(nodes);
    expect(passed * searchCost).toBeLessThanOrEqual(minutes * (perMinute + nodes * costSlice));
    expect(passed * searchCost).toBeGreaterThanOrEqual(perMinute - nodes * costSlice);
    for (const answer of refused) {
      const retryAfter = Number(answer.headers.get("retry-after"));
      expect(retryAfter).toBeGreaterThanOrEqual(1);
      expect(retryAfter).toBeLessThanOrEqual(61);
      expect(answer.headers.get("ratelimit")).toMatch(/"query_cost";r=\d+;t=\d+/);
    }
    const company = await knownCompany();
    await spendBudget(company);
    for (const node of cluster.nodesOf(other))
      await until(async () => (await ask(node, company, productSearch)).status === 200);
  });

  it("has one rate there", async () => {
    const nodes = cluster.nodesOf(home).length;
    const { passed, seconds } = await undisturbed(spendRate);
    expect(passed).toBeLessThanOrEqual(burst + perSecond * seconds + 3 * nodes * rateSlice);
    expect(passed).toBeGreaterThan(burst / 2);
  });
});

// The examples of what is about money: accounts, statements and ads.

import { vi } from "vitest";
import type { ReceivedAnswer, SentRequest, TestCaller } from "../../api/surfaces.fixture.ts";
import { newAdvertiser } from "../ads/ads.fixture.ts";
import type { AttackNode } from "../retrieval/attack.fixture.ts";

export interface ExampleAsker {
  readonly node: AttackNode;
  readonly company: TestCaller;
  readonly companyUuid: string;
  /** Sends a request and keeps it as an example. */
  readonly ask: (
    base: string,
    caller: TestCaller | null,
    request: SentRequest & { readonly route?: string },
  ) => Promise<ReceivedAnswer>;
  readonly askOps: (path: string, route: string, body?: object) => Promise<void>;
}

const act = { reason: "Invoice 4711 was paid." };

export async function moneyExamples({
  node,
  company,
  companyUuid,
  ask,
  askOps,
}: ExampleAsker): Promise<void> {
  const base = node.running.urls.base_url;
  const month = new Date().toISOString().slice(0, 7);
  const account = "/ops/ledgers/:company_uuid";
  const entry = { entry_id: "payment-4711", kind: "top_up", amount: "250", currency: "EUR", ...act };
  await askOps(`/ops/ledgers/${companyUuid}/entries`, `${account}/entries`, entry);
  await askOps("/ops/ledgers", "/ops/ledgers");
  await askOps(`/ops/ledgers/${companyUuid}`, account);
  await askOps(`/ops/ledgers/${companyUuid}/statements/${month}`, `${account}/statements/:month`);
  await ask(base, company, { path: "/v1/allowance" });
  await ask(base, company, { path: `/v1/statements/${month}`, route: "/v1/statements/:month" });
  await ask(base, company, { path: `/v1/statements/${month}/csv`, route: "/v1/statements/:month/csv" });
  const advertiser = await newAdvertiser(node, ask);
  await advertiser.campaign();
  const { json: ad } = await advertiser.ad("example");
  const body = JSON.stringify({
    country: "US",
    keywords: ["running shoes"],
    sort_by: "net_price:desc,random:asc",
  });
  const items = await vi.waitFor(async () => {
    const { json } = await ask(base, company, { path: "/v1/ads/pool", body });
    const ads = json["ads"] as readonly { readonly render_token: string }[];
    if (ads.length === 0) throw new Error("The ad is not served yet.");
    return ads;
  });
  const render = { render_token: items[0]?.render_token, format: "card" };
  const { json } = await ask(base, company, { path: "/v1/ads/render", body: JSON.stringify(render) });
  const click = { click_token: json["click_token"] };
  await ask(base, company, { path: "/v1/ads/click", body: JSON.stringify(click) });
  await vi.waitFor(async () => {
    const { json: told } = await ask(
      node.running.urls.business_url,
      { key: advertiser.business.signingKey, grant: "" },
      { path: "/v1/ads/campaigns/spring", route: "/v1/ads/campaigns/:campaign_id", tag: "svc-business-read" },
    );
    const [found] = told["companies"] as readonly { readonly clicks: number }[];
    if (found?.clicks !== 1) throw new Error("The campaign was not told of the click yet.");
  });
  const campaign = `/ops/campaigns/${advertiser.uuid}/spring`;
  const route = "/ops/campaigns/:business_uuid/:campaign_id";
  await askOps(campaign, route);
  await askOps("/ops/campaigns", "/ops/campaigns");
  await askOps(`${campaign}/stop`, `${route}/stop`, {
    statement: "Article 7 of the terms.",
    expected: 0,
    ...act,
  });
  await askOps(`${campaign}/resume`, `${route}/resume`, { expected: 1, ...act });
  await askOps(`${campaign}/reverse`, `${route}/reverse`, { company_uuid: companyUuid, expected: 2, ...act });
  await advertiser.remove(String(ad["ad_id"]), "withdraw");
}

// Refusals of pools, renders and clicks of ads, with the ads of the sample businesses.

import { toBase64, utf8 } from "../../../protocol/bytes.ts";
import { isObject } from "../../../std/is-object.ts";
import { type Answer, type Attempts, type Refused, refusedBy, type Trial } from "./trial.ts";

const state = async (trial: Trial, event: string, body: object): Promise<Answer> => {
  const { searcher: caller } = await trial.everyday;
  return trial.send({ url: `${trial.sandbox.base_url}/v1/ads/${event}`, caller, body: JSON.stringify(body) });
};

const openPool = (trial: Trial, keyword: string): Promise<Answer> =>
  state(trial, "pool", { country: "US", keywords: [keyword], sort_by: "random:asc" });

/** The render token of one of the samples' ads. */
async function renderToken(trial: Trial): Promise<string> {
  const { ads } = (await openPool(trial, "diamonds")).json;
  const item = Array.isArray(ads) ? ads[0] : undefined;
  if (item === undefined || !isObject(item)) throw new Error("No sample has an ad about diamonds.");
  return String(item["render_token"]);
}

export const adRefusals: Attempts = {
  keyword_not_allowed: async (trial) => refusedBy(await openPool(trial, "ada@example.com")),
  ad_token_invalid: async (trial) => {
    const token = await renderToken(trial);
    const render_token = `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`;
    return refusedBy(await state(trial, "render", { render_token, format: "card" }));
  },
  ad_not_rendered: async (trial) =>
    refusedBy(await state(trial, "click", { click_token: await renderToken(trial) })),
  ad_unavailable: async (trial) => {
    const { searcher: caller } = await trial.everyday;
    const filter = { all: [{ country: "US" }, { sponsored: false }] };
    const body = JSON.stringify({ sort_by: "published_at:desc", limit: 1, filter });
    const url = `${trial.sandbox.base_url}/v1/products/search`;
    const { retrieval_id, rows } = (await trial.send({ url, caller, body })).json;
    const row = Array.isArray(rows) ? rows[0] : undefined;
    if (row === undefined || !isObject(row)) throw new Error("No sample has a product in US.");
    const { record_id } = row;
    return refusedBy(await state(trial, "render", { retrieval_id, record_id, format: "card" }));
  },
  campaign_refused: async (trial): Promise<Refused> => {
    const { publisher } = await trial.everyday;
    const record = utf8('{"schema":"svc/ad_campaign/1"}');
    const { batch_seal: seal } = await trial.seal(publisher, [record]);
    const body = JSON.stringify({ record_base64: toBase64(record), seal });
    const url = `${trial.sandbox.business_url}/v1/ads/records`;
    return refusedBy(await trial.send({ url, caller: publisher, tag: "svc-push", body }));
  },
};

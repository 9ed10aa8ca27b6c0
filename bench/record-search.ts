// A search that finds one record: it shows that the record is served.

import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { makeRequest } from "./requests.ts";
import { companyOf } from "./world.ts";

/** A search for a product by its name and its price. */
export async function recordSearch(sandbox: Sandbox, record: Uint8Array): Promise<Uint8Array> {
  const product = JSON.parse(Buffer.from(record).toString()) as {
    product_name: string;
    prices: readonly { amount: string; country: string }[];
  };
  const [price] = product.prices;
  const body = Buffer.from(
    JSON.stringify({
      collection: "products",
      q: product.product_name,
      query_by: ["product_name"],
      filter: { all: [{ country: price?.country }, { price_amount: price?.amount }] },
      sort_by: "published_at:desc",
    }),
  );
  const plan = { method: "POST", path: "/v1/search", tag: "svc-retrieval", body } as const;
  return await makeRequest(sandbox.base_url, companyOf(sandbox), plan);
}

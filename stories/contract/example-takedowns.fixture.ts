// The examples of what operators take out of serving: takedowns, held deletions and ordered purges, with what a business reads of them.
// Also those of the lists that operators set.

import { hashOf } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { readNumbered } from "../../service/register/home-evidence.ts";
import { openBusiness, product, sealAndPublish } from "../publishing/publishing.fixture.ts";
import { removeBy, sealRemoval } from "../publishing/removal.fixture.ts";
import type { ExampleAsker } from "./example-money.fixture.ts";

const act = { reason: "Complaint 4713" };
const uuid = "00000000-0000-4000-8000-0000000000ea";

export async function takedownExamples({
  node,
  ask,
  askOps,
}: Pick<ExampleAsker, "node" | "ask" | "askOps">): Promise<void> {
  const { services, urls } = node.running;
  const business = await openBusiness(services, uuid);
  const caller = { key: business.signingKey, grant: "" };
  const owns = ["example-released", "example-rejected", "example-purged"];
  await sealAndPublish(
    services,
    business,
    owns.map((own) => product(own)),
    { seq: 1 },
  );
  const [released = "", rejected = "", purged = ""] = owns.map((own) =>
    services.recordIdOf(uuid, "products", own),
  );
  const takedown = "/ops/takedowns/:subject";
  const statement = { statement_of_reasons: "Article 6 of the terms", expected: 0, ...act };
  await askOps(`/ops/takedowns/${purged}/impose`, `${takedown}/impose`, statement);
  await askOps("/ops/audit", "/ops/audit");
  await askOps(`/ops/takedowns/${purged}`, takedown);
  await services.register.refresh();
  await askOps("/ops/takedowns", "/ops/takedowns");
  await ask(urls.business_url, caller, { path: "/v1/takedowns", tag: "svc-business-read" });
  const { change: expected } = await readNumbered(services.actors, uuid, `takedown/${purged}`);
  await askOps(`/ops/takedowns/${purged}/lift`, `${takedown}/lift`, { expected, ...act });
  const ground = { ground: "Judgment 3 O 5/26", ...act };
  await askOps(`/ops/purge-orders/${purged}`, "/ops/purge-orders/:record_id", ground);
  const certId = await services.parties.issueCertificate({
    uuid,
    kind: "business",
    legal_name: business.party.legal_name,
    country: business.party.country,
    verified_since: formatTimestamp(0),
    status: "revoked",
    status_reason: "key_stolen",
    status_effective_from: formatTimestamp(Date.now()),
  });
  const deletions = "/ops/deletions/:business_uuid";
  for (const [record_id, last] of [
    [released, "release"],
    [rejected, "reject"],
  ] as const) {
    const document = { record_id, action: "delete" } as const;
    const sealed = await sealRemoval({ ...business, certId }, document, business.signingKey);
    await removeBy(services, business, "delete", sealed);
    if (last === "release") {
      await askOps(`/ops/deletions/${uuid}`, deletions);
      await ask(urls.business_url, caller, { path: "/v1/held-deletions", tag: "svc-business-read" });
    }
    const address = `/ops/deletions/${uuid}/${hashOf(sealed.document)}/${last}`;
    await askOps(address, `${deletions}/:document_hash/${last}`, act);
  }
}

export async function listExamples({ askOps }: Pick<ExampleAsker, "askOps">): Promise<void> {
  const effective_from = formatTimestamp(Date.now() + 86_400_000);
  const each = {
    products: "0.002",
    business_files: "0.002",
    events: "0.002",
    jobs: "0.002",
    updates: "0.002",
  };
  const texts = {
    "content-lists": { protected_names: ["Northwind Traders"], blocked_hosts: ["bad.example"] },
    "blocked-urls": "# malware\nbad.example\nhttps://sites.example/phish\n",
    "as-table": "203.0.113.0/24 64496\n",
    prices: { currency: "EUR", versions: [{ version: 1, effective_from, search: each, fetch: "0.01" }] },
    terms: { versions: [{ version: 1, effective_from, language: "en", text: "# Terms\n" }] },
  };
  for (const [list, content] of Object.entries(texts)) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    const set = `/ops/lists/${list}/set`;
    await askOps(set, set, { text, expected: null, ...act });
  }
  const named = "/ops/lists/:list";
  await askOps("/ops/lists", "/ops/lists");
  await askOps("/ops/lists/blocked-urls", named);
  await askOps("/ops/lists/blocked-urls/text?version=1", `${named}/text`);
}

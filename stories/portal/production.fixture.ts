// From nothing to verified records: a business and an AI company come in by pages and passkeys alone, as docs/production.md says under
// «The portal». For tests.

import { readFile, writeFile } from "node:fs/promises";
import { expect, vi } from "vitest";
import { push } from "../../cli/publishing/push.ts";
import { evidenceOf, verifyEvidenceFile } from "../../client/evidence.ts";
import type { Fetch } from "../../client/sender.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { parseUtf8, utf8 } from "../../protocol/bytes.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { priced } from "../publishing/hold-decisions.fixture.ts";
import { publicUrls } from "../regions/balancer.fixture.ts";
import {
  approvedAt,
  companyAppliedAt,
  idIn,
  newBusinessAt,
  type Owned,
  provenKey,
  registerKeyAt,
  showMandate,
  unescaped,
  writeRecord,
} from "./business.fixture.ts";

/** Where callers reach the nodes. */
export const addresses = {
  SVC_RETRIEVAL_URL: "https://api.example",
  SVC_BUSINESS_URL: "https://business.example",
  SVC_VERIFY_URL: "https://verify.example",
};

export interface ProductionWorld {
  /** The folder of those who act, which has the anchors. */
  readonly path: (name: string) => string;
  readonly portal: PortalNode;
  /** Through the load balancer, which has the certificate of these addresses. */
  readonly balanced: Fetch;
  /** Until every node knows what was decided. */
  readonly settled: () => Promise<unknown>;
  /** Happens between the words of a mandate and their seal. */
  readonly disturb: (visitor: Visitor) => Promise<void>;
}

/** Has the business's system push a table with the configuration that its page prints. */
async function pushTable({ path, balanced }: ProductionWorld, records: readonly Uint8Array[]) {
  await writeFile(path("products.json"), `[${records.map((each) => parseUtf8(each)).join(",")}]`);
  const words = [path("products.json"), "--config", path("business.json")];
  vi.stubGlobal("fetch", balanced);
  const run = runRevoke(words, { home: path("system"), reply: null, command: push });
  return run.finally(() => vi.unstubAllGlobals());
}

async function sealPolicy({ owner, uuid }: Owned) {
  const page = await owner.get(`/businesses/${uuid}/ai-policy`);
  const chosen = { "use/cite_as_source": "on", "action/answer": "on" };
  const shown = await owner.send(page.form("/ai-policies/make"), chosen);
  return owner.answer(shown.form("/records/seal"));
}

/** A developer who was invited, and has no sealing passkey, publishes a product by the key that the service holds; returns its id. */
async function publishHosted({ portal, settled }: ProductionWorld, shop: Owned): Promise<string> {
  const { owner, uuid } = shop;
  const page = await owner.get(`/businesses/${uuid}`);
  await owner.confirm((await owner.send(page.form("/hosted-publishing"))).form("/confirm"));
  const people = (await owner.get(`/people/${uuid}`)).form("/people/invite");
  const asked = await owner.send(people, { role: "developer" });
  const made = await owner.confirm(asked.form("/confirm"));
  const [, code = ""] = /\/invitation#([\w.-]+)"/.exec(made.html) ?? [];
  const developer = Visitor.of(portal);
  await developer.signUp("Grace Hopper");
  const shown = await developer.send((await developer.get("/invitation")).form("/invitation"), { code });
  await developer.confirm(shown.form("/confirm"));
  await settled();
  const words = await writeRecord({ ...shop, owner: developer }, "products", sampleRecords.products);
  return idIn(await developer.confirm(words.form("/records/seal")));
}

export async function tellProductionStory(world: ProductionWorld): Promise<void> {
  const { path, portal, balanced, settled, disturb } = world;
  expect(portal.origin).toBe("https://portal.example");
  const shop = await newBusinessAt(portal, "Harrier Sports Ltd");
  await settled();
  const { owner, uuid } = shop;
  const { jwk } = await registerKeyAt(portal, shop, await provenKey(shop));
  await settled();
  const words = (await showMandate(shop)).form("/mandates/seal");
  await disturb(owner);
  await owner.answer(words);
  await settled();
  expect((await sealPolicy(shop)).html).toContain("The AI policy is in force");

  const page = unescaped((await owner.get(`/businesses/${uuid}`)).html);
  const [, config = ""] = /<pre[^>]*>(\{.*?\})<\/pre>/s.exec(page) ?? [];
  expect(JSON.parse(config)).toMatchObject({ environment: "production" });
  await writeFile(path("business.json"), config);
  await writeFile(path("key.json"), JSON.stringify(jwk));
  const catalogue = Array.from({ length: 25 }, (_, at) => priced(`item-${at}`, "10.00"));
  const pushed = await pushTable(world, catalogue);
  expect(pushed.code, pushed.said + pushed.printed).toBe(0);
  expect((await owner.get(`/businesses/${uuid}/pushes`)).html).toMatch(/bat_[0-9a-f]{24}/);

  await pushTable(world, [priced("item-3", "99.00"), ...catalogue.filter((_, at) => at !== 3)]);
  const held = await owner.get(`/businesses/${uuid}/holds`);
  const decision = await owner.send(held.form("/holds/decide"), { decision: "confirm" });
  expect((await owner.answer(decision.form("/records/seal"))).html).toContain("The push is confirmed");

  const published = new Map<CollectionName, string>();
  for (const type of collectionNames.filter((each) => each !== "products")) {
    const shown = await writeRecord(shop, type, sampleRecords[type]);
    published.set(type, idIn(await owner.answer(shown.form("/records/seal"))));
  }

  published.set("products", await publishHosted(world, shop));

  const company = await approvedAt(portal, await companyAppliedAt(portal, "Answers Ltd"));
  await settled();
  const asker = await registerKeyAt(portal, company, await provenKey(company, "retrieval"));
  await settled();
  const key = await parseSigningKey(asker.jwk);
  if (!key.ok) throw new Error(key.detail);
  const client = createSvcClient({ fetch: balanced, key: key.value, ...publicUrls(addresses) });
  const anchorsText = await readFile(path("anchors.json"), "utf8");
  for (const collection of collectionNames) {
    const country = String(
      (sampleRecords[collection]["countries"] as readonly string[] | undefined)?.[0] ?? "US",
    );
    const filter = { all: [{ country }] } as const;
    // Rows of one second are in no order: the whole page is looked at.
    const asked = { collection, filter, sort_by: "published_at:desc" } as const;
    const found = async () => (await client.search(asked)).body.rows.map(({ record_id }) => record_id);
    const id = published.get(collection) ?? "";
    await expect.poll(found, { timeout: 30_000 }).toContain(id);
    const caller = { environment: "production", keyId: key.value.keyId } as const;
    const file = await evidenceOf(client, await client.fetchRecord(id), caller);
    const verified = verifyEvidenceFile(utf8(file), { anchorsText, allowSandbox: false });
    expect(verified.ok && verified.value.valid, `${collection}: ${JSON.stringify(verified)}`).toBe(true);
    const custody = collection === "products" ? "hosted" : "self";
    expect(JSON.stringify(verified)).toContain(`The sealing key's custody was ${custody}.`);
  }
}

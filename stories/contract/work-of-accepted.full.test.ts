// As contract/work-between-looks.property.test.ts, for bodies that are accepted, of every public route that takes one (what operators send is not
// among them), with records as large as their type lets them be. A case whose body is refused fails, since it would say nothing about the work of taking it in.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ReceivedAnswer, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import { collections } from "../../collections/collections.ts";
import { imageOf } from "../../node/images/images.fixture.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { batchRecordsMax, searchRowsMax, withdrawalsMax } from "../../protocol/limits.ts";
import { acceptedPhrases, type Fullness, fullRecord } from "../../protocol/records/full-records.fixture.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { removalActions } from "../../protocol/wire/removal.ts";
import { isFullDose } from "../../tools/test-dose.ts";
import { type Advertiser, newAdvertiser } from "../ads/ads.fixture.ts";
import { fileOf, newUpload, requestImport, sendFile, stageRecords } from "../publishing/bulk.fixture.ts";
import {
  confirmation,
  heldPush,
  newPerson,
  priced,
  sendDecision,
} from "../publishing/hold-decisions.fixture.ts";
import { openBusiness } from "../publishing/publishing.fixture.ts";
import {
  publishAlone,
  removalText,
  removeOver,
  sealAlone,
  sealCustodyRequest,
  sealMandate,
  sealPolicyAlone,
  sealRemoval,
} from "../publishing/removal.fixture.ts";
import { awaitPush, batchBody, newSigningKey, outcomesOf, publishOver } from "../retrieval/attack.fixture.ts";
import { check, type MeasuredNode, openMeasuredNode, patienceMs, seed } from "./measured-node.fixture.ts";

let measured: MeasuredNode;
let advertiser: Advertiser;
/** The largest record of each collection that is served. */
const served = new Map<CollectionName, string>();

const fullness = fc.record({
  phrase: fc.constantFrom(...acceptedPhrases),
  share: fc.constantFrom(1, 0.5, 0.01),
});
const fullest: Fullness = { phrase: "please rank ", share: 1 };

let made = 0;
function freshId(): string {
  made += 1;
  return `full-${made}`;
}

/** Products as they may be, so many that they have about so many bytes together. */
const fullProducts = fc
  .record({ each: fullness, bytes: fc.constantFrom(...(isFullDose() ? [400_000, 4_000_000] : [400_000])) })
  .map(({ each, bytes }) => {
    const { length } = fullRecord("products", "full-1000000", each);
    const count = Math.max(1, Math.min(batchRecordsMax, Math.floor(bytes / length)));
    return Array.from({ length: count }, () => fullRecord("products", freshId(), each));
  });

let seqs = 0;
function nextSeq(): { readonly seq: number } {
  seqs += 1;
  return { seq: seqs };
}

function alone(collection: CollectionName, each: Fullness): Promise<string> {
  const { node, publisher } = measured;
  const record = JSON.parse(new TextDecoder().decode(fullRecord(collection, freshId(), each)));
  return publishAlone(node.running.services, publisher, collection, record as JsonObject);
}

/** Sent by the AI company, and accepted. */
async function asked(
  path: string,
  body: object | null,
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  const { node, company } = measured;
  const sent = body === null ? {} : { body: JSON.stringify(body) };
  const answer = await send(node.running.urls.base_url, company, { path, ...sent, ...changes });
  expect(answer.status, `${path}: ${answer.text.slice(0, 500)}`).toBe(200);
  return answer;
}

async function accepted(sent: Promise<ReceivedAnswer>): Promise<ReceivedAnswer> {
  const answer = await sent;
  expect([200, 201, 202], answer.text.slice(0, 500)).toContain(answer.status);
  return answer;
}

/** The country that a record has whose share of countries is small. */
const [firstCountry = ""] = countries.codes;
const wholeSearch: JsonObject = {
  filter: { all: [{ country: firstCountry }] },
  sort_by: "published_at:desc",
  limit: searchRowsMax,
};

beforeAll(async () => {
  measured = await openMeasuredNode();
  advertiser = await newAdvertiser(measured.node);
  for (const collection of collectionNames) served.set(collection, await alone(collection, fullest));
}, patienceMs);

afterAll(() => measured?.[Symbol.asyncDispose]());

/** Every route that takes a body, with what sends one that is accepted. */
const cases: Readonly<Record<string, () => Promise<void>>> = {
  "/v1/publish/products": () =>
    check(fullProducts, async (records) => {
      const { node, publisher, measure } = measured;
      const { body, pushId } = await batchBody(publisher, records, nextSeq());
      for (const query of ["?validate_only=true", ""])
        await measure(`POST /v1/publish/products${query}`, async () => {
          const answer = await accepted(
            publishOver(node, publisher, body, { path: `/v1/publish/products${query}` }),
          );
          if (query !== "")
            expect(new Set(outcomesOf(answer).map(({ outcome }) => outcome))).toEqual(new Set(["accepted"]));
          else
            expect(await awaitPush(node, publisher, pushId)).toMatchObject({
              state: "complete",
              counts: { accepted: records.length },
            });
        });
    }),
  "/v1/bulk-uploads": () =>
    measured.measure("POST /v1/bulk-uploads", async () => {
      await newUpload(measured.node.running.urls, measured.publisher);
    }),
  "/v1/bulk-uploads/{upload_id}/file": () =>
    check(fullProducts, async (records) => {
      const { node, publisher, measure } = measured;
      const upload = await newUpload(node.running.urls, publisher);
      const file = fileOf(records);
      await measure("POST /v1/bulk-uploads/{upload_id}/file", async () => {
        expect(await sendFile(upload, file)).toMatchObject({ status: 201 });
      });
    }),
  "/v1/bulk-imports": () =>
    check(fullProducts, async (records) => {
      const { node, publisher, measure } = measured;
      const { body, pushId } = await stageRecords(node, publisher, records, nextSeq());
      for (const query of ["?validate_only=true", ""])
        await measure(`POST /v1/bulk-imports${query}`, async () => {
          const path = `/v1/bulk-imports${query}`;
          await accepted(requestImport(node.running.urls, publisher, body, { path }));
          if (query === "")
            expect(await awaitPush(node, publisher, pushId)).toMatchObject({
              state: "complete",
              counts: { accepted: records.length },
            });
        });
    }),
  ...Object.fromEntries(
    collectionNames.map((type) => {
      const path = `/v1/publish/${collections[type].path}/record`;
      const run = () =>
        check(fullness, async (each) => {
          const { node, publisher, measure } = measured;
          const record = JSON.parse(
            new TextDecoder().decode(fullRecord(type, freshId(), each)),
          ) as JsonObject;
          const { body } = await sealAlone(node.running.services, publisher, type, record);
          await measure(`POST ${path}`, async () => {
            const { json } = await accepted(publishOver(node, publisher, body, { path }));
            expect(json).toMatchObject({ outcome: "accepted" });
          });
        });
      return [path, run] as const;
    }),
  ),
  "/v1/ai-policies": async () => {
    const { node, measure } = measured;
    const { services } = node.running;
    const business = await openBusiness(services, "00000000-0000-4000-8000-0000000000a1", "Policies Ltd");
    const body = await sealPolicyAlone(services, business);
    await measure("POST /v1/ai-policies", () =>
      accepted(publishOver(node, business, body, { path: "/v1/ai-policies" })),
    );
  },
  "/v1/mandates": async () => {
    const { node, measure } = measured;
    const { services } = node.running;
    const business = await openBusiness(services, "00000000-0000-4000-8000-0000000000a2", "Mandates Ltd");
    const source_ip_allow_list = Array.from({ length: 256 }, (_, at) => `2001:db8:${at.toString(16)}::/48`);
    const scope = { countries: [...countries.codes], source_ip_allow_list };
    const body = await sealMandate(services, business, scope);
    await measure("POST /v1/mandates", () =>
      accepted(publishOver(node, business, body, { path: "/v1/mandates" })),
    );
  },
  "/v1/key-custody": async () => {
    const { node, measure } = measured;
    const uuid = "00000000-0000-4000-8000-0000000000a3";
    const business = await openBusiness(node.running.services, uuid, "Custody Ltd");
    const body = await sealCustodyRequest(business, await newPerson(node, business));
    await measure("POST /v1/key-custody", () =>
      accepted(publishOver(node, business, body, { path: "/v1/key-custody" })),
    );
  },
  ...Object.fromEntries(
    collectionNames.flatMap((type) =>
      removalActions.map((action) => {
        const path = `/v1/publish/${collections[type].path}/${action}`;
        const run = async (): Promise<void> => {
          const { node, publisher, measure } = measured;
          const record_id = await alone(type, fullest);
          const sealed = await sealRemoval(publisher, { record_id, action }, publisher.signingKey, {
            record_type: type,
          });
          const { business_url } = node.running.urls;
          await measure(`POST ${path}`, () =>
            accepted(removeOver(business_url, publisher, { type, action }, sealed)),
          );
        };
        return [path, run] as const;
      }),
    ),
  ),
  "/v1/withdrawals": async () => {
    const { node, publisher, measure } = measured;
    const ids: string[] = [];
    for (let count = 0; count < withdrawalsMax; count += 1)
      ids.push(await alone("products", { ...fullest, share: 0.1 }));
    const sealed = await Promise.all(
      ids.map((record_id) => sealRemoval(publisher, { record_id }, publisher.signingKey)),
    );
    const body = `{"withdrawals":[${sealed.map(removalText).join(",")}]}`;
    await measure("POST /v1/withdrawals", async () => {
      const answer = await accepted(publishOver(node, publisher, body, { path: "/v1/withdrawals" }));
      expect(answer.text.match(/"live_in":\[\]/g)).toHaveLength(withdrawalsMax);
    });
  },
  "/v1/pushes/{push_id}/hold": async () => {
    const { node, measure } = measured;
    const each = { phrase: "shoe ", share: 0.2 };
    const usual = { countries: ["US"], prices: [{ country: "US", currency: "USD", amount: "10.00" }] };
    const more = Array.from({ length: 400 }, () => fullRecord("products", freshId(), each, usual));
    const held = await heldPush(node, [priced("item-3", "99.00"), ...more]);
    const decision = await confirmation(held);
    await measure("POST /v1/pushes/{push_id}/hold", async () => {
      await accepted(sendDecision(node, held.business, held.pushId, decision));
      const report = await awaitPush(node, held.business, held.pushId);
      expect(report).toMatchObject({ state: "complete", counts: { accepted: more.length, updated: 1 } });
    });
  },
  "/v1/ads/images": () =>
    measured.measure("POST /v1/ads/images", async () => {
      const bytes = await imageOf("image/png", { width: 820, height: 820 });
      const caller = { key: advertiser.business.signingKey, grant: "" };
      const headers = { "content-type": "image/png" };
      const sent = { path: "/v1/ads/images", body: bytes, tag: "svc-push", headers } as const;
      await accepted(send(measured.node.running.urls.business_url, caller, sent));
    }),
  "/v1/ads/records": () =>
    check(
      fullness.filter(({ phrase }) => !phrase.includes("/")),
      async (each) => {
        const { measure, node } = measured;
        await measure("POST /v1/ads/records of a campaign", () => accepted(advertiser.campaign()));
        const ad = JSON.parse(new TextDecoder().decode(fullRecord("ads", freshId(), each)));
        const images = [await advertiser.image()];
        await measure("POST /v1/ads/records of an ad", () => accepted(advertiser.publish({ ...ad, images })));
        const { services } = node.running;
        const record_id = await publishAlone(services, advertiserParty(), "products", {
          business_product_id: freshId(),
        });
        const product = { schema: "svc/ad_product/1", campaign_id: "spring", record_id };
        await measure("POST /v1/ads/records of a product", () =>
          accepted(advertiser.publish({ ...product, countries: [...countries.codes] })),
        );
      },
    ),
  "/v1/ads/remove": async () => {
    await accepted(advertiser.campaign());
    const ad = JSON.parse(new TextDecoder().decode(fullRecord("ads", freshId(), fullest)));
    const { json } = await accepted(advertiser.publish(ad));
    await measured.measure("POST /v1/ads/remove", () =>
      accepted(advertiser.remove(String(json["ad_id"]), "delete")),
    );
  },
  "/v1/ads/pool": async () => void (await openedPool()),
  "/v1/ads/render": async () => void (await rendered()),
  "/v1/ads/click": async () => {
    const { json } = await rendered();
    await measured.measure("POST /v1/ads/click", () =>
      asked("/v1/ads/click", { click_token: json["click_token"] }),
    );
  },
  ...Object.fromEntries(
    collectionNames.map((type) => {
      const path = `/v1/${collections[type].path}/search`;
      const run = async (): Promise<void> => {
        for (let count = 0; count < searchRowsMax; count += 1) await alone(type, { ...fullest, share: 0.3 });
        const found = async () => (await asked(path, wholeSearch)).json["rows"];
        await expect.poll(found, { timeout: patienceMs }).toHaveLength(searchRowsMax);
        await measured.measure(`POST ${path}`, found);
      };
      return [path, run] as const;
    }),
  ),
  "/v1/search": async () => {
    const body = { collection: "products", ...wholeSearch };
    await measured.measure("POST /v1/search", () => asked("/v1/search", body));
  },
  "/v1/key-directory/listing": async () => {
    await measured.measure("POST /v1/key-directory/listing", () =>
      asked("/v1/key-directory/listing", { listed: true }),
    );
  },
  "/v1/sandbox/grants": async () => {
    const key = await newSigningKey();
    const body = { public_key: key.publicJwk, role: "retrieval", legal_name: "x".repeat(200), country: "GB" };
    const { base_url } = measured.node.running.urls;
    await measured.measure("POST /v1/sandbox/grants", () =>
      accepted(
        send(base_url, { key, grant: "" }, { path: "/v1/sandbox/grants", body: JSON.stringify(body) }),
      ),
    );
  },
  "/v1/verify": async () => {
    const { verify_url } = measured.node.running.urls;
    for (const type of collectionNames) {
      const body = await evidenceOf(type);
      await measured.measure("POST /v1/verify", async () => {
        const { json } = await accepted(send(verify_url, null, { path: "/v1/verify", body }));
        expect(json).toMatchObject({ valid: true });
      });
    }
    const [item] = await openedPool();
    const body = JSON.stringify({ ad_item: item });
    await measured.measure("POST /v1/verify of an ad", async () => {
      const { json } = await accepted(send(verify_url, null, { path: "/v1/verify", body }));
      expect(json).toMatchObject({ valid: true });
    });
  },
  "/v1/mcp/public": async () => {
    const path = "/v1/mcp/public";
    const accept = "application/json, text/event-stream";
    const base = measured.node.running.urls.mcp_url ?? "";
    const post = (message: object, headers: SentRequest["headers"] = {}) =>
      accepted(send(base, null, { path, body: JSON.stringify(message), headers: { accept, ...headers } }));
    const clientInfo = { name: "example", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const opened = await post({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") };
    const call = { name: "verify", arguments: JSON.parse(await evidenceOf("business_files")) };
    await measured.measure(`POST ${path}`, async () => {
      const { text } = await post({ jsonrpc: "2.0", id: 2, method: "tools/call", params: call }, session);
      expect(text).toMatch(/valid\\*":true/);
    });
  },
};

function advertiserParty() {
  const { party, certId } = advertiser.business;
  return { party, certId };
}

/** A pool of as many ads as there may be, all of them as large as they may be. */
async function openedPool(): Promise<readonly { readonly render_token: string }[]> {
  await accepted(advertiser.campaign());
  for (let count = 0; count < 20; count += 1) {
    const ad = JSON.parse(new TextDecoder().decode(fullRecord("ads", freshId(), fullest)));
    await accepted(advertiser.publish({ ...ad, keywords: ["shoes"] }));
  }
  const request = { country: "US", keywords: ["shoes"], sort_by: "random:asc,net_price:asc" };
  const { json } = await measured.measure("POST /v1/ads/pool", () => asked("/v1/ads/pool", request));
  expect(json["ads"]).toHaveLength(20);
  return json["ads"] as readonly { readonly render_token: string }[];
}

async function rendered(): Promise<ReceivedAnswer> {
  const [item] = await openedPool();
  const body = { render_token: item?.render_token, format: "card" };
  return measured.measure("POST /v1/ads/render", () => asked("/v1/ads/render", body));
}

/** What a fetch of the largest record of a type answers, as the body of a verification. */
async function evidenceOf(type: CollectionName): Promise<string> {
  const path = `/v1/records/${served.get(type)}`;
  const { text } = await measured.measure("GET /v1/records/{record_id}", () => asked(path, null));
  const { seal, sidecar } = JSON.parse(text) as JsonObject;
  const record_base64 = toBase64(utf8(exactMember(text, "record") ?? ""));
  return JSON.stringify({ record_base64, seal, sidecar });
}

describe(`work between two looks at the time, seed ${seed}, of an accepted body of`, () => {
  it.each(Object.entries(cases))("%s", { timeout: patienceMs }, (_path, run) => run());

  it("every route that takes one", async () => {
    const { base_url, business_url, verify_url, mcp_url } = measured.node.running.urls;
    const taking: string[] = [];
    for (const base of [base_url, business_url, verify_url, mcp_url ?? ""]) {
      const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as {
        readonly paths: Readonly<Record<string, { readonly post?: { readonly requestBody?: unknown } }>>;
      };
      taking.push(...Object.keys(paths).filter((path) => paths[path]?.post?.requestBody !== undefined));
    }
    // Only products are published through the interface for systems, and this node has no terms to agree to.
    const never = collectionNames
      .filter((name) => name !== "products")
      .map((name) => `/v1/publish/${collections[name].path}`);
    expect(new Set(taking)).toEqual(new Set([...Object.keys(cases), ...never, "/v1/terms/agreements"]));
  });

  it.each(collectionNames)(
    "a record of %s that is sealed alone",
    { timeout: patienceMs },
    async (collection) => {
      const publish = (each: Fullness) =>
        measured.measure(`a record of ${collection}`, () => alone(collection, each));
      await publish(fullest);
      await check(fullness, async (each) => void (await publish(each)));
    },
  );
});

// However a body is made that a route takes in, a node never does more work at a stretch than takes 50 ms on the machine whose figures
// docs/hardening.md has. Work is counted (std/work.ts), so nothing here depends on the machine; SVC_WORK_TABLE=1 prints what each route came
// to beside the processor time, which is how the costs and the bound are calibrated. Bodies that are accepted, of every route, are in
// work-of-accepted.full.test.ts.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshNonce, type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { messageBytesMax } from "../../api/tools.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import {
  adRequestBytesMax,
  batchRecordsMax,
  imageBytesMax,
  recordCharactersMax,
  requestBytesMax,
  verifyBytesMax,
  withdrawalsMax,
} from "../../protocol/limits.ts";
import { fileOf, newUpload, requestImport, sendFile, stageRecords } from "../publishing/bulk.fixture.ts";
import { product, seal, type TestBusiness } from "../publishing/publishing.fixture.ts";
import { removalText, sealRemoval } from "../publishing/removal.fixture.ts";
import { type AttackNode, awaitPush, batchBody, publishOver } from "../retrieval/attack.fixture.ts";
import { hostileJson, hostileRecord, hostileRecords } from "./hostile-bodies.fixture.ts";
import {
  check,
  type MeasuredNode,
  numRuns,
  openMeasuredNode,
  patienceMs,
  seed,
} from "./measured-node.fixture.ts";

const recordBytesMax = (recordCharactersMax / 4) * 3;

let measured: MeasuredNode;
let node: AttackNode;
let company: TestCaller;
let publisher: TestBusiness;
let measure: MeasuredNode["measure"];

beforeAll(async () => {
  measured = await openMeasuredNode();
  ({ node, company, publisher, measure } = measured);
  const records = Array.from({ length: 60 }, (_, index) => product(`first-${index}`));
  const { body, pushId } = await batchBody(publisher, records);
  expect((await publishOver(node, publisher, body)).status).toBe(202);
  await awaitPush(node, publisher, pushId);
});

afterAll(() => measured?.[Symbol.asyncDispose]());

let seqs = 1;
function nextSeq(): { readonly seq: number } {
  seqs += 1;
  return { seq: seqs };
}

describe(`work between two looks at the time, seed ${seed}`, () => {
  const batches = hostileRecords(batchRecordsMax, recordBytesMax);

  it.each([
    ["validated", "?validate_only=true"],
    ["published", ""],
  ])("of a batch that is %s", { timeout: patienceMs }, (name, query) =>
    check(batches, async ({ records }) => {
      const { body, pushId } = await batchBody(publisher, records, nextSeq());
      await measure(`POST /v1/publish/products, ${name}`, async () => {
        const answer = await publishOver(node, publisher, body, { path: `/v1/publish/products${query}` });
        expect([200, 202], answer.text.slice(0, 300)).toContain(answer.status);
        if (answer.status === 202) await awaitPush(node, publisher, pushId);
      });
    }),
  );

  it("of a request with as many withdrawals as it may have", async () => {
    const { recordIdOf } = node.running.services;
    const sealed = Array.from({ length: withdrawalsMax }, (_, index) => {
      const record_id = recordIdOf(publisher.party.uuid, "products", `first-${index}`);
      return sealRemoval(publisher, { record_id }, publisher.signingKey);
    });
    const body = `{"withdrawals":[${(await Promise.all(sealed)).map(removalText).join(",")}]}`;
    await measure("POST /v1/withdrawals", async () => {
      const answer = await publishOver(node, publisher, body, { path: "/v1/withdrawals" });
      expect(answer.text.match(/"live_in":\[\]/g)).toHaveLength(withdrawalsMax);
    });
  });

  it("of a file that is sent, validated and imported", { timeout: patienceMs }, () =>
    check(hostileRecords(20_000, recordBytesMax), async ({ records }) => {
      const { body, pushId } = await stageRecords(node, publisher, records, nextSeq());
      const upload = await newUpload(node.running.urls, publisher);
      const file = fileOf(records);
      await measure("POST /v1/bulk-uploads/{upload_id}/file", async () => {
        expect(await sendFile(upload, file)).toMatchObject({ status: 201 });
      });
      for (const [name, query] of [
        ["validated", "?validate_only=true"],
        ["imported", ""],
      ])
        await measure(`POST /v1/bulk-imports, ${name}`, async () => {
          const path = `/v1/bulk-imports${query}`;
          const answer = await requestImport(node.running.urls, publisher, body, { path });
          expect([200, 202], answer.text.slice(0, 300)).toContain(answer.status);
          if (answer.status === 202) await awaitPush(node, publisher, pushId);
        });
    }),
  );

  const sent = (base: string, path: string, body: Uint8Array): Promise<ReceivedAnswer> => {
    const caller = callerOf(base);
    return send(base, caller, {
      path,
      body,
      tag: caller === company ? "svc-retrieval" : "svc-push",
      headers: {
        "idempotency-key": freshNonce(),
        ...(caller === company ? {} : { "svc-sandbox-key": null }),
      },
    });
  };

  const callerOf = (base: string): TestCaller | null => {
    const { base_url, business_url } = node.running.urls;
    if (base === base_url) return company;
    return base === business_url ? { key: publisher.signingKey, grant: "" } : null;
  };

  it.each(collectionNames)("of a search for %s", (collection) =>
    check(
      fc.record({
        word: hostileJson,
        clauses: fc.integer({ min: 1, max: 19 }),
        member: fc.constantFrom("q", "brand", "tags"),
      }),
      async ({ word, clauses, member }) => {
        const operand = word(400);
        const q = typeof operand === "string" ? { q: operand.slice(0, 500) } : {};
        const countryOnly = [{ country: "US" }];
        const whole = { ...q, sort_by: "q" in q ? "_text_match:desc" : "published_at:desc", limit: 50 };
        const narrow = [
          ...countryOnly,
          ...Array.from({ length: clauses }, () => ({ [member]: { in: [operand] } })),
        ];
        const path = `/v1/${collection.replaceAll("_", "-")}/search`;
        for (const all of [countryOnly, narrow])
          await measure(`POST ${path}`, async () => {
            const asked = utf8(JSON.stringify({ ...whole, filter: { all } }));
            const { status } = await sent(node.running.urls.base_url, path, asked);
            expect(all === countryOnly && !("q" in q) ? [200] : [200, 400]).toContain(status);
          });
      },
    ),
  );

  /** Bodies of these are made above. */
  const made = ["/v1/publish/products", "/v1/bulk-imports", "/v1/bulk-uploads/{upload_id}/file"];

  /** The longest body of each route whose bodies are parsed as a whole. */
  const bytesMaxOf = (path: string): number => {
    if (path === "/v1/mcp/public") return messageBytesMax;
    if (/^\/v1\/(?:verify|ads\/records|ads\/remove)$/.test(path)) return verifyBytesMax;
    if (path === "/v1/ads/images") return imageBytesMax;
    return path.startsWith("/v1/ads/") ? adRequestBytesMax : requestBytesMax;
  };

  it("of any other body, of every route that takes one", { timeout: patienceMs }, async () => {
    const { base_url, business_url, verify_url, mcp_url } = node.running.urls;
    for (const base of [base_url, business_url, verify_url, ...(mcp_url === null ? [] : [mcp_url])]) {
      const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as {
        readonly paths: Readonly<Record<string, { readonly post?: { readonly requestBody?: unknown } }>>;
      };
      const taking = Object.keys(paths).filter((path) => paths[path]?.post?.requestBody !== undefined);
      expect(taking.length).toBeGreaterThan(0);
      for (const path of taking.filter((each) => !made.includes(each)))
        await check(
          fc.record({ json: hostileJson, makeRecord: hostileRecord }),
          async ({ json, makeRecord }) => {
            const bytesMax = bytesMaxOf(path);
            const record = makeRecord(Math.min(recordBytesMax, Math.floor(bytesMax / 2)), "p0");
            const { batch_seal } = await seal(publisher, [record]);
            const sealed = { batch_seal, leaf_index: 0, tree_size: 1, proof: [] };
            const evidence = { record_base64: toBase64(record), seal: sealed };
            const called = { name: "search_products", arguments: json(bytesMax - 200) };
            const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: called };
            for (const body of [json(bytesMax), path === "/v1/mcp/public" ? call : evidence])
              await measure(`POST ${path}`, async () => {
                const answer = await sent(
                  base,
                  path.replaceAll(/\{[a-z_]+\}/g, "x"),
                  utf8(JSON.stringify(body)),
                );
                expect(answer.status, path).toBeLessThan(500);
              });
          },
          Math.ceil(numRuns / 2),
        );
    }
  });
});

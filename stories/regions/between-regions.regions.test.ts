// Traffic between regions in normal operation: rows in every region's index, receipts and nonces that stay in their region,
// homes that move, an index rebuild, and revocations: what an operator of one region revokes is refused in every region within seconds.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { freshNonce, type SentRequest, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { createSigner } from "../../crypto/private-jwk.ts";
import {
  openCluster,
  type TestCluster,
  type TestNode,
  testSeed,
} from "../../node/composition/cluster.fixture.ts";
import { operated, ordered, testAct } from "../../node/composition/cluster-ops.fixture.ts";
import { trustIn } from "../../node/keys/trusted-files.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { algorithmOf } from "../../protocol/keys/jwk.ts";
import type { KeyEntry } from "../../protocol/keys/key-set.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { openCassandraClusterStore } from "../../storage/cassandra/cluster-store.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { verifyReceipt } from "../../verifier/receipt.ts";
import { createClient } from "./cluster-client.fixture.ts";
import { openBusiness, productSearch, products, search } from "./cluster-load.fixture.ts";
import { openTruth, publicationFaults, receiptFaults } from "./cluster-truth.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
const regions = [home, other] as const;
const { random } = testSeed("between regions", 20_261_123);
const records = 1_000;
/** The meaning of «within seconds» here: the register's own bound, doubled for a busy machine. */
const withinMs = 10_000;
const engines = enginesUnderTest();
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines, nodes: { [home]: 2, [other]: 1 } });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const once = (records: readonly Uint8Array[]) => records.map((bytes) => [bytes]);

async function shownBy(node: TestNode, path: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await contractFetch(`${node.urls.ops}${path}`);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

describe("two regions", () => {
  it("have every published row in both indexes", async () => {
    for (const region of regions) {
      const business = await openBusiness(cluster, region);
      const published = products(region, 60);
      const push = await business.push(1, published);
      await push.send();
      await push.untilComplete();
      const faults = await publicationFaults(cluster, {
        business: business.caller.uuid,
        published: once(published),
      });
      expect(faults).toEqual([]);
    }
  });

  it("give receipts by keys of their own, which the key set names with the region", async () => {
    const company = await cluster.newCompany();
    const { trust, entries } = await trustOf(cluster);
    for (const region of regions) {
      const client = createClient(company, cluster.nodesOf(region));
      const { json } = await client.expectAnswer(200, "retrieval", productSearch);
      const receipt = json["receipt"] as unknown as {
        readonly signatures: readonly { readonly keyid: string }[];
      };
      const verdict = verifyReceipt(trust, receipt as unknown as JsonValue, {
        callerKeyId: company.key.keyId,
      });
      expect(verdict).toMatchObject({ ok: true, value: { region } });
      const signer = entries.find(({ key_id }) => key_id === receipt.signatures[0]?.keyid);
      expect(signer).toMatchObject({ use: "receipt", region });
      expect(await receiptFaults(cluster, { region, exchanges: client.exchanges })).toEqual([]);
    }
  });

  it("take a nonce once each, at whichever node", async () => {
    const company = await cluster.newCompany();
    const asked: SentRequest = { ...productSearch, nonce: freshNonce() };
    for (const region of regions) {
      const [first, ...rest] = cluster.nodesOf(region).map((node) => createClient(company, [node]));
      await first?.expectAnswer(200, "retrieval", asked);
      for (const node of [first, ...rest]) {
        const again = await node?.expectAnswer(401, "retrieval", asked);
        expect(again?.json["code"]).toBe("nonce_reused");
      }
    }
  });

  it("move a business's home from one to the other during a push: each record exactly once", async () => {
    const business = await openBusiness(cluster, home);
    const { uuid } = business.caller;
    const first = products("move", records);
    const push = await business.push(1, first);
    await push.send();
    await push.untilSettled(Math.floor(random() * 0.5 * records));
    const [node] = cluster.nodesOf(home);
    expect(await ordered(node, "moves", { party: uuid, to: other })).toBe("moved");
    expect((await push.untilComplete()).counts["accepted"]).toBe(records);
    const corrected = products("move", 60, { short_description: "Said at the new home." });
    const corrections = await business.push(2, corrected);
    await corrections.send();
    expect((await corrections.untilComplete()).counts["updated"]).toBe(corrected.length);
    await using truth = await openTruth(cluster, other);
    const stored = await openCassandraClusterStore(truth.session).readHome(uuid);
    expect(stored).toMatchObject({ region: other, moving_to: null });
    const homes = await truth.session.execute(
      "SELECT home FROM actor WHERE kind = 'business' AND id = ? LIMIT 1",
      [uuid],
      { consistency: "EACH_QUORUM", idempotent: true },
    );
    expect(homes.rows).toEqual([{ home: other }]);
    const published = first.map((bytes, at) => [bytes, ...corrected.slice(at, at + 1)]);
    expect(await publicationFaults(cluster, { business: uuid, published })).toEqual([]);
  });

  it("build an index anew while searches and pushes go on: without a gap", async () => {
    const business = await openBusiness(cluster, home);
    const searching = await search(cluster, home);
    const first = products("anew", records);
    const push = await business.push(1, first);
    await push.send();
    const serving = await servingIndex();
    const [node] = cluster.nodesOf(home);
    expect(await ordered(node, "rebuild", { collection: "products" })).toBe("begun");
    await push.untilComplete();
    const published = [...first];
    let seq = 1;
    do {
      seq += 1;
      const more = products(`anew-${seq}`, 60);
      const next = await business.push(seq, more);
      await next.send();
      await next.untilComplete();
      published.push(...more);
    } while ((await servingIndex()) === serving);
    const exchanges = await searching.stop();
    const rows = exchanges.map(
      ({ answer }) => (answer?.json["rows"] as readonly unknown[] | undefined)?.length,
    );
    // Ten are requested, while more of them keep arriving.
    expect(rows.filter((count) => count !== 10)).toEqual([]);
    const { uuid } = business.caller;
    expect(await publicationFaults(cluster, { business: uuid, published: once(published) })).toEqual([]);
  });
});

const context: SentRequest = { path: "/v1/seal-context", tag: "svc-business-read" };

/** The answers of all nodes, polled until each is as expected or the time is over. */
async function everywhere(ask: (node: TestNode) => Promise<unknown>, expected: unknown): Promise<void> {
  for (const node of cluster.nodes) {
    await expect
      .poll(() => ask(node), { timeout: withinMs, interval: 200, message: node.name })
      .toEqual(expected);
  }
}

const codeOf = async (
  node: TestNode,
  surface: "retrieval" | "business",
  caller: TestCaller,
  request: SentRequest,
): Promise<unknown> => {
  const answer = await send(node.urls[surface], caller, request);
  return answer.json["code"] ?? answer.status;
};

const only = <T>([first]: readonly T[]): T => {
  if (first === undefined) throw new Error("There is none.");
  return first;
};

describe("an operator in another region than the party's", () => {
  it("revokes a business's key: nothing is published or read with it anywhere, and everybody sees since when", async () => {
    const business = await openBusiness(cluster, home);
    const { key } = business.caller;
    const first = await business.push(1, products("before", 3));
    expect((await first.send()).status).toBe(200);
    const second = await business.push(2, products("after", 3));
    await everywhere((node) => codeOf(node, "business", business.caller, context), 200);
    const operator = only(cluster.nodesOf(other));
    const compromised_from = formatTimestamp(Date.now() - 60_000);
    const path = `/ops/keys/${key.keyId}/revoke`;
    const done = await operated(operator, path, { compromised_from });
    expect(done).toMatchObject({ changed: true, key: { compromised_from, revoked_at: done["since"] } });
    // The home decides, so publishing ends with the answer.
    await expect(second.send()).rejects.toThrow(/ 401 .*key_unknown/);
    await everywhere((node) => codeOf(node, "business", business.caller, context), "key_unknown");
    await everywhere(async (node) => {
      const { json } = await send(node.urls.verification, null, {
        path: `/v1/certificates/${business.caller.uuid}/keys`,
      });
      const keys = json["keys"] as readonly Readonly<Record<string, unknown>>[];
      return keys.find(({ key_id }) => key_id === key.keyId)?.["compromised_from"];
    }, compromised_from);
    for (const node of cluster.nodes)
      expect(await operated(node, path, { compromised_from })).toEqual({ ...done, changed: false });
    const acts = await contractFetch(`${operator.urls.ops}/ops/acts/${business.caller.uuid}`);
    expect(((await acts.json()) as { readonly acts: object }).acts).toMatchObject([
      { ...testAct, act: "key.revoke", entry: `key/${key.keyId}` },
    ]);
  });

  it("revokes an AI company's key, and ends a certificate: searches and pushes are refused", async () => {
    const company = await cluster.newCompany();
    await everywhere((node) => codeOf(node, "retrieval", company, productSearch), 200);
    const operator = only(cluster.nodesOf(home));
    await operated(operator, `/ops/keys/${company.key.keyId}/revoke`);
    await everywhere((node) => codeOf(node, "retrieval", company, productSearch), "key_unknown");

    const business = await openBusiness(cluster, home);
    const push = await business.push(1, products("ended", 3));
    const path = `/ops/certificates/${business.caller.uuid}/withdraw`;
    const shown = await shownBy(only(cluster.nodesOf(other)), `/ops/certificates/${business.caller.uuid}`);
    const { cert_id } = shown["certificate"] as { readonly cert_id: string };
    const ending = { cert_id, status_reason: "approval_reversed" };
    const done = await operated(only(cluster.nodesOf(other)), path, ending);
    expect(done).toMatchObject({ changed: true, certificate: { status: "withdrawn" } });
    await expect(push.send()).rejects.toThrow(/ 403 .*business_not_verified/);
    await everywhere(
      async (node) => {
        const { json } = await send(node.urls.verification, null, {
          path: `/v1/certificates/${business.caller.uuid}`,
        });
        return [json["status"], json["status_effective_from"]];
      },
      ["withdrawn", done["since"]],
    );
  });

  it("blocks a group: its companies find nothing of the business anywhere, also after a change of group", async () => {
    const business = await openBusiness(cluster, home);
    const company = await cluster.newCompany();
    const found = async (node: TestNode): Promise<boolean> => {
      const { json } = await send(node.urls.retrieval, company, productSearch);
      return JSON.stringify(json["rows"]).includes(business.caller.uuid);
    };
    const push = await business.push(1, products("blocked", 3));
    expect((await push.send()).status).toBe(200);
    await everywhere(found, true);
    const operator = only(cluster.nodesOf(other));
    const path = `/ops/blocks/${business.caller.uuid}`;
    // A group that is new is known in every region once its registers have followed.
    const seen = async (at: string, name: string) => {
      const { change } = (await shownBy(operator, at))[name] as { readonly change: number };
      return { expected: change };
    };
    const block = async () =>
      operated(operator, `${path}/block`, { group: company.uuid, ...(await seen(path, "blocks")) });
    await expect
      .poll(block, { timeout: withinMs })
      .toMatchObject({ blocks: { blocked: [{ group: company.uuid }] } });
    await everywhere(found, false);
    const group = `/ops/groups/${company.uuid}`;
    const joining = { group: "another-group", ...(await seen(group, "company")) };
    const joined = await operated(operator, `${group}/join`, joining);
    expect(joined).toMatchObject({ changed: true, company: { former_groups: [company.uuid] } });
    for (const node of cluster.nodes)
      await expect
        .poll(async () => (await contractFetch(`${node.urls.ops}/ops/groups/${company.uuid}`)).json(), {
          timeout: withinMs,
        })
        .toMatchObject({ company: { group: "another-group" } });
    for (const node of cluster.nodes) expect(await found(node)).toBe(false);
    await operated(operator, `${path}/unblock`, { group: company.uuid, ...(await seen(path, "blocks")) });
    await everywhere(found, true);
  });
});

/** The index behind the alias that is searched in the home region. */
async function servingIndex(): Promise<string> {
  const alias = `${cluster.indexPrefix(home)}products`;
  const answer = await fetch(`${engines.elastic[0]}/_alias/${alias}`);
  return Object.keys((await answer.json()) as object).join(",");
}

/** The trust of a verifier that has the cluster's roots as anchors and its published key set. */
async function trustOf({ keyStore, nodes }: TestCluster) {
  const halves = await Promise.all([
    keyStore.loadOrCreate("root-p256", "ES256"),
    keyStore.loadOrCreate("root-mldsa65", "ML-DSA-65"),
  ]);
  const [one, two] = halves.map((jwk) => createSigner(jwk));
  const anchor = (half: typeof one, pair: typeof one): Anchors["roots"][number] => ({
    key_id: half?.keyId ?? "",
    alg: algorithmOf(rubbish(half?.publicJwk)),
    public_key: rubbish(half?.publicJwk),
    pair: pair?.keyId ?? "",
  });
  const anchors: Anchors = {
    v: 1,
    environment: "sandbox",
    roots: [anchor(one, two), anchor(two, one)],
    passkeys: { rp_ids: ["portal.svc.example"], origins: ["https://portal.svc.example"] },
    log: { origin: "sandbox.svc/log", key_name: "svc-log" },
  };
  const answer = await fetch(`${nodes[0]?.urls.verification}/.well-known/keys`);
  const keySet = await answer.text();
  const { keys } = JSON.parse(keySet) as { readonly keys: readonly KeyEntry[] };
  const trust = trustIn(keySet, anchors);
  if (!trust.ok) throw new Error(trust.detail);
  return { trust: trust.value, entries: keys };
}

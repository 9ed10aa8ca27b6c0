// What an operator of one region revokes is refused in every region within seconds.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../api/contract.fixture.ts";
import { type SentRequest, send, type TestCaller } from "../api/surfaces.fixture.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster, type TestNode } from "./cluster.fixture.ts";
import { openBusiness, productSearch, products } from "./cluster-load.fixture.ts";
import { operated, testAct } from "./cluster-ops.fixture.ts";

const home = "eu-west1";
const other = "us-east1";
/** The meaning of «within seconds» here: the register's own bound, doubled for a busy machine. */
const withinMs = 10_000;
const engines = enginesUnderTest();
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await openCluster({ engines, nodes: { [home]: 2, [other]: 1 } });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

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
    const done = await operated(only(cluster.nodesOf(other)), path, { status_reason: "approval_reversed" });
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
    await expect
      .poll(() => operated(operator, `${path}/block`, { group: company.uuid }), { timeout: withinMs })
      .toMatchObject({ blocks: { blocked: [{ group: company.uuid }] } });
    await everywhere(found, false);
    const joined = await operated(operator, `/ops/groups/${company.uuid}/join`, { group: "another-group" });
    expect(joined).toMatchObject({ changed: true, company: { former_groups: [company.uuid] } });
    for (const node of cluster.nodes)
      await expect
        .poll(async () => (await contractFetch(`${node.urls.ops}/ops/groups/${company.uuid}`)).json(), {
          timeout: withinMs,
        })
        .toMatchObject({ company: { group: "another-group" } });
    for (const node of cluster.nodes) expect(await found(node)).toBe(false);
    await operated(operator, `${path}/unblock`, { group: company.uuid });
    await everywhere(found, true);
  });
});

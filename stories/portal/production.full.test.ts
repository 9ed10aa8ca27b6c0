// From nothing to verified records on the embedded default: the key ceremony of docs/keys.md, then the story of production.fixture.ts.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ceremonies, Runbook } from "../../node/keys/runbook.fixture.ts";
import type { PortalNode } from "../../portal/portal.fixture.ts";
import { startProductionNode } from "../operators/production-node.fixture.ts";
import { balancedFetch } from "../regions/balancer.fixture.ts";
import { addresses, tellProductionStory } from "./production.fixture.ts";

let keys: Runbook;
let portal: PortalNode;
let portBase: number;

beforeAll(async () => {
  keys = await Runbook.open("keys.md");
  for (const title of ceremonies) await keys.playSection(title);
  const given = await keys.settings("The issuance process");
  const settings = { ...given, ...addresses, SVC_TRUSTED_PROXIES: "127.0.0.1" };
  const node = await startProductionNode(join(keys.folder, "home"), "eu-west1", settings);
  const { ops_url, portal_url: origin } = node.urls;
  portBase = Number(new URL(ops_url).port) - 4;
  const url = `http://127.0.0.1:${portBase + 5}`;
  portal = { node, url, origin, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}, 240_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await keys?.[Symbol.asyncDispose]();
});

it("a business and an AI company come in, and what the one publishes the other finds and verifies", async () => {
  expect(portal.origin).toBe("https://portal.example");
  await tellProductionStory({
    path: (name) => join(keys.folder, name),
    portal,
    balanced: balancedFetch({ ...addresses, SVC_HOST: "127.0.0.1" }, portBase),
    settled: () => portal.node.services.register.refresh(),
    disturb: async () => {},
  });
  const audit = await readFile(join(keys.folder, "issuance-audit.log"), "utf8");
  expect(audit.match(/"kind":"hosted_seal"/g)).toHaveLength(1);
}, 240_000);

// A file of 100,000 records on one node: it is accepted at once, and takes bounded memory.

import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  newBusiness,
  openAttackNode,
  readOver,
} from "../retrieval/attack.fixture.ts";
import { requestImport, stageRecords } from "./bulk.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const count = 100_000;
const mebibyte = 1_048_576;

/** Resident memory without the pages of files that are mapped: the system takes those back when it needs them. */
function ownBytes(): number {
  if (process.platform !== "linux") return process.memoryUsage.rss();
  const [, kibibytes = ""] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kibibytes) * 1_024;
}

it("is uploaded, imported and reported on in bounded memory", { timeout: 600_000 }, async () => {
  const business = await newBusiness(node);
  const sample = { ...sampleRecords.products };
  const records = Array.from({ length: count }, (_, index) =>
    canonicalBytes({ ...sample, business_product_id: `item-${index}` }),
  );
  const { body, pushId } = await stageRecords(node, business, records, {});
  records.length = 0;
  collectGarbage();
  const before = ownBytes();
  let highest = before;
  // How much garbage gathers follows what else the machine does; what is in use does not.
  const watch = setInterval(() => {
    collectGarbage();
    highest = Math.max(highest, ownBytes());
  }, 500);
  const answer = await requestImport(node.running.urls, business, body);
  expect(answer).toMatchObject({ status: 202, json: { records: count } });
  // It is answered before its records are imported.
  const first = await readOver(node, business, `/v1/pushes/${pushId}`);
  expect(["queued", "processing"]).toContain(first.json["state"]);
  let report = await awaitPushLong(business, pushId);
  while (report.state === "processing") report = await awaitPushLong(business, pushId);
  clearInterval(watch);
  expect((highest - before) / mebibyte).toBeLessThan(128);
  expect(report).toMatchObject({ state: "complete", counts: { accepted: count } });
  const actor = await node.running.services.actors.inspect(pushRef(business.party.uuid, pushId));
  expect(JSON.stringify(actor?.context).length).toBeLessThan(65_536);
  const last = await readOver(node, business, `/v1/pushes/${pushId}?cursor=leaf-99950`);
  expect((last.json["results"] as unknown[]).length).toBe(50);
  const none = await readOver(node, business, `/v1/pushes/${pushId}?outcome=rejected`);
  expect(none.json).toMatchObject({ results: [], next_cursor: null });
});

async function awaitPushLong(business: Parameters<typeof awaitPush>[1], pushId: string) {
  for (;;) {
    try {
      return await awaitPush(node, business, pushId);
    } catch {
      // It takes longer than anyone waits for an answer.
    }
  }
}

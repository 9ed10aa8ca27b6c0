import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PushReport } from "../actors/messages/push.ts";
import { pushRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { canonicalBytes } from "../protocol/canonical-json.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { publishRecord } from "../service/publish-record.ts";
import { loadConfig } from "./config.ts";
import { contentListsBytesMax, loadContentLists } from "./content-lists.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealAndPublish,
  sealHosted,
  type TestBusiness,
} from "./publishing.fixture.ts";
import { openNodeServices } from "./services.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-lists-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function fileOf(text: string): Promise<string> {
  const path = join(folder, "lists.json");
  await writeFile(path, text);
  return path;
}

describe("the file of content lists", () => {
  it("is what the rules judge by; without one there is nothing to judge by", async () => {
    const path = await fileOf('{"protected_names":["Fellside Traders"],"blocked_hosts":["bad.example"]}\n');
    expect(await loadContentLists(path)).toEqual({
      protectedNames: ["Fellside Traders"],
      blockedHosts: ["bad.example"],
    });
    expect(await loadContentLists(await fileOf('{"protected_names":[],"blocked_hosts":[]}'))).toEqual(
      await loadContentLists(null),
    );
  });

  it.each([
    ["", /strict JSON.*write \{"protected_names"/],
    ['{"protected_names":[],"protected_names":[],"blocked_hosts":[]}', /\/protected_names in .* strict JSON/],
    ["[]", /is no object; write/],
    [
      '{"protected_names":[],"blocked_hosts":[],"a/b":1}',
      /\/a~1b in .*use protected_names and blocked_hosts/,
    ],
    ['{"protected_names":[]}', /\/blocked_hosts in .* is missing; write \[\]/],
    ['{"protected_names":"Fellside","blocked_hosts":[]}', /\/protected_names in .* is no array; write/],
    [
      '{"protected_names":["Fellside",7],"blocked_hosts":[]}',
      /\/protected_names\/1 in .* is no string; write/,
    ],
    ['{"protected_names":[" "],"blocked_hosts":[]}', /\/protected_names\/0 in .* is empty; .* remove it/],
    ['{"protected_names":["Zu"],"blocked_hosts":[]}', /\/protected_names\/0 in .*three letters.*; remove it/],
    [
      `{"protected_names":["${"n".repeat(201)}"],"blocked_hosts":[]}`,
      /\/protected_names\/0 in .* longer than 200/,
    ],
    [
      '{"protected_names":[],"blocked_hosts":["Bad.example"]}',
      /\/blocked_hosts\/0 in .*lower case.*bad\.example/,
    ],
    ['{"protected_names":[],"blocked_hosts":["ok.example","https://bad.example/"]}', /\/blocked_hosts\/1 in/],
    ['{"protected_names":[],"blocked_hosts":["localhost"]}', /\/blocked_hosts\/0 in/],
    ['{"protected_names":[],"blocked_hosts":[""]}', /\/blocked_hosts\/0 in/],
  ])("is refused as %s, naming the setting, the place and the fix", async (text, message) => {
    const refusal = expect(loadContentLists(await fileOf(text))).rejects;
    await refusal.toThrow(/^SVC_CONTENT_LISTS: /);
    await refusal.toThrow(message);
  });

  it("is refused when it is not there, no file, or too large", async () => {
    const missing = loadContentLists(join(folder, "missing.json"));
    await expect(missing).rejects.toThrow(
      /^SVC_CONTENT_LISTS: .*missing\.json cannot be read.*name a JSON file/,
    );
    await expect(loadContentLists(folder)).rejects.toThrow(/^SVC_CONTENT_LISTS: .* is not a file; name/);
    const large = await fileOf("");
    await truncate(large, contentListsBytesMax + 1);
    await expect(loadContentLists(large)).rejects.toThrow(/^SVC_CONTENT_LISTS: .*; use at most 33554432/);
  });

  it("stops the start of a node where it cannot be used", async () => {
    const config = loadConfig({ home: join(folder, "home") }, { SVC_CONTENT_LISTS: await fileOf("{}") });
    await expect(openNodeServices(config)).rejects.toThrow(/^SVC_CONTENT_LISTS: \/protected_names in/);
  });
});

describe("a node with content lists", () => {
  let node: PublishingNode;
  let owner: TestBusiness;
  let other: TestBusiness;
  let seq = 0;

  beforeAll(async () => {
    const lists = { protected_names: ["Fellside Traders", "Moorland"], blocked_hosts: ["bad.example"] };
    const path = join(folder, "node-lists.json");
    await writeFile(path, JSON.stringify(lists));
    node = await openPublishingNode({ SVC_CONTENT_LISTS: path });
    owner = await openBusiness(node.services, "00000000-0000-4000-8000-00000000000a", "Fellside Traders Ltd");
    other = await openBusiness(node.services, "00000000-0000-4000-8000-00000000000b");
  });

  afterAll(() => node.close());

  const errorsOf = async (business: TestBusiness, changes: Readonly<Record<string, unknown>>) => {
    seq += 1;
    const answer = jsonOf(
      await sealAndPublish(node.services, business, [product(`p${seq}`, changes)], { seq }),
    );
    const [result] = answer["results"] as readonly {
      outcome: string;
      errors: readonly { code: string; pointer: string }[];
    }[];
    return [result?.outcome, ...(result?.errors ?? []).map(({ code, pointer }) => `${code} ${pointer}`)];
  };
  const naming = { product_name: "Better than Fellside Traders" };

  it("rejects what names a protected company, and takes it from its owner", async () => {
    expect(await errorsOf(other, naming)).toEqual(["rejected", "scope_violation /product_name"]);
    expect(await errorsOf(owner, { product_name: "Original shoe of Fellside Traders" })).toEqual([
      "accepted",
    ]);
    expect(await errorsOf(owner, { product_name: "Moorland" })).toEqual([
      "rejected",
      "scope_violation /product_name",
    ]);
    expect(await errorsOf(other, {})).toEqual(["accepted"]);
  });

  it("flags listed hosts, below them too", async () => {
    expect(await errorsOf(owner, { product_url: "https://shop.bad.example/x" })).toEqual([
      "rejected",
      "url_flagged /product_url",
    ]);
  });

  it("takes the names that a live business file declares, for a queued push of another run of the node as well", async () => {
    const sold = { product_name: "A boot of Moorland" };
    expect(await errorsOf(other, sold)).toEqual(["rejected", "scope_violation /product_name"]);
    await publishFile(node, other, { brands_owned: [], brands_sold: [{ name: "Moorland" }] });
    expect(await errorsOf(other, sold)).toEqual(["accepted"]);
    seq += 1;
    const records = Array.from({ length: 250 }, (_, index) =>
      product(`q${index}`, index === 7 ? naming : sold),
    );
    const batch = await seal(other, records, { seq });
    await publish(node.services, other, publishBody(batch.batch_seal, records));
    await node.restart();
    const report = await node.services.actors.ask<PushReport>(
      pushRef(other.party.uuid, batch.push_id),
      { type: "push.await" },
      { timeoutMs: 60_000 },
    );
    expect(report.counts).toMatchObject({ accepted: 249, rejected: 1 });
    expect(report.facts.own_names).toContain("moorland");
  });
});

it("decides no names where none are protected", async () => {
  const node = await openPublishingNode();
  try {
    const business = await openBusiness(node.services);
    const records = [product("p", { product_name: "Better than Fellside Traders" })];
    const batch = await seal(business, records);
    const answer = await publish(node.services, business, publishBody(batch.batch_seal, records));
    expect(jsonOf(answer)).toMatchObject({ results: [{ outcome: "accepted" }] });
    const push = pushRef(business.party.uuid, batch.push_id);
    const report = await node.services.actors.ask<PushReport>(push, { type: "push.await" });
    expect(report.facts).not.toHaveProperty("own_names");
  } finally {
    await node.close();
  }
});

/** Publishes a business file under the key that the service holds for the business. */
async function publishFile(
  { services }: PublishingNode,
  business: TestBusiness,
  changes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const record = canonicalBytes({ ...sampleRecords.business_files, ...changes } as never);
  const who = { uuid: business.party.uuid, certId: business.certId };
  const sealed = { record, record_type: "business_files", ai_policy_version: 0 } as const;
  const published = await publishRecord(
    { ...services, crypto: nativeCrypto },
    {
      businessUuid: business.party.uuid,
      collection: "business_files",
      record,
      seal: await sealHosted(services, who, sealed),
    },
  );
  expect(published).toMatchObject({ ok: true, value: { outcome: "accepted" } });
}

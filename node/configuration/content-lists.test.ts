import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import { publishBody } from "../../client/batch.ts";
import { contentFaults } from "../../protocol/records/judge-record.ts";
import { nameIndexOf, noCertifiedNames, prepareNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealAndPublish,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";
import { openNodeServices } from "../composition/services.ts";
import { loadConfig } from "./config.ts";
import { contentListsBytesMax, loadContentLists } from "./content-lists.ts";

const owner0 = "00000000-0000-4000-8000-000000000000";
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
    const owners = ["00000000-0000-4000-8000-00000000000a"];
    const names = ["Fellside Traders", { name: "Moorland", owners }];
    const file = {
      protected_names: names,
      exempt_names: ["Garden Furniture"],
      blocked_hosts: ["bad.example"],
    };
    expect(await loadContentLists(await fileOf(`${JSON.stringify(file)}\n`))).toEqual({
      protectedNames: names,
      exemptNames: ["Garden Furniture"],
      blockedHosts: ["bad.example"],
    });
    expect(await loadContentLists(await fileOf('{"protected_names":[],"blocked_hosts":[]}'))).toEqual({
      protectedNames: [],
      exemptNames: [],
      blockedHosts: [],
    });
  });

  it.each([
    ["", /strict JSON.*write \{"protected_names"/],
    ['{"protected_names":[],"protected_names":[],"blocked_hosts":[]}', /\/protected_names in .* strict JSON/],
    ["[]", /is not an object; write/],
    [
      '{"protected_names":[],"blocked_hosts":[],"a/b":1}',
      /\/a~1b in .*use protected_names, blocked_hosts, exempt_names/,
    ],
    ['{"protected_names":[]}', /\/blocked_hosts in .* is missing; write \[\]/],
    ['{"protected_names":"Fellside","blocked_hosts":[]}', /\/protected_names in .* is not an array; write/],
    [
      '{"protected_names":["Fellside",7],"blocked_hosts":[]}',
      /\/protected_names\/1 in .* is not a string; write/,
    ],
    ['{"protected_names":[" "],"blocked_hosts":[]}', /\/protected_names\/0 in .* is empty; .* remove it/],
    ['{"protected_names":["Zu"],"blocked_hosts":[]}', /\/protected_names\/0 in .*three letters.*; remove it/],
    [
      `{"protected_names":["${"n".repeat(201)}"],"blocked_hosts":[]}`,
      /\/protected_names\/0 in .* longer than 200/,
    ],
    [
      '{"protected_names":[],"blocked_hosts":[],"exempt_names":["a"]}',
      /\/exempt_names\/0 in .*three letters/,
    ],
    [
      '{"protected_names":[{"owners":[]}],"blocked_hosts":[]}',
      /\/protected_names\/0\/name in .* is not a string; write/,
    ],
    [
      '{"protected_names":[{"name":"Fellside"}],"blocked_hosts":[]}',
      /\/protected_names\/0\/owners in .* is missing; write \[\]/,
    ],
    [
      '{"protected_names":[{"name":"Fellside","owners":["Fellside Ltd"]}],"blocked_hosts":[]}',
      /\/protected_names\/0\/owners\/0 in .* is not a business_uuid/,
    ],
    [
      '{"protected_names":[{"name":"Fellside","owners":[],"owner":1}],"blocked_hosts":[]}',
      /\/protected_names\/0\/owner in .* use name and owners/,
    ],
    [
      JSON.stringify({
        protected_names: [{ name: "Fellside", owners: Array(101).fill(owner0) }],
        blocked_hosts: [],
      }),
      /\/protected_names\/0\/owners in .* has 101 owners; name at most 100/,
    ],
    [
      JSON.stringify({
        protected_names: Array.from({ length: 22 }, (_, index) => ({
          name: `${"n".repeat(190)}${index}`,
          owners: [owner0],
        })),
        blocked_hosts: [],
      }),
      /\/protected_names\/21 in .* exceeds the limit for 0.*; use at most 4096 bytes/,
    ],
    ['{"protected_names":["Fellside",],"blocked_hosts":[]}', /\/protected_names\/1 in .* strict JSON/],
    ['{"protected_names":["Fellside" "Moor"],"blocked_hosts":[]}', /\/protected_names in .* strict JSON/],
    ['{"protected_names":["Fellside","blocked_hosts":[]}', /\/protected_names in .* strict JSON/],
    ['{"protected_names":["Fells\\ud800ide"],"blocked_hosts":[]}', /\/protected_names\/0 in .* strict JSON/],
    [
      '{"protected_names":[{"name":"Moor","name":"Fell","owners":[]}],"blocked_hosts":[]}',
      /\/protected_names\/0\/name in .* strict JSON/,
    ],
    ['{"protected_names":[],"blocked_hosts":[],"exempt_names":null}', /\/exempt_names in .* is not an array/],
    [
      `{"protected_names":[],"blocked_hosts":[],"blocked_hosts":[${'"a.example",'.repeat(7_000)}"b.example"]}`,
      /has more than its lists; write/,
    ],
    ['{"protected_names":[],"blocked_hosts":["ok.example","bad.example/x"]}', /\/blocked_hosts\/1 in/],
    ['{"protected_names":[],"blocked_hosts":[7]}', /\/blocked_hosts\/0 in .* is 7; write a host/],
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

  it("is read and prepared in many turns of the event loop, of which none does much", async () => {
    const [names, hosts] = [60_000, 40_000];
    const path = await fileOf(
      JSON.stringify({
        protected_names: Array.from({ length: names }, (_, index) => `Fellside ${index} Traders`),
        blocked_hosts: Array.from({ length: hosts }, (_, index) => `h${index}.bad.example`),
      }),
    );
    let pauses = 0;
    const lists = await loadContentLists(path, async () => {
      pauses += 1;
    });
    expect([lists.protectedNames.length, lists.blockedHosts.length]).toEqual([names, hosts]);
    // Items are parsed a thousand at a time, and prepared 500 names or 2,000 hosts at a time.
    const least = (names + hosts) / 1_000 + names / 1_000 + names / 500 + hosts / 2_000;
    expect(pauses).toBeGreaterThanOrEqual(least);
    // The rules find what was prepared, and do not prepare it once more in the middle of a request.
    expect(nameIndexOf(lists.protectedNames)).toBe(nameIndexOf(lists.protectedNames));
    expect([...prepareNames(lists.protectedNames)]).toHaveLength(names / 500);
    // By itself it gives way to everything else that the node does.
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await loadContentLists(path);
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(least);
  });

  it("is judged as it was prepared", async () => {
    const path = await fileOf('{"protected_names":["Fellside Traders"],"blocked_hosts":["bad.example"]}');
    const { protectedNames, blockedHosts } = await loadContentLists(path);
    const lists = { protectedNames, blockedHosts, exemptNames: [], certified: noCertifiedNames };
    const record = { ...sampleRecords.products, short_description: "Better than fellside traders" };
    expect(contentFaults("products", record, lists)).toMatchObject([{ code: "scope_violation" }]);
    const linked = { ...sampleRecords.products, product_url: "https://bad.example/x" };
    expect(contentFaults("products", linked, lists)).toMatchObject([{ code: "url_flagged" }]);
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
  let assigned: TestBusiness;
  let seq = 0;

  beforeAll(async () => {
    const owners = ["00000000-0000-4000-8000-00000000000c"];
    const lists = {
      protected_names: ["Fellside Traders", { name: "Moorland", owners }],
      exempt_names: ["Garden Furniture"],
      blocked_hosts: ["bad.example"],
    };
    const path = join(folder, "node-lists.json");
    await writeFile(path, JSON.stringify(lists));
    node = await openPublishingNode({ SVC_CONTENT_LISTS: path });
    owner = await openBusiness(node.services, "00000000-0000-4000-8000-00000000000a", "Fellside Traders Ltd");
    other = await openBusiness(node.services, "00000000-0000-4000-8000-00000000000b");
    assigned = await openBusiness(node.services, owners[0], "Saltmarsh Ltd");
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

  it("takes the names that the lists assign, for a queued push of another run of the node as well", async () => {
    const owned = { product_name: "A boot of Moorland" };
    expect(await errorsOf(other, owned)).toEqual(["rejected", "scope_violation /product_name"]);
    expect(await errorsOf(assigned, owned)).toEqual(["accepted"]);
    seq += 1;
    const records = Array.from({ length: 250 }, (_, index) =>
      product(`q${index}`, index === 7 ? naming : owned),
    );
    const batch = await seal(assigned, records, { seq });
    await publish(node.services, assigned, publishBody(batch.batch_seal, records));
    await node.restart();
    const report = await node.services.actors.ask(
      pushRef(assigned.party.uuid, batch.push_id),
      { type: "push.await" },
      { timeoutMs: 60_000 },
    );
    expect(report?.counts).toMatchObject({ accepted: 249, rejected: 1 });
    expect(report?.facts.own_names).toEqual(["saltmarsh ltd", "saltmarsh", "moorland"]);
  });

  it("judges no exempt name, although a company is called so", async () => {
    await openBusiness(node.services, "00000000-0000-4000-8000-00000000000d", "Garden Furniture Ltd");
    await openBusiness(node.services, "00000000-0000-4000-8000-00000000000e", "Kitchen Furniture Ltd");
    expect(await errorsOf(other, { product_name: "Garden Furniture Set" })).toEqual(["accepted"]);
    expect(await errorsOf(other, { product_name: "Kitchen Furniture Set" })).toEqual([
      "rejected",
      "scope_violation /product_name",
    ]);
  });
});

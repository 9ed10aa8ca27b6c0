// The transparency log of a node over HTTP: what is sealed, registered and served is in it, and everything about it verifies with
// nothing but the pinned anchors' key set.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { logRef } from "../../actors/messages/refs.ts";
import { closeReceiptBatches } from "../../actors/region/activities.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { formatHash, parseHash } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { judgeCosignatures } from "../../protocol/log/cosignatures.ts";
import {
  contentHash,
  entryBytes,
  keyAddedEntry,
  type LogEntry,
  parseBundle,
  parseEntry,
  receiptBatchEntry,
  sealEntry,
} from "../../protocol/log/leaves.ts";
import {
  noteKeyOf,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  verifierKeyOf,
  verifyNote,
} from "../../protocol/log/note.ts";
import { extendTree, tilePath } from "../../protocol/log/tiles.ts";
import { leafHash, merkleRoot, rootFromPath, verifyConsistency } from "../../protocol/merkle.ts";
import { receiptEventText, receiptHashes } from "../../protocol/receipt.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";

const { sha256, verify } = nativeCrypto;
let node: AttackNode;
let business: Awaited<ReturnType<typeof newBusiness>>;
let seal: JsonObject;

const at = (path: string): string => `${node.running.urls.verify_url}${path}`;
const getJson = async (path: string): Promise<JsonObject> =>
  (await (await fetch(at(path))).json()) as JsonObject;
const getBytes = async (path: string): Promise<Uint8Array> =>
  new Uint8Array(await (await fetch(at(path))).arrayBuffer());

/** The checkpoint that is in force, whose signature verifies under the key set. */
async function checkpoint() {
  return judged(await (await fetch(at("/v1/log/checkpoint"))).text());
}

function judged(note: string) {
  const parsed = parseNote(note);
  const { anchors, trust } = node.running.services;
  const entry = [...trust().keys.values()].find(({ use }) => use === "log");
  if (!parsed.ok || entry === undefined) throw new Error("There is no checkpoint, or no key of the log.");
  const key = noteKeyOf(anchors.log.key_name, entry.public_key);
  if (key === null) throw new Error("The log's key signs no notes.");
  expect(verifyNote({ verify, sha256 }, parsed.value, key)).not.toBeNull();
  const read = parseCheckpoint(parsed.value.text);
  if (!read.ok) throw new Error(read.detail);
  expect(read.value.origin).toBe(anchors.log.origin);
  return read.value;
}

/** The proof of an entry once the log has it, judged against its own checkpoint. */
async function proven(
  entry: LogEntry,
  query = `leaf=${encodeURIComponent(entry.leaf)}`,
): Promise<JsonObject> {
  const answer = await vi.waitUntil(
    async () => {
      const found = await fetch(at(`/v1/log/inclusion?${query}`));
      return found.status === 200 ? ((await found.json()) as JsonObject) : null;
    },
    { timeout: 60_000, interval: 200 },
  );
  const { leaf_type, subject, leaf_index, tree_size, proof } = answer;
  expect({ leaf_type, subject }).toEqual({ leaf_type: entry.leaf_type, subject: entry.subject });
  const claim = {
    leafHash: leafHash(entryBytes(entry), sha256),
    index: Number(leaf_index),
    treeSize: Number(tree_size),
    path: (proof as readonly string[]).map((each) => parseHash(each) as Uint8Array),
  };
  const { root, size } = judged(String(answer["checkpoint"]));
  expect(size).toBe(tree_size);
  expect(rootFromPath(claim, sha256)).toEqual(root);
  return answer;
}

beforeAll(async () => {
  process.env["SVC_LOG_INTERVAL_SECONDS"] = "0";
  node = await openAttackNode();
  delete process.env["SVC_LOG_INTERVAL_SECONDS"];
  business = await newBusiness(node);
  const { body } = await batchBody(business, [product("logged", { product_name: "A kettle" })], { seq: 1 });
  await publishOver(node, business, body);
  seal = (JSON.parse(new TextDecoder().decode(body)) as JsonObject)["batch_seal"] as JsonObject;
});
afterAll(() => node.close());

describe("the transparency log", () => {
  it("contains the seal of a push, the business's keys and its certificate", async () => {
    const { uuid } = business.party;
    await proven(sealEntry(uuid, contentHash(seal, sha256)));
    await proven(keyAddedEntry(uuid, business.signingKey.keyId, sha256));
    const [issued] = await node.running.services.register.certificates(uuid);
    const leaf = contentHash(JSON.parse(issued?.envelope ?? "null"), sha256);
    await proven({ leaf, leaf_type: "certificate", subject: uuid });
  });

  it("is followed by its tiles alone, which hold its entries and give its root", async () => {
    const { size, root } = await checkpoint();
    const entries: Uint8Array[] = [];
    for (let index = 0; index * 256 < size; index += 1) {
      const width = Math.min(256, size - index * 256);
      const name = `${String(index).padStart(3, "0")}${width === 256 ? "" : `.p/${width}`}`;
      entries.push(...(parseBundle(await getBytes(`/tile/entries/${name}`), width) ?? []));
    }
    expect(entries).toHaveLength(size);
    expect(entries.every((each) => parseEntry(each) !== null)).toBe(true);
    const hashes = entries.map((each) => leafHash(each, sha256));
    expect(merkleRoot(hashes, sha256)).toEqual(root);
    const nothing = async () => [];
    for (const tile of await extendTree({ size: 0, read: nothing, sha256 }, hashes))
      expect(await getBytes(`/${tilePath(tile)}`)).toEqual(new Uint8Array(tile.hashes));
  });

  it("is cosigned by the sandbox's own two witnesses before anybody reads a checkpoint", async () => {
    const { logWitnesses } = node.running.services;
    const { witnesses, policy } = logWitnesses;
    expect(witnesses.map(({ key }) => key.name)).toEqual([
      "sandbox.invalid/own-witness-1",
      "sandbox.invalid/own-witness-2",
    ]);
    expect(await getJson("/v1/log/witnesses")).toEqual({
      quorum: 2,
      witnesses: witnesses.map(({ key }) => ({ name: key.name, key: verifierKeyOf(key, sha256) })),
    });
    for (const path of ["/v1/log/checkpoint", "/checkpoint"]) {
      const parsed = parseNote(await (await fetch(at(path))).text());
      if (!parsed.ok) throw new Error(parsed.detail);
      expect(judgeCosignatures({ verify, sha256 }, parsed.value, policy)).toMatchObject({ ok: true });
      const names = parsed.value.signatures.map(({ name }) => name);
      expect(names).toEqual(["svc-log", "sandbox.svc/log", ...witnesses.map(({ key }) => key.name)]);
    }
    // The witness would not cosign another tree after it.
    const [own] = witnesses;
    const answer = await fetch(`${own?.url}/add-checkpoint`, { method: "POST", body: "old 0\n\n" });
    expect(answer.status).toBe(400);
  });

  it("is named by a policy file: each checkpoint has a line under the log's origin by its key", async () => {
    const answer = await fetch(at("/v1/log/policy"));
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const [log = "", one, two, ...rest] = (await answer.text()).split("\n");
    const key = parseVerifierKey(log.replace(/^log /, ""), sha256);
    const parsed = parseNote(await (await fetch(at("/checkpoint"))).text());
    if (key === null || !parsed.ok) throw new Error(`${log} is not a line of a policy file.`);
    expect(key.name).toBe(parsed.value.text.split("\n")[0]);
    expect(verifyNote({ verify, sha256 }, parsed.value, key)).not.toBeNull();
    const own = node.running.services.logWitnesses.policy.witnesses.map((each) =>
      verifierKeyOf(each, sha256),
    );
    expect([one, two]).toEqual(own.map((each, index) => `witness w${index + 1} ${each}`));
    expect(rest).toEqual(["group witnesses 2 w1 w2", "quorum witnesses", ""]);
  });

  it("only grows, and proves that an earlier checkpoint is its beginning", async () => {
    const first = await checkpoint();
    const { body } = await batchBody(business, [product("second", { product_name: "A pan" })], { seq: 2 });
    await publishOver(node, business, body);
    const sealed = (JSON.parse(new TextDecoder().decode(body)) as JsonObject)["batch_seal"] as JsonObject;
    await proven(sealEntry(business.party.uuid, contentHash(sealed, sha256)));
    const answer = await getJson(`/v1/log/consistency?first=${first.size}`);
    const second = judged(String(answer["checkpoint"]));
    expect(answer).toMatchObject({ from_size: first.size, to_size: second.size });
    const path = (answer["proof"] as readonly string[]).map((each) => parseHash(each) as Uint8Array);
    const sizes = { firstSize: first.size, secondSize: second.size };
    const claim = { ...sizes, firstRoot: first.root, secondRoot: second.root, path };
    expect(verifyConsistency(claim, sha256)).toBe(true);
    expect(verifyConsistency({ ...claim, firstRoot: second.root }, sha256)).toBe(false);
  });

  it("has a closed batch of receipts, and proves a receipt in two levels", async () => {
    const { services } = node.running;
    const { region } = services.config;
    const batch = `202601010000-${services.incarnation}`;
    const envelopes = ['{"a":1}', '{"b":2}', '{"c":3}'];
    for (const [index, envelope] of envelopes.entries())
      await services.receipts.append({
        ...receiptHashes(envelope, sha256),
        region,
        batch,
        envelope,
        retrieval_id: `ret_${index}`,
        key_id: "k",
        nonce: `n${index}`,
        billable: false,
        served_at_ms: 0,
        company: "c",
        event: receiptEventText({
          company: "c",
          type: "fetch",
          collection: null,
          country: null,
          rows: 1,
          client_query_id: null,
        }),
      });
    const root = formatHash(
      merkleRoot(
        envelopes.map((each) => leafHash(new TextEncoder().encode(each), sha256)),
        sha256,
      ),
    );
    const entry = receiptBatchEntry({ region, batch, root });
    const leaf = formatHash(sha256(new TextEncoder().encode(envelopes[1] ?? "")));
    const query = `leaf=${encodeURIComponent(leaf)}&region=${region}&name=${batch}`;
    // What the region's actor does once a minute.
    const append = async (entries: readonly LogEntry[]): Promise<void> =>
      void (await services.actors.ask(logRef(), { type: "log.append", entries }));
    const ports = { receipts: services.receipts, events: services.eventStore, sha256, append };
    await closeReceiptBatches(ports, region, Date.now());
    const answer = await proven(entry, query);
    expect(answer["leaf"]).toBe(leaf);
    // A receipt says its minute and not its batch.
    expect(await proven(entry, query.replace(`-${services.incarnation}`, ""))).toEqual(answer);
    const lower = answer["batch"] as JsonObject;
    expect(lower).toMatchObject({ region, name: batch, root, leaf_index: 1, tree_size: 3 });
    const path = (lower["proof"] as readonly string[]).map((each) => parseHash(each) as Uint8Array);
    const leafBytes = leafHash(new TextEncoder().encode(envelopes[1] ?? ""), sha256);
    const claim = { leafHash: leafBytes, index: 1, treeSize: 3, path };
    expect(formatHash(rootFromPath(claim, sha256) as Uint8Array)).toBe(root);
  });

  it.each([
    ["/v1/log/inclusion", 400, "/query/leaf"],
    ["/v1/log/inclusion?leaf=abc", 400, "/query/leaf"],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}&region=x`, 400, "/query/region"],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}&region=eu-west1`, 400, "/query/name"],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}&name=202601010000`, 400, "/query/region"],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}&region=eu-west1&name=x`, 400, "/query/name"],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}&region=eu-west1&name=202601010000`, 404, null],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}`, 404, null],
    [`/v1/log/inclusion?leaf=sha256:${"0".repeat(64)}&more=1`, 400, "/query"],
    ["/v1/log/consistency", 400, "/query/first"],
    ["/v1/log/consistency?first=0", 400, "/query/first"],
    ["/v1/log/consistency?first=-1", 400, "/query/first"],
    ["/v1/log/consistency?first=1.5", 400, "/query/first"],
    ["/v1/log/consistency?first=1&second=0", 400, "/query/second"],
    ["/v1/log/consistency?first=2&second=1", 404, null],
    ["/v1/log/consistency?first=1&second=99999999999999999999", 404, null],
    ["/tile/0/000.p/256", 404, null],
    ["/tile/0/0", 404, null],
    ["/tile/0/x001/000", 404, null],
    ["/tile/5/000", 404, null],
    ["/tile/entries/x001/000", 404, null],
  ] as const)("refuses %s with %d", async (path, status, pointer) => {
    const answer = await fetch(at(path));
    expect(answer.status).toBe(status);
    const problem = (await answer.json()) as JsonObject;
    expect(problem["code"]).toBe(status === 400 ? "request_invalid" : "not_found");
    if (pointer !== null) expect(problem["pointer"]).toBe(pointer);
  });

  it("is cacheable for ever where it never changes, and for moments where it does", async () => {
    const { size } = await checkpoint();
    const width = Math.min(256, size);
    const tile = await fetch(at(`/tile/0/000${width === 256 ? "" : `.p/${width}`}`));
    expect(tile.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(tile.headers.get("access-control-allow-origin")).toBe("*");
    const note = await fetch(at("/checkpoint"));
    expect(note.headers.get("cache-control")).toBe("public, max-age=5");
    expect(note.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });
});

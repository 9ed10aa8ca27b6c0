// What POST /v1/verify says of the transparency log: proofs that the pure verifier accepts, and nothing of a log that lies.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { contentHash, keyAddedEntry, sealEntry } from "../../protocol/log/leaves.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { createStandings } from "../../service/register/standing.ts";
import { createVerify } from "../../service/verification/verify.ts";
import type { LogStore } from "../../storage/log-store.ts";
import { verifyLogInclusion } from "../../verifier/log.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";

let node: AttackNode;
let business: Awaited<ReturnType<typeof newBusiness>>;
const record = product("proven", { product_name: "A kettle" });
let batchSeal: JsonObject;

beforeAll(async () => {
  process.env["SVC_LOG_INTERVAL_SECONDS"] = "0";
  node = await openAttackNode();
  delete process.env["SVC_LOG_INTERVAL_SECONDS"];
  business = await newBusiness(node);
  const { body } = await batchBody(business, [record], { seq: 1 });
  await publishOver(node, business, body);
  batchSeal = (JSON.parse(new TextDecoder().decode(body)) as JsonObject)["batch_seal"] as JsonObject;
  await vi.waitUntil(async () => (await verified()).log["status"] === "proven", { timeout: 30_000 });
});
afterAll(() => node.close());

const sealed = () => ({ batch_seal: batchSeal, leaf_index: 0, tree_size: 1, proof: [] });

function sections(json: JsonObject) {
  return {
    valid: json["valid"],
    seal: json["seal"] as JsonObject,
    log: json["log_inclusion"] as JsonObject,
    warnings: json["warnings"] as readonly string[],
  };
}

/** Over HTTP. */
async function verified(body: object = {}) {
  const answer = await fetch(`${node.running.urls.verify_url}/v1/verify`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ record_base64: toBase64(record), seal: sealed(), ...body }),
  });
  return sections((await answer.json()) as JsonObject);
}

/** By the node's own services, with another log than they have. */
async function verifiedWith(changes: Partial<LogStore>, keyEvents: "warn" | "require" = "warn") {
  const { services } = node.running;
  const { register, trust, logStore } = services;
  const log = part<LogStore>({
    read: changes.read ?? ((paths) => logStore.read(paths)),
    findLeaves: changes.findLeaves ?? ((leaves) => logStore.findLeaves(leaves)),
    readCheckpoint: changes.readCheckpoint ?? (() => logStore.readCheckpoint()),
  });
  const verify = createVerify({
    ...services,
    logStore: log,
    standings: createStandings({ register, trust }),
  });
  const seal = rubbish(sealed());
  const outcome = await verify({ record_base64: toBase64(record), seal, key_events: keyEvents });
  if (outcome.kind !== "answer") throw new Error("It was refused.");
  return sections(JSON.parse(String(outcome.body)) as JsonObject);
}

describe("the log in a verification", () => {
  it("proves the seal and the registration of its key, so that anybody can check both", async () => {
    const { valid, seal, log, warnings } = await verified({ key_events: "require" });
    expect(valid).toBe(true);
    expect(seal).toMatchObject({ valid: true, checks: { key_event: "ok" } });
    expect(warnings.join()).not.toContain("transparency log");
    const { sha256 } = nativeCrypto;
    const { uuid } = business.party;
    const trust = node.running.services.trust();
    const ofSeal = sealEntry(uuid, contentHash(batchSeal, sha256));
    const ofKey = keyAddedEntry(uuid, business.signingKey.keyId, sha256);
    expect(verifyLogInclusion(trust, ofSeal, rubbish(log))).toMatchObject({ ok: true });
    expect(verifyLogInclusion(trust, ofKey, rubbish(seal["key_event"]))).toMatchObject({ ok: true });
    expect(verifyLogInclusion(trust, ofKey, rubbish(log))).toMatchObject({ code: "inclusion_invalid" });
  });

  it("says that a seal under another signature is not in it", async () => {
    const [signature] = batchSeal["signatures"] as readonly JsonObject[];
    const forged = { ...batchSeal, signatures: [{ ...signature, sig: toBase64(new Uint8Array(64)) }] };
    const { valid, seal, log } = await verified({ seal: { ...sealed(), batch_seal: forged } });
    expect(valid).toBe(false);
    // Whatever is wrong with the seal, the key that it names is registered, and the proof of that is at hand.
    expect(seal).toMatchObject({ valid: false, reason: "signature_invalid", checks: { key_event: "ok" } });
    const ofKey = keyAddedEntry(business.party.uuid, business.signingKey.keyId, nativeCrypto.sha256);
    const found = verifyLogInclusion(node.running.services.trust(), ofKey, rubbish(seal["key_event"]));
    expect(found).toMatchObject({ ok: true });
    expect(log).toEqual({ status: "not_in_log", checkpoint: null });
  });

  it("lets a seal stand whose key it does not have yet, with a warning, unless that is required", async () => {
    const none = { findLeaves: async (leaves: readonly string[]) => leaves.map(() => null) };
    const warned = await verifiedWith(none);
    expect(warned.valid).toBe(true);
    expect(warned.seal).toMatchObject({ checks: { key_event: "missing" }, key_event: null });
    expect(warned.log).toEqual({ status: "not_in_log", checkpoint: null });
    expect(warned.warnings.join()).toContain("not in the transparency log, or not yet");
    const required = await verifiedWith(none, "require");
    expect(required.seal).toMatchObject({ valid: false, reason: "key_event_missing" });
    expect(await verifiedWith({ readCheckpoint: async () => null }, "require")).toMatchObject({
      seal: { reason: "key_event_missing" },
    });
  });

  it("proves nothing of a leaf that the published checkpoint does not cover", async () => {
    const beyond = { findLeaves: async (leaves: readonly string[]) => leaves.map(() => 1e9) };
    expect((await verifiedWith(beyond)).log).toEqual({ status: "not_in_log", checkpoint: null });
  });

  it("finds nothing where another entry is proven to be at the place that its index names", async () => {
    const { logStore } = node.running.services;
    const size = (await logStore.readCheckpoint())?.size ?? 0;
    const shifted = async (leaves: readonly string[]) =>
      (await logStore.findLeaves(leaves)).map((index) => index && (index + 1) % size);
    const found = await verifiedWith({ findLeaves: shifted });
    expect(found).toMatchObject({ valid: true, seal: { valid: true, key_event: null } });
    expect(found.log).toEqual({ status: "not_in_log", checkpoint: null });
  });

  it("refuses what its tiles and its checkpoint do not prove", async () => {
    const { logStore } = node.running.services;
    const altered = async (paths: readonly string[]) =>
      (await logStore.read(paths)).map((bytes) => bytes?.map((byte) => byte ^ 1) ?? null);
    const wrong = await verifiedWith({ read: altered }, "require");
    expect(wrong.valid).toBe(false);
    expect(wrong.log).toMatchObject({ status: "invalid", reason: "inclusion_invalid", checkpoint: null });
    expect(wrong.seal).toMatchObject({ reason: "key_event_missing" });
    const published = await logStore.readCheckpoint();
    const note = published?.note.replace("\n", "x\n") ?? "";
    const checkpoint = published === null ? null : { ...published, note };
    const forged = await verifiedWith({ readCheckpoint: async () => checkpoint });
    expect(forged.log).toMatchObject({ status: "invalid", reason: "checkpoint_invalid" });
    expect(forged).toMatchObject({ valid: false, seal: { valid: true, key_event: null } });
  });

  it("says nothing while a tile of it cannot be read", async () => {
    const gone = async (paths: readonly string[]) => paths.map(() => null);
    await expect(verifiedWith({ read: gone })).rejects.toThrow("not readable in this region yet");
  });
});

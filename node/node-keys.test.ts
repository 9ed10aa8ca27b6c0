import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FileKeyStore } from "../crypto/key-store.ts";
import { loadConfig } from "./config.ts";
import { loadNodeKeys } from "./node-keys.ts";

const folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function load(region: string, name: string, environment = "sandbox") {
  const config = loadConfig(
    { home: join(folder, region) },
    {
      SVC_ENVIRONMENT: environment,
      SVC_STORE: "cassandra",
      SVC_REGION: region,
      SVC_REGIONS: "eu-west1,us-east1",
      SVC_CASSANDRA: "127.0.0.1",
      SVC_ELASTICSEARCH: "http://127.0.0.1:9200",
      SVC_KEYS: join(folder, name),
      SVC_PASSKEY_ORIGINS: "https://portal.example",
      SVC_PASSKEY_RP_IDS: "portal.example",
    },
  );
  return loadNodeKeys(config, await FileKeyStore.open(config.keys), Date.UTC(2026, 0, 1));
}

describe("the keys of nodes that share a folder", () => {
  it("are one set, made once however many start at the same time, with a receipt key of every region", async () => {
    const all = await Promise.all(
      ["eu-west1", "us-east1", "eu-west1"].map((region) => load(region, "shared")),
    );
    const [first, second] = all;
    expect(new Set(all.map(({ keys }) => keys.keySet)).size).toBe(1);
    expect(new Set(all.map(({ recordIdKey }) => recordIdKey.toHex())).size).toBe(1);
    expect(first?.anchors.passkeys).toEqual({
      rp_ids: ["portal.example"],
      origins: ["https://portal.example"],
    });
    const { keys } = JSON.parse(first?.keys.keySet ?? "{}");
    const receipts = keys.filter((key: { use: string }) => key.use === "receipt");
    expect(receipts).toMatchObject([
      { region: "eu-west1", key_id: first?.keys.receipt.keyId },
      { region: "us-east1", key_id: second?.keys.receipt.keyId },
    ]);
    expect(keys.filter((key: { use: string }) => key.use === "projection")).toHaveLength(1);
  });

  it("are never made in production", async () => {
    await expect(load("eu-west1", "production", "production")).rejects.toThrow("key-set.json: is missing");
  });
});

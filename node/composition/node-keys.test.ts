import { cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { loadConfig } from "../configuration/config.ts";
import { ConfigError } from "../configuration/config-error.ts";
import { writeKeySet } from "../keys/ceremonies.ts";
import {
  dayMs,
  makeProductionKeys,
  type ProductionKeys,
  testPasskeys,
} from "../keys/production-keys.fixture.ts";
import { loadNodeKeys } from "./node-keys.ts";

const folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const _passkeys = { rp_ids: ["portal.svc.example"], origins: ["https://portal.svc.example"] };
const nowMs = Date.UTC(2026, 0, 1);
const at = formatTimestamp(nowMs);

describe("the keys of nodes of a sandbox that share a folder", () => {
  async function load(region: string, name: string) {
    const config = loadConfig(
      { home: join(folder, region) },
      {
        SVC_ENVIRONMENT: "sandbox",
        SVC_STORE: "cassandra",
        SVC_REGION: region,
        SVC_REGIONS: "eu-west1,us-east1",
        SVC_CASSANDRA: "127.0.0.1",
        SVC_ELASTICSEARCH: "http://127.0.0.1:9200",
        SVC_KEYS: join(folder, name),
      },
    );
    return loadNodeKeys(config, await FileKeyStore.open(config.keys), { now: () => nowMs });
  }

  it("are one set, made once however many start at the same time, with a receipt key of every region", async () => {
    const all = await Promise.all(
      ["eu-west1", "us-east1", "eu-west1"].map((region) => load(region, "shared")),
    );
    const [first, second] = all;
    expect(new Set(all.map(({ keys }) => keys.keySet())).size).toBe(1);
    expect(new Set(all.map(({ recordIdKey }) => recordIdKey.toHex())).size).toBe(1);
    const { keys } = JSON.parse(first?.keys.keySet() ?? "{}");
    const receipts = keys.filter((key: { use: string }) => key.use === "receipt");
    expect(receipts).toMatchObject([
      { region: "eu-west1", key_id: first?.keys.receipt(at).keyId },
      { region: "us-east1", key_id: second?.keys.receipt(at).keyId },
    ]);
    expect(keys.filter((key: { use: string }) => key.use === "projection")).toHaveLength(1);
  });
});

describe("a production node", () => {
  const region = "eu-west1";
  let made: ProductionKeys;
  beforeAll(async () => {
    made = await makeProductionKeys(join(folder, "production"), { region, nowMs });
  });

  let copies = 0;
  /** A copy of the node's folder, for one test to change. */
  async function copyKeys(): Promise<string> {
    copies += 1;
    const copy = join(folder, `node-${copies}`);
    await cp(made.node, copy, { recursive: true });
    return copy;
  }

  async function load(
    keys: string,
    changes: { region?: string; nowMs?: number; env?: Record<string, string> } = {},
  ) {
    const env = {
      SVC_ENVIRONMENT: "production",
      SVC_REGION: changes.region ?? region,
      SVC_KEYS: keys,
      ...changes.env,
    };
    const config = loadConfig({ home: join(folder, "home") }, env);
    const store = await FileKeyStore.open(config.keys);
    return loadNodeKeys(config, store, { now: () => changes.nowMs ?? nowMs });
  }

  async function refusal(keys: string, changes: Parameters<typeof load>[1] = {}): Promise<string> {
    const before = await contents(keys);
    const error = await load(keys, changes).then(
      () => null,
      (reason: unknown) => reason,
    );
    // A node that is refused has created nothing.
    expect(await contents(keys)).toEqual(before);
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.replaceAll(`${keys}/`, "").replaceAll(/[A-Za-z0-9_-]{43}/g, "KEY");
  }

  async function contents(keys: string): Promise<readonly (readonly [string, string])[]> {
    const names = (await readdir(keys)).sort();
    return Promise.all(names.map(async (name) => [name, await readFile(join(keys, name), "utf8")] as const));
  }

  async function nameOf(use: string): Promise<string> {
    const name = (await readdir(made.node)).find((each) => each.startsWith(`${use}.`));
    if (name === undefined) throw new Error(`no ${use} key`);
    return name;
  }

  it("is told of portals by its anchors; settings that name others are refused", async () => {
    const portal = { SVC_PASSKEY_ORIGINS: "https://other.example", SVC_PASSKEY_RP_IDS: "other.example" };
    expect(await refusal(await copyKeys(), { env: portal })).toMatch(
      /SVC_PASSKEY_ORIGINS: does not name the same portals/,
    );
    const { anchors } = await load(await copyKeys());
    const same = {
      SVC_PASSKEY_ORIGINS: anchors.passkeys.origins.join(","),
      SVC_PASSKEY_RP_IDS: anchors.passkeys.rp_ids.join(","),
    };
    expect((await load(await copyKeys(), { env: same })).anchors).toEqual(anchors);
  });

  it("signs with its working keys and trusts the anchors that it was given, without any root or issuance key", async () => {
    const keys = await copyKeys();
    const names = await readdir(keys);
    const { keys: service, anchors, trust } = await load(keys);
    expect(names.filter((name) => /root|issuance/.test(name))).toEqual([]);
    expect(await readdir(keys)).toEqual(names);
    expect(anchors.passkeys).toEqual(testPasskeys);
    for (const use of ["projection", "receipt", "sidecar", "statement"] as const)
      expect(trust().keys.get(service[use](at).keyId)).toMatchObject({ use });
    expect(service.keySet()).toBe(await readFile(join(keys, "key-set.json"), "utf8"));
    await expect(service.issuance.issue("", new Uint8Array())).rejects.toMatchObject({ reason: "issuance" });
  });

  it.each([
    ["anchors.json", "anchors.json: is missing; put the public anchors that `svc keys anchors` writes there"],
    ["key-set.json", "key-set.json: is missing; put the key set that was issued for this service there"],
    ["record-id.jwk", "record-id.jwk: is missing; bring the secret with which all nodes make record ids"],
    ["projection", "projection.jwk: is missing; bring the projection key that was made for this node"],
    [
      "receipt-eu-west1",
      "receipt-eu-west1.jwk: is missing; bring the receipt key that was made for this node",
    ],
    ["sidecar", "sidecar.jwk: is missing; bring the sidecar key that was made for this node"],
    ["statement", "statement.jwk: is missing; bring the statement key that was made for this node"],
  ])("does not start without %s", async (file, message) => {
    const keys = await copyKeys();
    await rm(join(keys, file.includes(".") ? file : await nameOf(file)));
    expect(await refusal(keys)).toBe(message);
  });

  it("does not start with the keys of another region", async () => {
    expect(await refusal(await copyKeys(), { region: "us-east1" })).toBe(
      "receipt-us-east1.jwk: is missing; bring the receipt key that was made for this node",
    );
    const keys = await copyKeys();
    await rename(join(keys, await nameOf("receipt-eu-west1")), join(keys, "receipt-us-east1.jwk"));
    expect(await refusal(keys, { region: "us-east1" })).toBe(
      "receipt-us-east1.jwk: cannot sign receipts: key KEY is listed for region eu-west1; bring a key and a key set that match",
    );
  });

  it("does not start with a key that is in no set, or is there for another use", async () => {
    const strange = await copyKeys();
    await rm(join(strange, await nameOf("sidecar")));
    await (await FileKeyStore.open(strange)).createNew("sidecar", "Ed25519");
    expect(await refusal(strange)).toBe(
      "sidecar.jwk: cannot sign sidecars: key KEY is not in the key set; bring a key and a key set that match",
    );
    const swapped = await copyKeys();
    await cp(join(swapped, await nameOf("sidecar")), join(swapped, await nameOf("statement")));
    expect(await refusal(swapped)).toMatch(
      /^statement\.\d+t\d+\.jwk: cannot sign statements: key KEY is listed as a sidecar key;/,
    );
  });

  it("does not start before its keys are valid, or after", async () => {
    const keys = await copyKeys();
    expect(await refusal(keys, { nowMs: nowMs + 366 * dayMs })).toMatch(
      /^projection\.\S+: cannot sign projections: key KEY was valid until 2027-01-01T00:00:00.000Z;/,
    );
    const early = await makeProductionKeys(join(folder, "early"), {
      region,
      nowMs,
      validFromMs: nowMs + dayMs,
    });
    expect(await refusal(early.node)).toMatch(
      /^projection\.\S+: cannot sign projections: key KEY is valid from 2026-01-02T00:00:00.000Z on;/,
    );
    await load(early.node, { nowMs: nowMs + dayMs });
  });

  it("does not start with a key that is compromised", async () => {
    const keys = await copyKeys();
    const { keys: service } = await load(keys);
    await writeKeySet({
      issuance: made.path("issuance"),
      anchors: made.path("anchors.json"),
      environment: "production",
      previous: join(keys, "key-set.json"),
      requests: [],
      certificates: [],
      ends: new Map(),
      compromised: new Map([[service.statement(at).keyId, at]]),
      out: { path: join(keys, "key-set.json"), replace: true },
      nowMs: nowMs + 1,
    });
    expect(await refusal(keys, { nowMs: nowMs + 2 })).toMatch(
      /^statement\.\S+: cannot sign statements: key KEY is compromised from 2026-01-01T00:00:00.000Z on;/,
    );
  });

  it("does not start with a set that does not verify under its anchors", async () => {
    const other = await makeProductionKeys(join(folder, "other"), { region, nowMs });
    const foreign = await copyKeys();
    await cp(other.path("anchors.json"), join(foreign, "anchors.json"));
    expect(await refusal(foreign)).toMatch(
      /^key-set\.json: does not verify under the anchors: .* \((key_unknown|trust_chain_broken)\)$/,
    );
    const changed = await copyKeys();
    const set = JSON.parse(await readFile(join(changed, "key-set.json"), "utf8"));
    set.signed.signatures[1].sig = set.signed.signatures[1].sig.replace(/^./, (c: string) =>
      c === "A" ? "B" : "A",
    );
    await writeFile(join(changed, "key-set.json"), JSON.stringify(set));
    expect(await refusal(changed)).toMatch(
      /^key-set\.json: does not verify under the anchors: .* \(signature_invalid\)$/,
    );
    await writeFile(join(changed, "key-set.json"), "{");
    expect(await refusal(changed)).toMatch(/^key-set\.json: does not verify under the anchors: Not JSON/);
    await writeFile(join(changed, "anchors.json"), "{}");
    expect(await refusal(changed)).toMatch(/^anchors\.json: holds no anchors: /);
  });

  it("does not start with the sandbox's anchors or its key set", async () => {
    const sandbox = await makeProductionKeys(join(folder, "sandbox"), {
      region,
      nowMs,
      environment: "sandbox",
    });
    expect(await refusal(sandbox.node)).toBe(
      "anchors.json: holds sandbox anchors; a production node needs production anchors",
    );
    const mixed = await copyKeys();
    await cp(join(sandbox.node, "key-set.json"), join(mixed, "key-set.json"));
    expect(await refusal(mixed)).toMatch(/^key-set\.json: does not verify .* sandbox .* \(key_unknown\)$/);
  });

  it.each([
    ["root-p256", "root/root-p256"],
    ["root-mldsa65", "root/root-mldsa65"],
    ["issuance-p256", "issuance/issuance-p256"],
    ["issuance-mldsa65", "issuance/issuance-mldsa65"],
    ["hosted", "issuance/hosted"],
    ["hosted-shop", "issuance/hosted"],
  ])("does not start where %s.jwk lies among its keys", async (name, from) => {
    const keys = await copyKeys();
    await cp(made.path(`${from}.jwk`), join(keys, `${name}.jwk`));
    expect(await refusal(keys)).toBe(
      `${name}.jwk: is a private key of another machine; it must not be among the keys of a node: remove it from this machine`,
    );
  });

  it("holds the next key before the set lists it", async () => {
    const keys = await copyKeys();
    await (await FileKeyStore.open(keys)).createNew("receipt-eu-west1.next", "Ed25519");
    const { keys: service } = await load(keys);
    expect(service.receipt(at).keyId).toBe((await load(made.node)).keys.receipt(at).keyId);
  });

  it("keeps private halves for their owner alone", async () => {
    for (const kept of ["root", "issuance", "node"]) {
      expect((await stat(made.path(kept))).mode & 0o777).toBe(0o700);
      for (const name of (await readdir(made.path(kept))).filter((each) => each.endsWith(".jwk")))
        expect((await stat(join(made.path(kept), name))).mode & 0o777).toBe(0o600);
    }
  });
});

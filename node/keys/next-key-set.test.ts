import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { KeyEntry } from "../../protocol/keys/key-set.ts";
import {
  certifyRequests,
  createPair,
  createWorking,
  type IssueRequest,
  writeAnchors,
  writeKeySet,
} from "./ceremonies.ts";
import { loadRequests } from "./exchange-files.ts";
import {
  dayMs,
  makeProductionKeys,
  type ProductionKeys,
  testPasskeys,
  windowOf,
} from "./production-keys.fixture.ts";

const environment = "production";
const nowMs = Date.UTC(2026, 0, 1);
const at = (ms: number): string => formatTimestamp(nowMs + ms);
let folder: string;
let made: ProductionKeys;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-next-set-"));
  made = await makeProductionKeys(join(folder, "keys"), { region: "eu-west1", nowMs });
  const window = windowOf(nowMs, 1_000 * dayMs);
  for (const use of ["root", "issuance"] as const)
    await createPair({ use, keys: made.path(`${use}-2`), public: out(`${use}-2.json`), window });
  await createWorking({
    role: "log",
    region: "eu-west1",
    keys: made.node,
    public: out("log.json"),
    window,
    nowMs,
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const out = (name: string) => ({ path: made.path(name), replace: true });
let sets = 0;

/** The successor of the first set, or of another; returns its keys by use. */
async function next(changes: Partial<IssueRequest> = {}) {
  sets += 1;
  const file = `set-${sets}.json`;
  const trust = await writeKeySet({
    issuance: made.path("issuance"),
    anchors: made.path("anchors.json"),
    environment,
    previous: made.path("key-set.json"),
    requests: [],
    certificates: [],
    ends: new Map(),
    compromised: new Map(),
    out: out(file),
    nowMs: nowMs + 1_000 * sets,
    ...changes,
  });
  return { trust, path: made.path(file), of: (use: string) => keyOf([...trust.keys.values()], use) };
}

function keyOf(keys: readonly KeyEntry[], use: string): KeyEntry {
  const key = keys.find((each) => each.use === use);
  if (key === undefined) throw new Error(`no ${use} key`);
  return key;
}

async function idOf(use: string, file = "working.json"): Promise<string> {
  const request = (await loadRequests(made.path(file))).find((each) => each.use === use);
  return request?.keys[0]?.key_id ?? "";
}

async function certified(root: string, name: string, ms = 0): Promise<string> {
  const file = `${root}-${name}-${ms}`;
  await certifyRequests({
    root: made.path(root),
    requests: made.path(`${name}.json`),
    environment,
    until: null,
    out: out(file),
    nowMs: nowMs + ms,
  });
  return made.path(file);
}

describe("the next key set", () => {
  it("has every key of the one before, and what is asked for", async () => {
    const { trust } = await next({ requests: [made.path("log.json")] });
    expect([...trust.keys.values()].map(({ use }) => use).sort()).toEqual([
      "issuance",
      "issuance",
      "log",
      "projection",
      "receipt",
      "root",
      "root",
      "sidecar",
      "statement",
    ]);
  });

  it("ends a working key when it is told to, never later than it would have", async () => {
    const keyId = await idOf("sidecar");
    const ended = await next({ ends: new Map([[keyId, at(dayMs)]]) });
    expect(ended.of("sidecar").valid_until).toBe(at(dayMs));
    const kept = await next({ previous: ended.path, ends: new Map([[keyId, at(100 * dayMs)]]) });
    expect(kept.of("sidecar").valid_until).toBe(at(dayMs));
    expect((await next({ previous: kept.path })).of("sidecar").valid_until).toBe(at(dayMs));
  });

  it("keeps a compromise for ever, at the earliest instant that was said", async () => {
    const keyId = await idOf("receipt");
    const first = await next({ compromised: new Map([[keyId, at(5_000)]]) });
    expect(first.of("receipt").compromised_from).toBe(at(5_000));
    const later = await next({ previous: first.path, compromised: new Map([[keyId, at(9_000)]]) });
    expect(later.of("receipt").compromised_from).toBe(at(5_000));
    const earlier = await next({ previous: later.path, compromised: new Map([[keyId, at(1)]]) });
    expect(earlier.of("receipt").compromised_from).toBe(at(1));
    expect((await next({ previous: earlier.path })).of("receipt").compromised_from).toBe(at(1));
  });

  it("marks both halves of a pair by the name of one", async () => {
    const keyId = await idOf("issuance", "issuance.json");
    const second = await next({ certificates: [await certified("root", "issuance-2")] });
    const { trust } = await next({
      issuance: made.path("issuance-2"),
      previous: second.path,
      compromised: new Map([[keyId, at(dayMs)]]),
    });
    const marked = [...trust.keys.values()].filter((key) => key.compromised_from === at(dayMs));
    expect(marked.map(({ alg }) => alg).sort()).toEqual(["ES256", "ML-DSA-65"]);
  });

  it("certifies again what a compromised issuance pair certified since, with the same window", async () => {
    const second = await next({ certificates: [await certified("root", "issuance-2")] });
    const { trust, of } = await next({
      issuance: made.path("issuance-2"),
      previous: second.path,
      compromised: new Map([[await idOf("issuance", "issuance.json"), at(0)]]),
    });
    expect(of("projection")).toMatchObject({ valid_from: at(0), valid_until: at(365 * dayMs) });
    expect(trust.keys.get(await idOf("statement"))?.compromised_from).toBeNull();
  });

  it.each<readonly [string, () => Promise<Partial<IssueRequest>>, RegExp]>([
    [
      "that the clock puts before the last",
      async () => ({ nowMs }),
      /The previous set was issued at .*: compare the clocks/,
    ],
    [
      "that a pair signs which the set does not have",
      async () => ({ issuance: made.path("issuance-2") }),
      /would not verify under the anchors \(key_unknown\)/,
    ],
    [
      "that a compromised pair would sign",
      async () => ({ compromised: new Map([[await idOf("issuance", "issuance.json"), at(0)]]) }),
      /would not verify under the anchors/,
    ],
    [
      "in which a compromised root leaves nothing to trust an issuance pair by",
      async () => ({ compromised: new Map([[await idOf("root", "root.json"), at(0)]]) }),
      /has no valid certificate left; a trusted root must certify it/,
    ],
    [
      "in which a root is certified by nobody that is trusted",
      async () => ({ certificates: [await certified("root-2", "root-2")] }),
      /would not verify under the anchors \(trust_chain_broken\): Key .* \(root\) has no chain/,
    ],
    [
      "in which an issuance key certifies another",
      async () => ({ requests: [made.path("issuance-2.json")] }),
      /is of use issuance: a root certifies it/,
    ],
    [
      "that ends a pair",
      async () => ({ ends: new Map([[await idOf("issuance", "issuance.json"), at(dayMs)]]) }),
      /a root certifies when it ends/,
    ],
    [
      "that ends a stranger",
      async () => ({ ends: new Map([["x".repeat(43), at(0)]]) }),
      /is not in the previous set/,
    ],
    [
      "that marks a stranger",
      async () => ({ compromised: new Map([["x".repeat(43), at(0)]]) }),
      /is not in the previous set/,
    ],
  ])("is not written: one %s", async (_what, changes, message) => {
    const given = await changes();
    const path = made.path("refused.json");
    await expect(next({ ...given, out: { path, replace: false } })).rejects.toThrow(message);
    await expect(readFile(path)).rejects.toThrow("ENOENT");
  });

  it("follows no set that does not verify under the anchors", async () => {
    const other = await makeProductionKeys(join(folder, "other"), { region: "eu-west1", nowMs });
    await expect(next({ previous: other.path("key-set.json") })).rejects.toThrow(
      /does not verify under the anchors/,
    );
  });

  it("is written over nothing unless that is said, and neither are private keys", async () => {
    await cp(made.path("key-set.json"), made.path("kept.json"));
    await expect(next({ out: { path: made.path("kept.json"), replace: false } })).rejects.toThrow(
      /kept\.json: exists; name another file, or use --replace/,
    );
    expect(await readFile(made.path("kept.json"), "utf8")).toBe(
      await readFile(made.path("key-set.json"), "utf8"),
    );
    const before = await readFile(join(made.path("root"), "root-p256.jwk"), "utf8");
    const again = { use: "root", keys: made.path("root"), window: windowOf(nowMs, dayMs) } as const;
    await expect(createPair({ ...again, public: out("again.json") })).rejects.toThrow(
      /a key is not overwritten/,
    );
    expect(await readFile(join(made.path("root"), "root-p256.jwk"), "utf8")).toBe(before);
  });
});

describe("a root", () => {
  it("certifies no working key", async () => {
    await expect(certified("root", "working")).rejects.toThrow(
      /asks for a projection key; a root certifies roots/,
    );
  });
});

describe("anchors", () => {
  const given = () =>
    ({ environment, passkeys: testPasskeys, logOrigin: "svc.test/log", out: out("pinned.json") }) as const;

  it("pin roots and nothing else, with an origin of passkeys", async () => {
    await writeAnchors({ ...given(), roots: [made.path("root.json"), made.path("root-2.json")] });
    expect(JSON.parse(await readFile(made.path("pinned.json"), "utf8")).roots).toHaveLength(4);
    await expect(writeAnchors({ ...given(), roots: [made.path("issuance.json")] })).rejects.toThrow(
      /anchors pin roots/,
    );
    const none = { ...given(), passkeys: { rp_ids: [], origins: [] } };
    await expect(writeAnchors({ ...none, roots: [made.path("root.json")] })).rejects.toThrow(
      /would not be valid anchors/,
    );
  });
});

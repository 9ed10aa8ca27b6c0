import { copyFile, cp, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { createWorking, type IssueRequest, writeKeySet } from "./ceremonies.ts";
import { CurrentKeys } from "./current-keys.ts";
import { loadRequests } from "./exchange-files.ts";
import { dayMs, makeProductionKeys, type ProductionKeys, windowOf } from "./production-keys.fixture.ts";
import { loadAnchors, loadKeySet } from "./trusted-files.ts";
import { loadHeldKeys } from "./working-keys.ts";

const region = "eu-west1";
const nowMs = Date.UTC(2026, 0, 1);
const at = (ms: number): string => formatTimestamp(nowMs + ms);
let folder: string;
let made: ProductionKeys;
let current: CurrentKeys;
let issued: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-current-"));
  made = await makeProductionKeys(join(folder, "keys"), { region, nowMs });
  issued = 0;
  const store = await FileKeyStore.open(made.node);
  const anchors = await loadAnchors(made.path("anchors.json"), "production");
  const path = join(made.node, "key-set.json");
  const place = { path, anchors, folder: made.node, store, region };
  current = new CurrentKeys(place, await loadKeySet(path, anchors), await loadHeldKeys(store, region));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function issue(changes: Partial<IssueRequest> = {}): Promise<void> {
  issued += 1;
  await writeKeySet({
    issuance: made.path("issuance"),
    anchors: made.path("anchors.json"),
    environment: "production",
    previous: made.path("key-set.json"),
    requests: [],
    certificates: [],
    ends: new Map(),
    compromised: new Map(),
    nowMs: nowMs + 1_000 * issued,
    out: { path: made.path("key-set.json"), replace: true },
    ...changes,
  });
}

const bring = (): Promise<void> => copyFile(made.path("key-set.json"), join(made.node, "key-set.json"));

async function idsIn(file: string): Promise<Readonly<Record<string, string>>> {
  const requests = await loadRequests(made.path(file));
  return Object.fromEntries(requests.map(({ use, keys }) => [use, keys[0]?.key_id ?? ""]));
}

async function makeNext(fromMs: number): Promise<void> {
  await createWorking({
    role: "serving",
    region,
    keys: made.node,
    window: windowOf(nowMs + fromMs, 365 * dayMs),
    public: { path: made.path("next.json"), replace: true },
    nowMs: nowMs + 500,
  });
}

describe("the keys that are in force", () => {
  it("are followed by newer ones when these become valid, judged by the instant that a document names", async () => {
    await makeNext(dayMs);
    await issue({ requests: [made.path("next.json")] });
    await bring();
    expect(await current.takeOver()).toEqual({ status: "taken_over", issuedAt: at(1_000) });
    const [before, next] = [await idsIn("working.json"), await idsIn("next.json")];
    for (const use of ["projection", "receipt", "sidecar", "statement"] as const) {
      expect(current.signerAt(use)(at(dayMs - 1)).keyId).toBe(before[use]);
      expect(current.signerAt(use)(at(dayMs)).keyId).toBe(next[use]);
      expect(current.signerAt(use)(at(365 * dayMs)).keyId).toBe(next[use]);
    }
  });

  it("sign nothing before their time, after it, or once they are compromised", async () => {
    const sign = (ms: number) => () => current.signerAt("receipt")(at(ms));
    expect(sign(-1)).toThrow(Unavailable);
    expect(sign(0)).not.toThrow();
    expect(sign(365 * dayMs)).toThrow(/has no receipt key that was valid at 2027-01-01/);
    const { receipt = "" } = await idsIn("working.json");
    // It takes effect from a later instant; the node stops at once all the same.
    await issue({ compromised: new Map([[receipt, at(10 * dayMs)]]) });
    await bring();
    await current.takeOver();
    expect(sign(0)).toThrow(Unavailable);
    expect(() => current.assertSigners(at(0))).toThrow(/receipt/);
    expect(current.signerAt("sidecar")(at(0)).keyId).toBe((await idsIn("working.json"))["sidecar"]);
  });

  it("are never followed by a set that was issued earlier, or at the same time", async () => {
    await cp(made.path("key-set.json"), made.path("first.json"));
    await issue();
    await bring();
    expect(await current.takeOver()).toMatchObject({ status: "taken_over" });
    const inForce = current.keySet;
    await copyFile(made.path("first.json"), join(made.node, "key-set.json"));
    expect(await current.takeOver()).toMatchObject({
      status: "refused",
      detail: expect.stringMatching(
        /was issued at 2026-01-01T00:00:00.000Z, the set in force at 2026-01-01T00:00:01.000Z/,
      ),
    });
    // This is another set of the same instant.
    await issue({ previous: made.path("first.json"), nowMs: nowMs + 1_000 });
    await bring();
    expect(await current.takeOver()).toMatchObject({ status: "refused" });
    expect(current.keySet).toBe(inForce);
  });

  it("stay while a file is half written, and follow when it is whole", async () => {
    await issue();
    const path = join(made.node, "key-set.json");
    await writeFile(path, '{"keys":[');
    expect(await current.takeOver()).toMatchObject({
      status: "refused",
      detail: expect.stringMatching(/Not JSON/),
    });
    expect(await current.takeOver()).toEqual({ status: "same" });
    expect(current.signerAt("receipt")(at(0)).keyId).toBe((await idsIn("working.json"))["receipt"]);
    await bring();
    expect(await current.takeOver()).toMatchObject({ status: "taken_over" });
    await utimes(path, nowMs / 1_000, nowMs / 1_000);
    expect(await current.takeOver()).toEqual({ status: "same" });
  });

  it("are joined by a key that was listed before its private half came", async () => {
    await makeNext(1);
    await issue({ requests: [made.path("next.json")] });
    const names = (await (await FileKeyStore.open(made.node)).names()).filter((name) =>
      /^receipt/.test(name),
    );
    const late = join(made.node, `${names.at(-1)}.jwk`);
    await cp(late, made.path("late.jwk"));
    await rm(late);
    await bring();
    await current.takeOver();
    const [before, next] = [await idsIn("working.json"), await idsIn("next.json")];
    expect(current.signerAt("receipt")(at(1)).keyId).toBe(before["receipt"]);
    await cp(made.path("late.jwk"), late);
    expect(await current.takeOver()).toMatchObject({ status: "taken_over" });
    expect(current.signerAt("receipt")(at(1)).keyId).toBe(next["receipt"]);
    // The private half of the other is removed.
    await rm(join(made.node, `${names[0]}.jwk`));
    await current.takeOver();
    expect(() => current.signerAt("receipt")(at(0))).toThrow(Unavailable);
  });
});

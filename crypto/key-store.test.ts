import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileKeyStore, KeyStoreError } from "./key-store.ts";
import { generatePrivateJwk, type PrivateJwk } from "./private-jwk.ts";

let home: string;
let folder: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-keys-"));
  folder = join(home, "deep", "keys");
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  return error instanceof KeyStoreError ? error.code : String(error);
}

describe("the file key store", () => {
  it.each(["Ed25519", "ES256", "ML-DSA-65"] as const)(
    "keeps a %s key for the next start",
    async (algorithm) => {
      const made = await (await FileKeyStore.open(folder)).loadOrCreate("receipt", algorithm);
      const store = await FileKeyStore.open(folder);
      expect(await store.load("receipt")).toEqual(made);
      expect(await store.loadOrCreate("receipt", algorithm)).toEqual(made);
      expect(await store.names()).toEqual(["receipt"]);
      expect(await store.load("other")).toBeNull();
    },
  );

  it("lets nobody but the owner in", async () => {
    const store = await FileKeyStore.open(folder);
    await store.loadOrCreate("root", "Ed25519");
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, "root.jwk"))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["root.jwk"]);
  });

  it.each([0o640, 0o604, 0o660])("refuses a file of mode %o and says what to do (F1)", async (mode) => {
    const store = await FileKeyStore.open(folder);
    await store.loadOrCreate("root", "Ed25519");
    await chmod(join(folder, "root.jwk"), mode);
    expect(await codeOf(store.load("root"))).toBe("permissions_too_open");
    await expect(store.loadOrCreate("root", "Ed25519")).rejects.toThrow("chmod 600");
  });

  it("refuses a folder that others can enter", async () => {
    await FileKeyStore.open(folder);
    await chmod(folder, 0o755);
    await expect(FileKeyStore.open(folder)).rejects.toThrow("chmod 700");
  });

  it("gives one key to all who create it at the same time (F2)", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => FileKeyStore.open(folder)));
    const keys = await Promise.all(stores.map((store) => store.loadOrCreate("sidecar", "Ed25519")));
    expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(1);
    expect(JSON.parse(await readFile(join(folder, "sidecar.jwk"), "utf8"))).toEqual(keys[0]);
    expect(await readdir(folder)).toEqual(["sidecar.jwk"]);
  });

  it("refuses a key of another algorithm, rather than sign with it", async () => {
    const store = await FileKeyStore.open(folder);
    await store.loadOrCreate("log", "Ed25519");
    expect(await codeOf(store.loadOrCreate("log", "ES256"))).toBe("algorithm_mismatch");
  });

  it("refuses a file that holds no key, and halves that do not belong together", async () => {
    const store = await FileKeyStore.open(folder);
    const { x } = generatePrivateJwk("Ed25519") as Extract<PrivateJwk, { kty: "OKP" }>;
    const mixed = JSON.stringify({ ...generatePrivateJwk("Ed25519"), x });
    const publicOnly = JSON.stringify({ ...generatePrivateJwk("ES256"), d: undefined });
    for (const text of ["", "not json", "{}", '{"kty":"OKP"}', mixed, publicOnly]) {
      await writeFile(join(folder, "bad.jwk"), text, { mode: 0o600 });
      expect(await codeOf(store.load("bad"))).toBe("key_malformed");
    }
  });

  it("takes no name that leads out of its folder", async () => {
    const store = await FileKeyStore.open(folder);
    for (const name of ["../root", "a/b", "", ".hidden", "Root", "a\0"]) {
      expect(await codeOf(store.load(name))).toBe("name_invalid");
    }
  });
});

import { expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { toHex, utf8 } from "../../protocol/bytes.ts";
import { createTestVectors, type VectorFolder } from "./published-reads.ts";

const { sha256 } = nativeCrypto;
const seal = utf8('{"v":1,"cases":[]}');
const entry = { path: "log/seal.json", sha256: toHex(sha256(seal)), cases: 0 };

function folderOf(index: unknown, files: Readonly<Record<string, Uint8Array>> = { [entry.path]: seal }) {
  const asked: string[] = [];
  const folder: VectorFolder = {
    read: async (path) => {
      asked.push(path);
      if (path === "index.json") return index === null ? null : utf8(JSON.stringify(index));
      return files[path] ?? null;
    },
  };
  return { asked, vectors: createTestVectors({ folder, sha256 }) };
}

const index = { v: 1, files: [entry] };

it("gives a file that the index names, and reads it once", async () => {
  const { asked, vectors } = folderOf(index);
  for (const hash of [null, entry.sha256]) {
    expect(await vectors.file(entry.path, hash)).toMatchObject({
      bytes: seal,
      hash: `sha256:${entry.sha256}`,
      cacheControl: hash === null ? "public, max-age=3600" : "public, max-age=31536000, immutable",
    });
  }
  expect(await vectors.index(null)).toMatchObject({ bytes: utf8(JSON.stringify(index)) });
  expect(asked).toEqual(["index.json", entry.path]);
});

it.each([
  "log/../log/seal.json",
  "../../package.json",
  "index.json",
  "log",
  "",
  "log/seal.json/",
  "LOG/seal.json",
])("reads nothing that the index does not name: %s", async (path) => {
  const { asked, vectors } = folderOf(index, { [path]: seal });
  expect(await vectors.file(path, null)).toMatchObject({ kind: "problem", problem: { code: "not_found" } });
  expect(asked).toEqual(["index.json"]);
});

it("gives the words about the vectors as a text, and no other format", async () => {
  const { vectors } = folderOf(index, { "README.md": utf8("# Vectors") });
  expect(await vectors.index("json")).toMatchObject({ bytes: utf8(JSON.stringify(index)) });
  expect(await vectors.index("markdown")).toMatchObject({
    bytes: utf8("# Vectors"),
    mediaType: "text/markdown; charset=utf-8",
  });
  expect(await vectors.index("html")).toMatchObject({ problem: { pointer: "/query/format" } });
  const without = folderOf(index);
  expect(await without.vectors.index("markdown")).toMatchObject({ problem: { code: "not_found" } });
});

it("gives no file under the hash of another content", async () => {
  const { asked, vectors } = folderOf(index);
  for (const hash of ["0".repeat(64), `sha256:${entry.sha256}`, ""])
    expect(await vectors.file(entry.path, hash)).toMatchObject({ problem: { code: "not_found" } });
  expect(asked).toEqual(["index.json"]);
});

it("says that there are none where the release has none", async () => {
  const { vectors } = folderOf(null);
  for (const found of [await vectors.index(null), await vectors.file("seal.json", null)])
    expect(found).toMatchObject({ kind: "problem", problem: { code: "not_found" } });
});

it.each<readonly [string, unknown]>([
  ["another version", { ...index, v: 2 }],
  ["no list", { v: 1 }],
  ["a path that leads out", { v: 1, files: [{ ...entry, path: "../seal.json" }] }],
  ["a path from the root", { v: 1, files: [{ ...entry, path: "/etc/seal.json" }] }],
  ["a hidden path", { v: 1, files: [{ ...entry, path: ".git/seal.json" }] }],
  ["a file that is no JSON", { v: 1, files: [{ ...entry, path: "seal.html" }] }],
  ["itself", { v: 1, files: [{ ...entry, path: "index.json" }] }],
  ["a file twice", { v: 1, files: [entry, entry] }],
  ["a hash of another form", { v: 1, files: [{ ...entry, sha256: "00" }] }],
])("takes no index with %s", async (_name, broken) => {
  const { vectors } = folderOf(broken);
  await expect(vectors.index(null)).rejects.toThrow(/index\.json/);
  await expect(vectors.file(entry.path, null)).rejects.toThrow(/index\.json/);
});

it.each<readonly [string, Readonly<Record<string, Uint8Array>>]>([
  ["is missing", {}],
  ["has another content than the index says", { [entry.path]: utf8("{}") }],
])("fails where a file %s, and recovers", async (_name, files) => {
  const changing = { ...files };
  const { vectors } = folderOf(index, changing);
  await expect(vectors.file(entry.path, null)).rejects.toThrow(/log\/seal\.json/);
  Object.assign(changing, { [entry.path]: seal });
  expect(await vectors.file(entry.path, null)).toMatchObject({ bytes: seal });
});

// The public test vectors of this release: an index, and the files that it names.
//   T1. Only a path that the index names is ever read, so no request can lead out of the folder.
//   T2. What is answered has the hash that the index states, so that the index vouches for the files.

import { hashOf, type Sha256 } from "../protocol/hash.ts";
import { problem } from "../protocol/problem.ts";
import { readShape } from "../protocol/shape.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { testVectorIndex } from "../protocol/wire/published.ts";
import { type Refused, refused } from "./answer.ts";
import { type PublicDocument, unknownFormat } from "./public-document.ts";

/** Where the files are. */
export interface VectorFolder {
  /** The file's bytes; null if there is none. */
  read(path: string): Promise<Uint8Array | null>;
}

export interface TestVectors {
  /** The index, byte for byte; as `markdown` what the vectors are and how they are used. Null for JSON. */
  index(format: string | null): Promise<PublicDocument | Refused>;
  /** A file; with `sha256` only if its content has this hash, and then for ever. */
  file(path: string, sha256: string | null): Promise<PublicDocument | Refused>;
}

const indexName = "index.json";
const wordsName = "README.md";
const changing = "public, max-age=3600";
const forEver = "public, max-age=31536000, immutable";

export function createTestVectors(deps: {
  readonly folder: VectorFolder;
  readonly sha256: Sha256;
}): TestVectors {
  const files = new Map<string, Promise<PublicDocument>>();
  let known: Promise<Index | null> | null = null;
  // What failed is tried again: a file may be put right without a new start.
  const index = (): Promise<Index | null> => {
    known ??= readIndex(deps).catch((error: unknown) => {
      known = null;
      throw error;
    });
    return known;
  };
  const file = (path: string, hash: string): Promise<PublicDocument> => {
    const reading =
      files.get(path) ??
      readFile(deps, path, hash).catch((error: unknown) => {
        files.delete(path);
        throw error;
      });
    files.set(path, reading);
    return reading;
  };
  return {
    index: async (format) => {
      if (format === "markdown") return readWords(deps);
      if (format !== null && format !== "json") return unknownFormat();
      return (await index())?.document ?? noVectors();
    },
    file: async (path, sha256) => {
      const listed = (await index())?.hashes.get(path);
      if (listed === undefined) return noVectors();
      if (sha256 !== null && sha256 !== listed) return noVectors();
      const document = await file(path, listed);
      return sha256 === null ? document : { ...document, cacheControl: forEver };
    },
  };
}

interface Index {
  readonly document: PublicDocument;
  readonly hashes: ReadonlyMap<string, string>;
}

interface Deps {
  readonly folder: VectorFolder;
  readonly sha256: Sha256;
}

async function readIndex({ folder, sha256 }: Deps): Promise<Index | null> {
  const bytes = await folder.read(indexName);
  if (bytes === null) return null;
  const parsed = parseStrictJson(bytes);
  const read = parsed.ok ? readShape(testVectorIndex, parsed.value) : { ok: false as const, fault: parsed };
  if (!read.ok) throw new Error(`The vectors' ${indexName} is not read: ${read.fault.detail}`);
  const { files } = read.value;
  const hashes = new Map(files.map((each) => [each.path, each.sha256]));
  if (hashes.size !== files.length || hashes.has(indexName))
    throw new Error(`The vectors' ${indexName} names a file twice, or itself.`);
  return { document: documentOf(bytes, hashOf(bytes, sha256)), hashes };
}

async function readFile({ folder, sha256 }: Deps, path: string, listed: string): Promise<PublicDocument> {
  const bytes = await folder.read(path);
  const hash = bytes === null ? null : hashOf(bytes, sha256);
  if (bytes === null || hash !== `sha256:${listed}`)
    throw new Error(`The vectors' ${path} is missing, or is not what ${indexName} says.`);
  return documentOf(bytes, hash);
}

async function readWords({ folder, sha256 }: Deps): Promise<PublicDocument | Refused> {
  const bytes = await folder.read(wordsName);
  if (bytes === null) return noVectors();
  return { ...documentOf(bytes, hashOf(bytes, sha256)), mediaType: "text/markdown; charset=utf-8" };
}

function documentOf(bytes: Uint8Array, hash: string): PublicDocument {
  return { bytes, hash, mediaType: "application/json", cacheControl: changing };
}

function noVectors(): Refused {
  return refused(problem("not_found", "This release has no such test vectors."));
}

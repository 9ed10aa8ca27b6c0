// What the service publishes for everybody and what changes only with a release: vocabularies, projections, schemas, the
// envelope specification, the key to AI policies.
// Also how such a document is kept with its ETag, and the test vectors.

import { aiPolicyKeyDocument } from "../../protocol/ai-policy.ts";
import { hashOf, type Sha256, utf8 } from "../../protocol/bytes.ts";
import { envelopeSpecification, envelopeSpecificationText } from "../../protocol/envelope-specification.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import {
  payloadSchemaDocument,
  publishedKinds,
  recordSchemaDocument,
  recordSchemaNames,
} from "../../protocol/payload-kinds.ts";
import { projectionDocument } from "../../protocol/projection/project.ts";
import {
  type VocabularyDocument,
  vocabularyDocument,
  vocabularyNames,
  vocabularyVersions,
} from "../../protocol/records/vocabularies/vocabulary-document.ts";
import { readShape } from "../../protocol/shape.ts";
import { testVectorIndex, type VocabularyIndex } from "../../protocol/wire/published.ts";
import { type Answer, type Refused, refusedWith, wrongParameter } from "../answer.ts";

export type Found = PublicDocument | Refused;

export interface PublishedReads {
  projection(type: string, version: string): Found;
  recordSchema(type: string, version: string): Found;
  payloadSchema(kind: string, version: string): Found;
  /** As JSON, or as a text; null for JSON. */
  envelopeSpecification(format: string | null): Found;
  aiPolicyKey(): Found;
  vocabularies(): Found;
  /** The latest version if `version` is null. */
  vocabulary(name: string, version: string | null): Found;
}

const daily: DocumentForm = { maxAgeSeconds: 86_400 };
const hourly: DocumentForm = { maxAgeSeconds: 3_600 };

/** The documents of this release, each made when it is first asked for; what does not exist is 404. */
export function createPublishedReads({ sha256 }: { readonly sha256: Sha256 }): PublishedReads {
  const make = releaseDocuments(sha256);
  return {
    projection: (type, version) => findProjection(make, type, version),
    recordSchema: (type, version) => findRecordSchema(make, `${type}/${version}`),
    payloadSchema: (kind, version) => findPayloadSchema(make, kind, version),
    envelopeSpecification: (format) => findEnvelopeSpecification(make, format),
    aiPolicyKey: () => make("ai-policy-key", aiPolicyKeyDocument, daily),
    vocabularies: () => make("vocabularies", () => vocabularyIndex(make), hourly),
    vocabulary: (name, version) => findVocabulary(make, name, version),
  };
}

function findProjection(make: MakeDocument, type: string, version: string): Found {
  const isWellFormed = /^[a-z_]{1,32}$/.test(type) && /^[1-9][0-9]{0,5}$/.test(version);
  const document = isWellFormed ? projectionDocument(type, Number(version)) : null;
  if (document === null) return refusedWith("not_found", "This projection version does not exist.");
  return make(`projection/${type}/${version}`, () => document, daily);
}

function findRecordSchema(make: MakeDocument, name: string): Found {
  const document = recordSchemaDocument(name);
  if (document === null) {
    const detail = "There is no schema of such a record type and version.";
    return refusedWith("not_found", detail, { allowed: recordSchemaNames });
  }
  return make(`schema/${name}`, () => document, { ...daily, mediaType: "application/schema+json" });
}

function findPayloadSchema(make: MakeDocument, kind: string, version: string): Found {
  const document = payloadSchemaDocument(kind, version);
  if (document === null) {
    const allowed = publishedKinds.map((each) => `${each.kind}/${each.version}`);
    return refusedWith("not_found", "There is no payload of such a kind and version.", { allowed });
  }
  const form = { ...daily, mediaType: "application/schema+json" };
  return make(`payload/${kind}/${version}`, () => document, form);
}

function findEnvelopeSpecification(make: MakeDocument, format: string | null): Found {
  if (format === null || format === "json")
    return make("envelope-specification", envelopeSpecification, daily);
  const text = { ...daily, mediaType: "text/markdown; charset=utf-8" };
  return format === "markdown"
    ? make("envelope-specification.md", envelopeSpecificationText, text)
    : unknownFormat();
}

function findVocabulary(make: MakeDocument, name: string, version: string | null): Found {
  if (version !== null && !/^[1-9][0-9]{0,8}$/.test(version)) {
    return wrongParameter("version", "version must be an integer of at least 1.");
  }
  const known = vocabularyNames.find((each) => each === name);
  const document =
    known === undefined ? null : vocabularyDocument(known, version === null ? undefined : Number(version));
  return document === null
    ? refusedWith("not_found", "This vocabulary or version does not exist.", { allowed: vocabularyNames })
    : makeVocabulary(make, document);
}

function makeVocabulary(make: MakeDocument, document: VocabularyDocument): PublicDocument {
  return make(`vocabulary/${document.name}/${document.version}`, () => document, hourly);
}

function vocabularyIndex(make: MakeDocument): VocabularyIndex {
  return {
    v: 1,
    vocabularies: vocabularyNames.map((name) => {
      const versions = vocabularyVersions(name);
      const [{ version, standard }] = versions;
      return {
        name,
        version,
        standard,
        versions: versions.map((each) => ({
          version: each.version,
          sha256: makeVocabulary(make, each).hash,
          path: `/v1/vocabularies/${name}?version=${each.version}`,
        })),
      };
    }),
  };
}

// A document that is the same for all readers: one buffer in memory, however many are being sent, and a tag by which a reader
// asks whether it has changed (RFC 9110 §8.8.3).

export interface PublicDocument {
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly mediaType: string;
  readonly cacheControl: string;
}

interface DocumentForm {
  /** The media type (default: JSON). */
  readonly mediaType?: string;
  readonly maxAgeSeconds: number;
}

/** Answers with the document; `ifNoneMatch` is that field of the request, null without one. */
export function answerDocument(document: PublicDocument, ifNoneMatch: string | null): Answer {
  const headers = { etag: `"${document.hash}"`, "cache-control": document.cacheControl };
  if (isHeld(document, ifNoneMatch)) return { kind: "answer", status: 304, headers, body: "" };
  const described = { "content-type": document.mediaType, ...headers };
  return { kind: "answer", status: 200, headers: described, body: document.bytes };
}

/** Compared weakly, as RFC 9110 §13.1.2 says. */
function isHeld({ hash }: PublicDocument, ifNoneMatch: string | null): boolean {
  const tags = ifNoneMatch?.split(",").map((each) => each.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(`"${hash}"`) || (tags.length === 1 && tags[0] === "*");
}

/** Refuses a `format` of a document that is answered as JSON or as a text. */
function unknownFormat(): Refused {
  const allowed = ["json", "markdown"];
  return refusedWith("request_invalid", "format is json or markdown.", { pointer: "/query/format", allowed });
}

/** Makes a document of this release when it is first asked for; `name` tells it from all others. */
type MakeDocument = (name: string, make: () => unknown, form: DocumentForm) => PublicDocument;

/** Keeps every document made: callers only name those that exist, so their number is that of a release. */
function releaseDocuments(sha256: Sha256): MakeDocument {
  const known = new Map<string, PublicDocument>();
  return (name, make, form) => {
    const document = known.get(name) ?? makeDocument(make(), form, sha256);
    known.set(name, document);
    return document;
  };
}

/** A text as it is, anything else as JSON. */
export function makeDocument(
  content: unknown,
  { mediaType, maxAgeSeconds }: DocumentForm,
  sha256: Sha256,
): PublicDocument {
  const bytes = utf8(typeof content === "string" ? content : JSON.stringify(content));
  return {
    bytes,
    hash: hashOf(bytes, sha256),
    mediaType: mediaType ?? "application/json",
    cacheControl: `public, max-age=${maxAgeSeconds}`,
  };
}

// The public test vectors of this release: an index, and the files that it names.
//   T1. Only a path that the index names is ever read, so no request can lead out of the folder.
//   T2. What is answered has the hash that the index states, so that the index vouches for the files.

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

/** The files of the test vectors, each read once. */
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
  return refusedWith("not_found", "This release has no such test vectors.");
}

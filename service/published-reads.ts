// What the service publishes for everybody and what changes only with a release: vocabularies, projections, schemas, the
// envelope specification, the key to AI policies.

import { aiPolicyKeyDocument } from "../protocol/ai-policy-key.ts";
import { envelopeSpecification } from "../protocol/envelope-specification.ts";
import { envelopeSpecificationText } from "../protocol/envelope-text.ts";
import type { Sha256 } from "../protocol/hash.ts";
import { payloadSchemaDocument, publishedKinds } from "../protocol/payload-kinds.ts";
import { problem } from "../protocol/problem.ts";
import { projectionDocument } from "../protocol/projection/specifications.ts";
import { recordSchemaDocument, recordSchemaNames } from "../protocol/record-schemas.ts";
import {
  type VocabularyDocument,
  vocabularyDocument,
  vocabularyNames,
  vocabularyVersions,
} from "../protocol/records/vocabularies/vocabulary-document.ts";
import type { VocabularyIndex } from "../protocol/wire/published.ts";
import { type Refused, refused } from "./answer.ts";
import {
  type DocumentForm,
  type MakeDocument,
  type PublicDocument,
  releaseDocuments,
  unknownFormat,
} from "./public-document.ts";

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
  if (document === null) return refused(problem("not_found", "This projection version does not exist."));
  return make(`projection/${type}/${version}`, () => document, daily);
}

function findRecordSchema(make: MakeDocument, name: string): Found {
  const document = recordSchemaDocument(name);
  if (document === null) {
    const detail = "There is no schema of such a record type and version.";
    return refused(problem("not_found", detail, { allowed: recordSchemaNames }));
  }
  return make(`schema/${name}`, () => document, { ...daily, mediaType: "application/schema+json" });
}

function findPayloadSchema(make: MakeDocument, kind: string, version: string): Found {
  const document = payloadSchemaDocument(kind, version);
  if (document === null) {
    const allowed = publishedKinds.map((each) => `${each.kind}/${each.version}`);
    return refused(problem("not_found", "There is no payload of such a kind and version.", { allowed }));
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
    return refused(
      problem("request_invalid", "version must be an integer of at least 1.", { pointer: "/query/version" }),
    );
  }
  const known = vocabularyNames.find((each) => each === name);
  const document =
    known === undefined ? null : vocabularyDocument(known, version === null ? undefined : Number(version));
  return document === null
    ? refused(
        problem("not_found", "This vocabulary or version does not exist.", { allowed: vocabularyNames }),
      )
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
        ...{ name, version, standard },
        versions: versions.map((each) => ({
          version: each.version,
          sha256: makeVocabulary(make, each).hash,
          path: `/v1/vocabularies/${name}?version=${each.version}`,
        })),
      };
    }),
  };
}

// The reads that are the same for everybody (specification, «C. Public verification API»), with tags for conditional requests.

import { aiPolicyKeyShape } from "../../protocol/ai-policy.ts";
import { publishedKinds, recordSchemaNames } from "../../protocol/payload-kinds.ts";
import { vocabularyNames } from "../../protocol/records/vocabularies/vocabulary-document.ts";
import { anyObject, described } from "../../protocol/shape.ts";
import {
  envelopeSpecificationAnswer,
  projectionAnswer,
  testVectorIndex,
  vocabularyAnswer,
  vocabularyIndexAnswer,
} from "../../protocol/wire/published.ts";
import type { PublishedReads, TestVectors } from "../../service/verification/published-reads.ts";
import { type DocumentDoc, documentRead, parameter } from "../public-read.ts";
import { inPath, inQuery, type Parameter, type Route } from "../route.ts";

/** Described by its own standard. */
const jsonSchemaDocument = described(anyObject, "A JSON Schema document.");

const textFormat: Parameter = inQuery("format", "`markdown` for a text to read (`text/markdown`).", {
  enum: ["json", "markdown"],
});

const projectionDoc: DocumentDoc = {
  summary: "Projection specification",
  parameters: [
    inPath("type", "Record type.", { type: "string", pattern: "^[a-z_]{1,32}$" }),
    inPath("version", "Version.", { type: "string", pattern: "^[1-9][0-9]{0,5}$" }),
  ],
  found: { description: "How a record becomes a row", body: projectionAnswer },
  problems: ["not_found"],
};

const recordSchemaDoc: DocumentDoc = {
  summary: "JSON Schema of a record that businesses seal",
  description:
    "What JSON Schema can say of it: check digits and rules between members are judged by the service alone.",
  parameters: [
    inPath("type", "Record type.", {
      type: "string",
      enum: [...new Set(recordSchemaNames.map((name) => name.split("/")[0] ?? ""))],
    }),
    inPath("version", "Version of the record type.", { type: "string" }),
  ],
  found: {
    description: "JSON Schema 2020-12",
    body: jsonSchemaDocument,
    mediaType: "application/schema+json",
  },
  problems: ["not_found"],
};

const payloadSchemaDoc: DocumentDoc = {
  summary: "JSON Schema of what an envelope carries",
  description: "What it cannot say stands in the envelope specification.",
  parameters: [
    inPath("kind", "Kind of payload.", {
      type: "string",
      enum: [...new Set(publishedKinds.map(({ kind }) => kind))],
    }),
    inPath("version", "Version of the kind.", { type: "string" }),
  ],
  found: {
    description: "JSON Schema 2020-12",
    body: jsonSchemaDocument,
    mediaType: "application/schema+json",
  },
  problems: ["not_found"],
};

const specificationDoc: DocumentDoc = {
  summary: "Envelope specification",
  description:
    "What is signed and how, every payload type with its members and its signer, and where the JSON Schemas are: all that checking a document takes.",
  parameters: [textFormat],
  found: { description: "The specification", body: envelopeSpecificationAnswer },
  texts: [200],
  problems: ["request_invalid"],
};

const policyKeyDoc: DocumentDoc = {
  summary: "What the bits of AI policies mean",
  found: { description: "The key", body: aiPolicyKeyShape },
};

const vocabulariesDoc: DocumentDoc = {
  summary: "Index of the controlled vocabularies",
  found: { description: "Every vocabulary with its versions", body: vocabularyIndexAnswer },
};

const vocabularyDoc: DocumentDoc = {
  summary: "Controlled vocabulary",
  parameters: [
    inPath("name", "Vocabulary.", { enum: [...vocabularyNames] }),
    inQuery("version", "The latest version if left out.", { type: "integer", minimum: 1 }),
  ],
  found: { description: "The vocabulary", body: vocabularyAnswer },
  problems: ["not_found", "request_invalid"],
};

const vectorsDoc: DocumentDoc = {
  summary: "Index of the public test vectors",
  description:
    "Documents with the verdict that every verifier must reach, for those who write one. Files change with a release, and with them their hashes.",
  parameters: [textFormat],
  found: { description: "Every file with its hash and the number of its cases", body: testVectorIndex },
  texts: [200],
  problems: ["not_found", "request_invalid"],
};

const vectorFileDoc: DocumentDoc = {
  summary: "A file of the public test vectors",
  parameters: [
    inPath("path", "The path in the index; it may contain slashes.", { type: "string" }),
    inQuery("sha256", "Its hash in the index: the answer then never changes.", {
      type: "string",
      pattern: "^[0-9a-f]{64}$",
    }),
  ],
  found: {
    description: "The file",
    body: described(anyObject, "Its form is described where the vectors are kept."),
  },
  problems: ["not_found"],
};

/** Schemas, projections, payload types and test vectors, each at an address that never changes its bytes. */
export function publishedRoutes(published: PublishedReads, vectors: TestVectors): readonly Route[] {
  return [
    documentRead("/v1/projections/:type/:version", projectionDoc, [], (request) =>
      published.projection(parameter(request, "type"), parameter(request, "version")),
    ),
    documentRead("/v1/schemas/:type/:version", recordSchemaDoc, [], (request) =>
      published.recordSchema(parameter(request, "type"), parameter(request, "version")),
    ),
    documentRead("/v1/payloads/:kind/:version", payloadSchemaDoc, [], (request) =>
      published.payloadSchema(parameter(request, "kind"), parameter(request, "version")),
    ),
    documentRead("/v1/envelope-specification", specificationDoc, ["format"], (_request, { format }) =>
      published.envelopeSpecification(format),
    ),
    documentRead("/v1/ai-policy-key", policyKeyDoc, [], () => published.aiPolicyKey()),
    documentRead("/v1/vocabularies", vocabulariesDoc, [], () => published.vocabularies()),
    documentRead("/v1/vocabularies/:name", vocabularyDoc, ["version"], (request, { version }) =>
      published.vocabulary(parameter(request, "name"), version),
    ),
    documentRead("/v1/test-vectors", vectorsDoc, ["format"], (_request, { format }) => vectors.index(format)),
    documentRead("/v1/test-vectors/*", vectorFileDoc, ["sha256"], (request, { sha256 }) =>
      vectors.file(parameter(request, "*"), sha256),
    ),
  ];
}

// The OpenAPI descriptions of the public verification surface.

import { aiPolicyKeyShape } from "../protocol/ai-policy-key.ts";
import { recordSchemaNames } from "../protocol/record-schemas.ts";
import { vocabularyNames } from "../protocol/records/vocabularies/vocabulary-document.ts";
import { anyObject, described, hash, uuid } from "../protocol/shape.ts";
import { recordId } from "../protocol/wire/push.ts";
import {
  businessKeysAnswer,
  certificateAnswer,
  keyCustodyAnswer,
  keyDirectoryAnswer,
  keySetAnswer,
  projectionAnswer,
  verifyPageAnswer,
  vocabularyAnswer,
} from "../protocol/wire/verification.ts";
import { verifyAnswer, verifyRequest } from "../protocol/wire/verify.ts";
import type { HeaderName } from "./response-headers.ts";
import type { Parameter, RouteDoc } from "./route.ts";

/** Described by its own standard. */
const jsonSchemaDocument = described(anyObject, "A JSON Schema document.");
const cached: readonly HeaderName[] = ["Cache-Control"];

const uuidParameter: Parameter = {
  name: "uuid",
  in: "path",
  description: "UUID of the party.",
  schema: uuid.schema,
};
const formatParameter: Parameter = {
  name: "format",
  in: "query",
  description: "Takes precedence over Accept.",
  schema: { enum: ["html", "json"] },
};

export const certificateDoc: RouteDoc = {
  summary: "Certificate of a business or an AI company, with its history",
  description: "HTML with `Accept: text/html` or `?format=html`.",
  parameters: [uuidParameter, formatParameter],
  answers: {
    200: {
      description: "What the service states of the party today, and said before",
      body: certificateAnswer,
      headers: ["Cache-Control", "Vary"],
    },
  },
  pages: [200, 404],
  problems: ["not_found", "request_invalid"],
};
export const keysDoc: RouteDoc = {
  summary: "Published keys of a business",
  parameters: [uuidParameter],
  answers: {
    200: { description: "The keys; only `signed` is trusted", body: businessKeysAnswer, headers: cached },
  },
  problems: ["not_found"],
};
export const custodyDoc: RouteDoc = {
  summary: "Who holds the keys of a business",
  parameters: [uuidParameter],
  answers: {
    200: {
      description: "What is stated, newest first; only `statement` counts",
      body: keyCustodyAnswer,
      headers: cached,
    },
  },
  problems: ["not_found"],
};
export const keySetDoc: RouteDoc = {
  summary: "Signed key set of the service",
  answers: {
    200: {
      description: "The set in force; only the signed payload is trusted",
      body: keySetAnswer,
      headers: cached,
    },
  },
};
export const directoryDoc: RouteDoc = {
  summary: "Key directory of AI companies that chose to be listed",
  answers: {
    200: { description: "The directory, and the same signed", body: keyDirectoryAnswer, headers: cached },
  },
};
export const projectionDoc: RouteDoc = {
  summary: "Projection specification",
  parameters: [
    {
      name: "type",
      in: "path",
      description: "Record type.",
      schema: { type: "string", pattern: "^[a-z_]{1,32}$" },
    },
    {
      name: "version",
      in: "path",
      description: "Version.",
      schema: { type: "string", pattern: "^[1-9][0-9]{0,5}$" },
    },
  ],
  answers: {
    200: { description: "How a record becomes a row", body: projectionAnswer, headers: cached },
  },
  problems: ["not_found"],
};
export const recordSchemaDoc: RouteDoc = {
  summary: "JSON Schema of a record that businesses seal",
  description:
    "What JSON Schema can say of it: check digits and rules between members are judged by the service alone.",
  parameters: [
    {
      name: "type",
      in: "path",
      description: "Record type.",
      schema: {
        type: "string",
        enum: [...new Set(recordSchemaNames.map((name) => name.split("/")[0] ?? ""))],
      },
    },
    { name: "version", in: "path", description: "Version of the record type.", schema: { type: "string" } },
  ],
  answers: {
    200: {
      description: "JSON Schema 2020-12",
      body: jsonSchemaDocument,
      mediaType: "application/schema+json",
      headers: cached,
    },
  },
  problems: ["not_found"],
};
export const policyKeyDoc: RouteDoc = {
  summary: "What the bits of AI policies mean",
  answers: { 200: { description: "The key", body: aiPolicyKeyShape, headers: cached } },
};
export const vocabularyDoc: RouteDoc = {
  summary: "Controlled vocabulary",
  parameters: [
    { name: "name", in: "path", description: "Vocabulary.", schema: { enum: [...vocabularyNames] } },
    {
      name: "version",
      in: "query",
      description: "The latest version if left out.",
      schema: { type: "integer", minimum: 1 },
    },
    {
      name: "If-None-Match",
      in: "header",
      description: "ETags that the caller holds: 304 when one of them is current.",
      schema: { type: "string" },
    },
  ],
  answers: {
    200: {
      description: "The vocabulary, with an ETag for conditional requests",
      body: vocabularyAnswer,
      headers: [...cached, "ETag"],
    },
    304: { description: "Not changed", body: null, headers: [...cached, "ETag"] },
  },
  problems: ["not_found", "request_invalid"],
};
export const verifyPageDoc: RouteDoc = {
  summary: "Whether a business published these exact bytes under this id",
  parameters: [
    { name: "record_id", in: "path", description: "Record id.", schema: recordId.schema },
    {
      name: "origin",
      in: "query",
      required: true,
      description: "Hash of the record's exact bytes.",
      schema: hash.schema,
    },
    { name: "cert", in: "query", description: "The certificate that the seal names.", schema: hash.schema },
    {
      name: "served_at",
      in: "query",
      description: "When the record was served.",
      schema: { type: "string", format: "date-time" },
    },
    formatParameter,
  ],
  answers: {
    200: {
      description: "What was found, and the same signed",
      body: verifyPageAnswer,
      headers: ["Cache-Control", "Vary"],
    },
  },
  pages: [200, 404],
  problems: ["not_found", "request_invalid"],
};
export const verifyDoc: RouteDoc = {
  summary: "Verify a record that you have",
  description: "A failed check gives an answer with `valid: false` and a `reason`.",
  body: verifyRequest,
  answers: {
    200: {
      description: "Findings and their signed statement",
      body: verifyAnswer,
      headers: ["Cache-Control"],
    },
  },
  problems: ["request_invalid", "record_too_large", "request_timeout", "not_offered", "rate_limited"],
};

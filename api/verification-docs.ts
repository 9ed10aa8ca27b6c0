// The OpenAPI descriptions of the public verification surface.

import { hash, uuid } from "../protocol/shape.ts";
import { recordId } from "../protocol/wire/push.ts";
import {
  businessKeysAnswer,
  certificateAnswer,
  keyCustodyAnswer,
  keyDirectoryAnswer,
  keySetAnswer,
  verifyPageAnswer,
} from "../protocol/wire/verification.ts";
import { verifyAnswer, verifyRequest } from "../protocol/wire/verify.ts";
import type { DocumentDoc } from "./public-read.ts";
import type { HeaderName } from "./response-headers.ts";
import type { Parameter, RouteDoc } from "./route.ts";

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
  pages: [200, 400, 404],
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
export const keySetDoc: DocumentDoc = {
  summary: "Signed key set of the service",
  found: { description: "The set in force; only the signed payload is trusted", body: keySetAnswer },
};
export const directoryDoc: DocumentDoc = {
  summary: "Key directory of AI companies that chose to be listed",
  found: { description: "The directory, and the same signed", body: keyDirectoryAnswer },
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
  pages: [200, 400, 404],
  problems: ["not_found", "request_invalid"],
};
export const verifyDoc: RouteDoc = {
  summary: "Verify a record that you have",
  description:
    "A failed check gives an answer with `valid: false` and a `reason`. Nobody is refused for asking much: a request waits for its turn, which goes round the addresses, and is 503 with the reason `checks_waiting` only after ten seconds or when the node is full.",
  body: verifyRequest,
  answers: {
    200: {
      description: "Findings and their signed statement",
      body: verifyAnswer,
      headers: ["Cache-Control"],
    },
  },
  problems: ["request_invalid", "record_too_large", "request_timeout"],
};

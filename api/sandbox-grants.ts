// POST /v1/sandbox/grants: how a newcomer's own key comes into the sandbox. There is no such address in production.

import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import { problem } from "../protocol/problem.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import type { AddressRate } from "../service/address-rate.ts";
import { type Outcome, refused } from "../service/answer.ts";
import type { GrantQuestion, IssueSandboxGrant } from "../service/sandbox-grants.ts";
import { type BodyLimits, closeUnread, leaveBodyUnread, readBody } from "./body.ts";
import type { Edge } from "./edge.ts";
import { bodyValidator } from "./json-schema.ts";
import { send } from "./reply.ts";
import { isRefused, parseQuery, requestHead } from "./request-parts.ts";
import type { Route, RouteDoc } from "./route.ts";
import { envelopeSchema } from "./schemas.ts";

export interface SandboxGrantRouteDeps {
  readonly issue: IssueSandboxGrant;
  readonly rate: AddressRate;
  /** `@authority` values of the surface, and the tag that is its own. */
  readonly authorities: readonly string[];
  readonly tag: SignatureTag;
  readonly edge: Edge;
}

const bodyBytesMax = 4_096;
const nameLengthMax = 200;

const properties = {
  public_key: { type: "object", description: "Public JWK of the key: Ed25519 or P-256." },
  role: {
    type: "string",
    enum: ["integration", "retrieval"],
    description: "`integration` publishes for a business, `retrieval` searches for an AI company.",
  },
  legal_name: {
    type: "string",
    minLength: 1,
    maxLength: nameLengthMax,
    pattern: "^[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]*$",
    description: "Name of the new party; « (sandbox)» is appended.",
  },
  country: { type: "string", pattern: "^[A-Z]{2}$", description: "Country of the new party." },
  possession: {
    ...envelopeSchema,
    description:
      "For a further key of an existing party, instead of legal_name and country: a key-possession document by `public_key`, whose challenge is the nonce of this request. A live key of the party signs the request.",
  },
} satisfies JsonObject;

const bodySchema: JsonObject = {
  type: "object",
  required: ["public_key", "role"],
  properties,
  additionalProperties: false,
};

const doc: RouteDoc = {
  summary: "A sandbox grant for a key of your own",
  description:
    "Sandbox only. The key that the grant is for signs the request, which proves its possession, and gets a new party; if it asks again, it gets the same one. A registered key gets the grant of its own party. Nothing is stored: the first request with the grant registers the key. The nonce is not claimed.",
  body: bodySchema,
  answers: {
    200: {
      description: "`grant` is sent as `SVC-Sandbox-Key` with every request of the key",
      schema: {
        type: "object",
        required: ["key_id", "role", "party", "registered", "grant"],
        properties: {
          key_id: { type: "string" },
          role: { enum: ["integration", "retrieval"] },
          party: {
            type: "object",
            required: ["uuid", "kind", "legal_name", "country"],
            properties: {
              uuid: { type: "string", format: "uuid" },
              kind: { enum: ["business", "ai_company"] },
              legal_name: { type: "string" },
              country: { type: "string" },
            },
          },
          registered: { type: "boolean", description: "Whether a request has registered the key already." },
          grant: { type: "string", maxLength: 8_192 },
        },
      },
    },
  },
  problems: ["request_invalid", "record_too_large", "request_timeout"],
};

export function sandboxGrantRoute(deps: SandboxGrantRouteDeps): Route {
  const limits: BodyLimits = { bytesMax: bodyBytesMax, edge: deps.edge };
  const faultOf = bodyValidator(bodySchema, Object.keys(properties));
  const answer = async (request: Parameters<Route["handle"]>[0], body: Uint8Array): Promise<Outcome> => {
    const query = parseQuery(request.raw.url ?? "", []);
    if (isRefused(query)) return query;
    const json = parseStrictJson(body);
    if (!json.ok) {
      const detail = `The body is not strict JSON: ${json.detail}`;
      return refused(problem("request_invalid", detail, { pointer: json.pointer ?? "" }));
    }
    const fault = faultOf(json.value as JsonValue);
    if (fault !== null) return refused(fault);
    const question = json.value as unknown as GrantQuestion;
    const accepted = { authorities: deps.authorities, tags: [deps.tag] };
    return deps.issue({ head: requestHead(request.raw), body, question, accepted });
  };
  return {
    method: "POST",
    path: "/v1/sandbox/grants",
    tags: [deps.tag],
    doc,
    handle: async (request, reply) => {
      const limited = deps.rate.take(request.ip);
      if (limited !== null) {
        leaveBodyUnread(request, reply);
        return send(reply, limited);
      }
      const body = await readBody(request.raw, limits, request.ip);
      if (!body.ok) {
        closeUnread(request, reply);
        return send(reply, refused(body.problem));
      }
      try {
        return send(reply, await answer(request, body.bytes));
      } finally {
        body.release();
      }
    },
  };
}

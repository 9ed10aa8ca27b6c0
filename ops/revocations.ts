// What operators take out of force: keys, mandates, certificates, sandbox grants; and what they look at before.

import type { FastifyInstance, FastifyReply } from "fastify";
import type { Result } from "../protocol/result.ts";
import { actsPageMax, type Done, type EndedStatus, type Revocations } from "../service/revocations.ts";
import { type Act, actBody, sendProblem } from "./acts.ts";

const moment = (description: string): object => ({
  ...{ type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" },
  description,
});

const statusReason = {
  ...{ type: "string", pattern: "^[a-z][a-z0-9_]{0,63}$" },
  description: "Why, in a code that the certificate shows to everybody, such as approval_reversed.",
};
const effectiveFrom = moment("From when on; not in the future. Now where it is not named.");
const compromisedFrom = moment(
  "Since when somebody else may have had the key; not in the future. Left out where nobody had: what it sealed before stands.",
);
const grant = {
  ...{ type: "string", minLength: 1, maxLength: 8_192 },
  description: "The grant as the sandbox gave it.",
};

const endBody = actBody({ status_reason: statusReason }, { effective_from: effectiveFrom });
const bodies = {
  key: actBody({}, { compromised_from: compromisedFrom }),
  mandate: actBody({}),
  grant: actBody({ grant }),
};

/** How a certificate ends, by the last part of the address. */
const ends: Readonly<Record<string, { readonly status: EndedStatus; readonly summary: string }>> = {
  revoke: { status: "revoked", summary: "Revokes a certificate: nothing sealed from then on stands" },
  close: { status: "closed", summary: "Ends the certificate of a business that closed" },
  withdraw: { status: "withdrawn", summary: "Withdraws a certificate; what was sealed before stands" },
};

/** Adds the addresses; see {@link revocationPaths}. */
export function addRevocationRoutes(server: FastifyInstance, revocations: Revocations): void {
  server.get<{ Params: { key_id: string } }>("/ops/keys/:key_id", async ({ params }, reply) =>
    show(reply, "key", await revocations.key(params.key_id)),
  );
  server.post<{ Params: { key_id: string }; Body: Act & { compromised_from?: string } }>(
    "/ops/keys/:key_id/revoke",
    { schema: { body: bodies.key } },
    async ({ params, body }, reply) => {
      const compromised_from = body.compromised_from ?? null;
      const request = { key_id: params.key_id, compromised_from, act: actOf(body) };
      return tell(reply, "key", await revocations.revokeKey(request));
    },
  );
  server.get<{ Params: { business_uuid: string; mandate_id: string } }>(
    "/ops/mandates/:business_uuid/:mandate_id",
    async ({ params }, reply) =>
      show(reply, "mandate", await revocations.mandate(params.business_uuid, params.mandate_id)),
  );
  server.post<{ Params: { business_uuid: string; mandate_id: string }; Body: Act }>(
    "/ops/mandates/:business_uuid/:mandate_id/revoke",
    { schema: { body: bodies.mandate } },
    async ({ params, body }, reply) =>
      tell(reply, "mandate", await revocations.revokeMandate({ ...params, act: actOf(body) })),
  );
  server.post<{ Body: Act & { grant: string } }>(
    "/ops/grants/revoke",
    { schema: { body: bodies.grant } },
    async ({ body }, reply) =>
      tell(reply, "key", await revocations.revokeGrant({ grant: body.grant, act: actOf(body) })),
  );
  addCertificateRoutes(server, revocations);
  server.get<{ Params: { uuid: string }; Querystring: { after?: string } }>(
    "/ops/acts/:uuid",
    { schema: { querystring: actsQuery } },
    async ({ params, query }) => {
      const acts = await revocations.acts(params.uuid, Number(query.after ?? 0));
      return {
        uuid: params.uuid,
        acts,
        next_after: acts.length === actsPageMax ? acts.at(-1)?.change : null,
      };
    },
  );
}

const actsQuery = {
  type: "object",
  properties: { after: { type: "string", pattern: "^[0-9]{1,15}$" } },
  additionalProperties: false,
} as const;

function addCertificateRoutes(server: FastifyInstance, revocations: Revocations): void {
  server.get<{ Params: { uuid: string } }>("/ops/certificates/:uuid", async ({ params }, reply) =>
    show(reply, "certificate", await revocations.certificate(params.uuid)),
  );
  for (const [last, { status }] of Object.entries(ends)) {
    server.post<{ Params: { uuid: string }; Body: Act & { status_reason: string; effective_from?: string } }>(
      `/ops/certificates/:uuid/${last}`,
      { schema: { body: endBody } },
      async ({ params, body }, reply) => {
        const effective_from = body.effective_from ?? null;
        const { status_reason } = body;
        const request = { uuid: params.uuid, status, effective_from, status_reason, act: actOf(body) };
        return tell(reply, "certificate", await revocations.endCertificate(request));
      },
    );
  }
}

function actOf({ by, reason }: Act): Act {
  return { by, reason };
}

function show<T>(reply: FastifyReply, name: string, found: Result<T, "unknown">): FastifyReply {
  return found.ok ? reply.send({ [name]: found.value }) : sendProblem(reply, "not_found", found.detail);
}

function tell<T>(
  reply: FastifyReply,
  name: string,
  outcome: Result<Done<T>, "unknown" | "refused">,
): FastifyReply {
  if (!outcome.ok)
    return sendProblem(reply, outcome.code === "unknown" ? "not_found" : "request_invalid", outcome.detail);
  const { changed, since, subject } = outcome.value;
  reply.request.outcome = { changed, since, [name]: subject };
  return reply.send({ changed, since, [name]: subject });
}

const parameter = (where: "path" | "query", name: string, description: string): object => ({
  ...{ name, in: where, required: where === "path", description, schema: { type: "string" } },
});

const operation = (summary: string, parameters: readonly object[], more: object = {}): object => ({
  ...{ summary, parameters, ...more },
  responses: {
    200: {
      description: `${summary}; \`changed\` is false where it was so before, \`since\` says from when on`,
    },
    400: { description: "Nothing was changed" },
    404: { description: "There is no such thing" },
    503: { description: "It cannot be done now; asking again does no harm" },
  },
});

const bodyOf = (schema: object): object => ({
  requestBody: { required: true, content: { "application/json": { schema } } },
});

const keyId = parameter("path", "key_id", "Of a registered key.");
const uuid = parameter("path", "uuid", "Of a business or an AI company.");
const mandateNames = [
  parameter("path", "business_uuid", "Of the business that gave the mandate."),
  parameter("path", "mandate_id", "Of the mandate, percent-encoded where it needs to be."),
];

/** For the surface's OpenAPI document. */
export const revocationPaths: Readonly<Record<string, object>> = {
  "/ops/keys/{key_id}": { get: operation("Shows a key", [keyId]) },
  "/ops/keys/{key_id}/revoke": { post: operation("Revokes a key", [keyId], bodyOf(bodies.key)) },
  "/ops/mandates/{business_uuid}/{mandate_id}": { get: operation("Shows a mandate", mandateNames) },
  "/ops/mandates/{business_uuid}/{mandate_id}/revoke": {
    post: operation("Revokes a mandate", mandateNames, bodyOf(bodies.mandate)),
  },
  "/ops/certificates/{uuid}": { get: operation("Shows the certificate in force", [uuid]) },
  ...Object.fromEntries(
    Object.entries(ends).map(([last, { summary }]) => [
      `/ops/certificates/{uuid}/${last}`,
      { post: operation(summary, [uuid], bodyOf(endBody)) },
    ]),
  ),
  "/ops/grants/revoke": {
    post: operation("Revokes the key of a sandbox grant, used or not", [], bodyOf(bodies.grant)),
  },
  "/ops/acts/{uuid}": {
    get: operation("What was done to a party with a name and a reason, 100 a page", [
      uuid,
      parameter("query", "after", "`next_after` of the page before."),
    ]),
  },
};

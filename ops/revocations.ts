// What operators revoke: keys, mandates, certificates, sandbox grants; and what they look up beforehand.

import type { FastifyInstance, FastifyReply } from "fastify";
import type { Result } from "../protocol/result.ts";
import type { Done, EndedStatus, Revocations } from "../service/register/revocations.ts";
import { actOf, sendProblem } from "./acts.ts";
import { type Body, bodies } from "./shapes.ts";

/** How a certificate ends, by the last segment of the address. */
export const certificateEnds: Readonly<
  Record<string, { readonly status: EndedStatus; readonly summary: string }>
> = {
  revoke: { status: "revoked", summary: "Revokes a certificate: nothing sealed from then on stands" },
  close: { status: "closed", summary: "Ends the certificate of a business that closed" },
  withdraw: { status: "withdrawn", summary: "Withdraws a certificate; what was sealed before stands" },
};

/** Adds the routes. */
export function addRevocationRoutes(server: FastifyInstance, revocations: Revocations): void {
  server.get<{ Params: { key_id: string } }>("/ops/keys/:key_id", async ({ params }, reply) =>
    show(reply, "key", await revocations.key(params.key_id)),
  );
  server.post<{ Params: { key_id: string }; Body: Body<"key"> }>(
    "/ops/keys/:key_id/revoke",
    { schema: { body: bodies.key.schema } },
    async (request, reply) => {
      const compromised_from = request.body.compromised_from ?? null;
      const asked = { key_id: request.params.key_id, compromised_from, act: actOf(request) };
      return tell(reply, "key", await revocations.revokeKey(asked));
    },
  );
  server.get<{ Params: { business_uuid: string; mandate_id: string } }>(
    "/ops/mandates/:business_uuid/:mandate_id",
    async ({ params }, reply) =>
      show(reply, "mandate", await revocations.mandate(params.business_uuid, params.mandate_id)),
  );
  server.post<{ Params: { business_uuid: string; mandate_id: string }; Body: Body<"mandate"> }>(
    "/ops/mandates/:business_uuid/:mandate_id/revoke",
    { schema: { body: bodies.mandate.schema } },
    async (request, reply) =>
      tell(reply, "mandate", await revocations.revokeMandate({ ...request.params, act: actOf(request) })),
  );
  server.post<{ Body: Body<"grant"> }>(
    "/ops/grants/revoke",
    { schema: { body: bodies.grant.schema } },
    async (request, reply) =>
      tell(reply, "key", await revocations.revokeGrant({ grant: request.body.grant, act: actOf(request) })),
  );
  addCertificateRoutes(server, revocations);
  server.get<{ Params: { uuid: string }; Querystring: { after?: string; entry?: string } }>(
    "/ops/acts/:uuid",
    { schema: { querystring: actsQuery } },
    async ({ params: { uuid }, query: { after = "0", entry = null } }) => ({
      uuid,
      ...(await revocations.acts(uuid, { after: Number(after), entry })),
    }),
  );
}

const actsQuery = {
  type: "object",
  properties: { after: { type: "string", pattern: "^[0-9]{1,15}$" }, entry: { type: "string" } },
  additionalProperties: false,
} as const;

function addCertificateRoutes(server: FastifyInstance, revocations: Revocations): void {
  server.get<{ Params: { uuid: string } }>("/ops/certificates/:uuid", async ({ params }, reply) =>
    show(reply, "certificate", await revocations.certificate(params.uuid)),
  );
  for (const [last, { status }] of Object.entries(certificateEnds)) {
    server.post<{ Params: { uuid: string }; Body: Body<"certificate"> }>(
      `/ops/certificates/:uuid/${last}`,
      { schema: { body: bodies.certificate.schema } },
      async (request, reply) => {
        const { status_reason, effective_from = null, keep_keys = false } = request.body;
        const { uuid } = request.params;
        const asked = { uuid, status, effective_from, status_reason, keep_keys, act: actOf(request) };
        const outcome = await revocations.endCertificate(asked);
        const keys = outcome.ok ? { keys_ended: outcome.value.keys_ended } : {};
        return tell(reply, "certificate", outcome, keys);
      },
    );
  }
}

function show<T>(reply: FastifyReply, name: string, found: Result<T, "unknown">): FastifyReply {
  return found.ok ? reply.send({ [name]: found.value }) : sendProblem(reply, "not_found", found.detail);
}

function tell<T>(
  reply: FastifyReply,
  name: string,
  outcome: Result<Done<T>, "unknown" | "refused">,
  more: object = {},
): FastifyReply {
  if (!outcome.ok)
    return sendProblem(reply, outcome.code === "unknown" ? "not_found" : "request_invalid", outcome.detail);
  const { changed, since, subject } = outcome.value;
  const told = { changed, since, [name]: subject, ...more };
  reply.request.outcome = told;
  return reply.send(told);
}

// What operators revoke: keys, mandates, certificates, sandbox grants; and what they look up beforehand.

import type { FastifyReply } from "fastify";
import type { Result } from "../protocol/result.ts";
import type { Done, EndedStatus, Revocations } from "../service/register/revocations.ts";
import { actOf, sendProblem } from "./acts.ts";
import { act, afterPage, type OpsRoute, parameter, problemsOfSeen, read, shown } from "./route.ts";
import { actList, bodies, certificateEnd, certificateState, done, keyState, mandateState } from "./shapes.ts";

/** How a certificate ends, by the last segment of the address. */
const certificateEnds: Readonly<Record<string, { readonly status: EndedStatus; readonly summary: string }>> =
  {
    revoke: { status: "revoked", summary: "Revokes a certificate: nothing sealed from then on stands" },
    close: { status: "closed", summary: "Ends the certificate of a business that closed" },
    withdraw: { status: "withdrawn", summary: "Withdraws a certificate; what was sealed before stands" },
  };

const keyNames = [parameter("path", "key_id", "Id of a registered key.")];
const uuid = parameter("path", "uuid", "UUID of a business or an AI company.");
const mandateNames = [
  parameter("path", "business_uuid", "UUID of the business that gave the mandate."),
  parameter("path", "mandate_id", "Id of the mandate, percent-encoded where necessary."),
];

export function revocationRoutes(revocations: Revocations): readonly OpsRoute[] {
  return [
    shown("/ops/keys/:key_id", "key", { subject: keyState, parameters: keyNames }, ({ key_id }) =>
      revocations.key(key_id),
    ),
    act(
      "/ops/keys/:key_id/revoke",
      {
        summary: "Revokes a key",
        body: bodies.key,
        answer: done("key", keyState),
        parameters: keyNames,
      },
      async (request, reply) => {
        const compromised_from = request.body.compromised_from ?? null;
        const asked = { ...request.params, compromised_from, act: actOf(request) };
        return tell(reply, "key", await revocations.revokeKey(asked));
      },
    ),
    shown(
      "/ops/mandates/:business_uuid/:mandate_id",
      "mandate",
      { subject: mandateState, parameters: mandateNames },
      ({ business_uuid, mandate_id }) => revocations.mandate(business_uuid, mandate_id),
    ),
    act(
      "/ops/mandates/:business_uuid/:mandate_id/revoke",
      {
        summary: "Revokes a mandate",
        body: bodies.mandate,
        answer: done("mandate", mandateState),
        parameters: mandateNames,
      },
      async (request, reply) =>
        tell(reply, "mandate", await revocations.revokeMandate({ ...request.params, act: actOf(request) })),
    ),
    shown(
      "/ops/certificates/:uuid",
      "certificate",
      { subject: certificateState, parameters: [uuid] },
      (params) => revocations.certificate(params.uuid),
    ),
    ...Object.entries(certificateEnds).map(([last, { status, summary }]) =>
      act(
        `/ops/certificates/:uuid/${last}`,
        {
          summary,
          body: bodies.certificate,
          answer: certificateEnd,
          parameters: [uuid],
          problems: problemsOfSeen,
        },
        async (request, reply) => {
          const { cert_id, status_reason, effective_from = null, keep_keys = false } = request.body;
          const how = { status, effective_from, status_reason, keep_keys };
          const asked = { ...request.params, cert_id, ...how, act: actOf(request) };
          const outcome = await revocations.endCertificate(asked);
          const keys = outcome.ok ? { keys_ended: outcome.value.keys_ended } : {};
          return tell(reply, "certificate", outcome, keys);
        },
      ),
    ),
    act(
      "/ops/grants/revoke",
      {
        summary: "Revokes the key of a sandbox grant, used or not",
        body: bodies.grant,
        answer: done("key", keyState),
      },
      async (request, reply) =>
        tell(reply, "key", await revocations.revokeGrant({ grant: request.body.grant, act: actOf(request) })),
    ),
    read(
      "/ops/acts/:uuid",
      {
        summary: "Acts of operators on a party, with name and reason, 100 a page",
        answer: actList,
        parameters: [
          uuid,
          { ...afterPage, schema: { type: "string", pattern: "^[0-9]{1,15}$" } },
          parameter("query", "entry", "Only acts on this entry of the register, such as `key/…`."),
        ],
      },
      async ({ params, query: { after = "0", entry = null } }) => ({
        ...params,
        ...(await revocations.acts(params.uuid, { after: Number(after), entry })),
      }),
    ),
  ];
}

const refusalProblems = {
  unknown: "not_found",
  refused: "request_invalid",
  changed: "state_changed",
} as const;

/** Sends the outcome of an act with its subject under a name, or why nothing was done; `changed` is another than was seen. */
export function tell<T>(
  reply: FastifyReply,
  name: string,
  outcome: Result<Done<T>, keyof typeof refusalProblems>,
  more: object = {},
): FastifyReply {
  if (!outcome.ok) return sendProblem(reply, refusalProblems[outcome.code], outcome.detail);
  const { changed, since, subject } = outcome.value;
  const told = { changed, since, [name]: subject, ...more };
  reply.request.outcome = told;
  return reply.send(told);
}

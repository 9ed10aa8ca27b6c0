// The accounts of AI companies: what operators look up, and what they pay in or correct. Each entry says who made it and why, and
// is made once under its id.

import type { FastifyInstance, FastifyReply } from "fastify";
import { anyText, listOf, named, object, oneOf, timestamp } from "../protocol/shape.ts";
import { statementMembers } from "../protocol/wire/allowance.ts";
import type { OperatorLedgers } from "../service/ledgers.ts";
import { actOf } from "./acts.ts";
import { sendProblem } from "./reply.ts";
import { type Body, bodies } from "./shapes.ts";

interface CompanyParams {
  readonly company_uuid: string;
}

/** Adds the routes. */
export function addLedgerRoutes(server: FastifyInstance, ledgers: OperatorLedgers): void {
  server.get<{ Params: CompanyParams }>("/ops/ledgers/:company_uuid", async ({ params }, reply) => {
    const account = await ledgers.account(params.company_uuid);
    return account === null ? unknown(reply) : reply.send({ account });
  });
  server.get<{ Params: CompanyParams & { month: string } }>(
    "/ops/ledgers/:company_uuid/statements/:month",
    async ({ params: { company_uuid, month } }, reply) => {
      const found = await ledgers.statement(company_uuid, month);
      if (!found.ok) return sendProblem(reply, "request_invalid", found.detail, { pointer: "/path/month" });
      return found.value === null ? unknown(reply) : reply.send({ statement: found.value });
    },
  );
  server.post<{ Params: CompanyParams; Body: Body<"ledgerEntry"> }>(
    "/ops/ledgers/:company_uuid/entries",
    { schema: { body: bodies.ledgerEntry.schema } },
    async (request, reply) => {
      const { params, body } = request;
      const entered = await ledgers.enter(params.company_uuid, { ...body, ...actOf(request) });
      if (!entered.ok)
        return entered.code === "unknown"
          ? sendProblem(reply, "not_found", entered.detail)
          : sendProblem(reply, "request_invalid", entered.detail, { reason: entered.code });
      const account = entered.value;
      reply.request.outcome = { account };
      return reply.send({ account });
    },
  );
}

function unknown(reply: FastifyReply): FastifyReply {
  return sendProblem(reply, "not_found", "Nothing was ever paid in for an AI company with this UUID.");
}

const operatorEntry = object({
  entry_id: anyText,
  kind: oneOf(["top_up", "correction"]),
  amount: anyText,
  currency: anyText,
  by: anyText,
  reason: anyText,
  at: timestamp,
});
export const operatorStatement = named(
  "OperatorStatement",
  object({ ...statementMembers, entries: listOf(operatorEntry) }),
);

// What operators take out of serving: one record, or everything of a business; and what they look up beforehand.

import type { FastifyInstance, FastifyReply } from "fastify";
import type { Operation } from "../api/route.ts";
import type { Result } from "../protocol/result.ts";
import { anyText, described, integer, type Of, object, timestamp, uuid } from "../protocol/shape.ts";
import { heldDeletion, heldDeletionsAnswer } from "../protocol/wire/removal.ts";
import type { HeldDeletions, OrderedPurge, PurgePage } from "../service/publishing/purges.ts";
import type { Blocks, Brands } from "../service/register/blocks.ts";
import type { Takedowns } from "../service/register/takedowns.ts";
import { actOf, sendProblem } from "./acts.ts";
import {
  type Act,
  act,
  actMembers,
  type Body,
  bodies,
  changed,
  type LatePurge,
  parameter,
  plainText,
  purgeProof,
  read,
  reasonLengthMax,
  shown,
  takedownList,
  takedownState,
} from "./shapes.ts";

const imposeBody = object({
  statement_of_reasons: plainText(
    reasonLengthMax,
    "What the business is told. The reason is for the operators' own record, and told to nobody else.",
  ),
  ...actMembers,
});
const liftBody = object(actMembers);

const subject = parameter(
  "path",
  "subject",
  "A record_id, or the UUID of a business for everything that it publishes.",
);

export const takedownOperations: readonly Operation[] = [
  read("/ops/takedowns", "What is taken down, 100 at most", takedownList),
  shown("/ops/takedowns/:subject", "subject", takedownState, [subject]),
  act("/ops/takedowns/:subject/impose", {
    summary: "Takes a record, or everything of a business, out of serving in every region",
    body: imposeBody,
    answer: changed("subject", takedownState),
    parameters: [subject],
  }),
  act("/ops/takedowns/:subject/lift", {
    summary: "Undoes a takedown",
    body: liftBody,
    answer: changed("subject", takedownState),
    parameters: [subject],
  }),
];

interface Named {
  readonly subject: string;
}

/** Adds the routes. */
export function addTakedownRoutes(server: FastifyInstance, takedowns: Takedowns): void {
  server.get("/ops/takedowns", async () => takedowns.inForce());
  server.get<{ Params: Named }>("/ops/takedowns/:subject", async ({ params }, reply) => {
    const found = await takedowns.of(params.subject);
    return found.ok ? { subject: found.value } : sendProblem(reply, "not_found", found.detail);
  });
  server.post<{ Params: Named; Body: Of<typeof imposeBody> }>(
    "/ops/takedowns/:subject/impose",
    { schema: { body: imposeBody.schema } },
    async (request, reply) => {
      const { statement_of_reasons } = request.body;
      const asked = { ...request.params, statement_of_reasons, act: actOf(request) };
      const outcome = await takedowns.impose(asked);
      if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
      request.outcome = { changed: outcome.value.changed };
      return outcome.value;
    },
  );
  server.post<{ Params: Named; Body: Of<typeof liftBody> }>(
    "/ops/takedowns/:subject/lift",
    { schema: { body: liftBody.schema } },
    async (request, reply) => {
      const outcome = await takedowns.lift({ ...request.params, act: actOf(request) });
      if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
      request.outcome = { changed: outcome.value.changed };
      return outcome.value;
    },
  );
}

// What operators read of purges: which are late on this node and why, and every deletion of a business with its proof; and the purge
// that they order because the law does.

export interface PurgeReads {
  /** The businesses whose purges are late on this node, that of the oldest deletion first. */
  late(): readonly LatePurge[];
  /** A page of a business's deletions, after the one with this number. */
  ofBusiness(uuid: string, after: number): Promise<PurgePage>;
  /** Refusals by the business's actor are thrown as `RegisterRefused`. */
  order(request: {
    readonly record_id: string;
    readonly ground: string;
    readonly act: Act;
  }): Promise<Result<{ readonly changed: boolean; readonly subject: OrderedPurge }, "unknown">>;
}

const orderBody = object({
  ground: plainText(
    reasonLengthMax,
    "The ground in law. Everybody who has the record's id and hash reads it on its verify page.",
  ),
  ...actMembers,
});

const orderedPurge = object({
  record_id: anyText,
  business_uuid: uuid,
  generation: described(
    integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    "The newest version that it concerns; it concerns all before it as well.",
  ),
  ground: anyText,
  ordered_at: timestamp,
  proof: purgeProof,
});

export const purgeOrderOperations: readonly Operation[] = [
  act("/ops/purge-orders/:record_id", {
    summary: "Deletes a record and purges its bytes at once, because the law orders it",
    body: orderBody,
    answer: changed("subject", orderedPurge),
    parameters: [parameter("path", "record_id", "Id of a record that is or was published.")],
  }),
];

const lateMax = 100;
const purgesQuery = {
  type: "object",
  properties: { after: { type: "string", pattern: "^[0-9]{1,15}$" } },
  additionalProperties: false,
} as const;

/** Adds the routes. */
export function addPurgeRoutes(server: FastifyInstance, purges: PurgeReads): void {
  server.get("/ops/purges", async () => ({ late: purges.late().slice(0, lateMax) }));
  server.get<{ Params: { business_uuid: string }; Querystring: { after?: string } }>(
    "/ops/purges/:business_uuid",
    { schema: { querystring: purgesQuery } },
    async ({ params: { business_uuid }, query }) => ({
      business_uuid,
      ...(await purges.ofBusiness(business_uuid, Number(query.after ?? 0))),
    }),
  );
  server.post<{ Params: { record_id: string }; Body: Of<typeof orderBody> }>(
    "/ops/purge-orders/:record_id",
    { schema: { body: orderBody.schema } },
    async (request, reply) => {
      const { ground } = request.body;
      const outcome = await purges.order({ ...request.params, ground, act: actOf(request) });
      if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
      request.outcome = { changed: outcome.value.changed };
      return outcome.value;
    },
  );
}

// Deletions that wait for an operator, because they were received after a certificate had been revoked for compromise.

const decisionBody = object(actMembers);

const businessUuid = parameter("path", "business_uuid", "UUID of the business.");
const names = [businessUuid, parameter("path", "document_hash", "Hash of the sealed document.")];

/** What is done with a deletion, by the last segment of the address. */
const decisions = {
  release: { released: true, summary: "Has a held deletion done, as if it had just been received" },
  reject: { released: false, summary: "Rejects a held deletion for good; the record stays as it is" },
} as const;

export const heldDeletionOperations: readonly Operation[] = [
  read(
    "/ops/deletions/:business_uuid",
    "Deletions of a business that wait or waited for an operator, 100 a page",
    heldDeletionsAnswer,
    {
      parameters: [businessUuid, parameter("query", "after", "`next_after` of the previous page.")],
      problems: ["not_found"],
    },
  ),
  ...Object.entries(decisions).map(([last, { summary }]) =>
    act(`/ops/deletions/:business_uuid/:document_hash/${last}`, {
      summary,
      body: decisionBody,
      answer: changed("subject", heldDeletion),
      parameters: names,
    }),
  ),
];

const pageQuery = {
  type: "object",
  properties: { after: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } },
  additionalProperties: false,
} as const;

/** Adds the routes. */
export function addHeldDeletionRoutes(server: FastifyInstance, deletions: HeldDeletions): void {
  server.get<{ Params: { business_uuid: string }; Querystring: { after?: string } }>(
    "/ops/deletions/:business_uuid",
    { schema: { querystring: pageQuery } },
    async ({ params, query }, reply) => {
      const found = await deletions.ofBusiness(params.business_uuid, query.after ?? "");
      return found.ok ? found.value : sendProblem(reply, "not_found", found.detail);
    },
  );
  for (const [last, { released }] of Object.entries(decisions))
    server.post<{
      Params: { business_uuid: string; document_hash: string };
      Body: Of<typeof decisionBody>;
    }>(
      `/ops/deletions/:business_uuid/:document_hash/${last}`,
      { schema: { body: decisionBody.schema } },
      async (request, reply) => {
        const outcome = await deletions.decide({ ...request.params, released, act: actOf(request) });
        if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
        request.outcome = { changed: outcome.value.changed };
        return outcome.value;
      },
    );
}

// What operators change for businesses and AI companies: whom a business blocks and the group of a company, until these do so in a
// portal, and the brands that are confirmed as a business's own.

/** Adds the routes of brands. */
export function addBrandRoutes(server: FastifyInstance, brands: Brands): void {
  server.get<{ Params: { business_uuid: string } }>("/ops/brands/:business_uuid", async ({ params }, reply) =>
    show(reply, "brands", await brands.ofBusiness(params.business_uuid)),
  );
  for (const [last, confirmed] of [
    ["confirm", true],
    ["unconfirm", false],
  ] as const) {
    server.post<{ Params: { business_uuid: string }; Body: Body<"brand"> }>(
      `/ops/brands/:business_uuid/${last}`,
      { schema: { body: bodies.brand.schema } },
      async (request, reply) => {
        const { params, body } = request;
        const asked = { ...params, name: body.name, confirmed, act: actOf(request) };
        return tell(reply, "brands", await brands.confirm(asked));
      },
    );
  }
}

/** Adds the routes of blocks and groups. */
export function addBlockRoutes(server: FastifyInstance, blocks: Blocks): void {
  server.get<{ Params: { business_uuid: string } }>("/ops/blocks/:business_uuid", async ({ params }, reply) =>
    show(reply, "blocks", await blocks.ofBusiness(params.business_uuid)),
  );
  for (const [last, blocked] of [
    ["block", true],
    ["unblock", false],
  ] as const) {
    server.post<{ Params: { business_uuid: string }; Body: Body<"block"> }>(
      `/ops/blocks/:business_uuid/${last}`,
      { schema: { body: bodies.block.schema } },
      async (request, reply) =>
        tell(
          reply,
          "blocks",
          await blocks.setBlocked({
            ...request.params,
            group: request.body.group,
            blocked,
            act: actOf(request),
          }),
        ),
    );
  }
  server.get<{ Params: { company_uuid: string } }>("/ops/groups/:company_uuid", async ({ params }, reply) =>
    show(reply, "company", await blocks.ofCompany(params.company_uuid)),
  );
  server.post<{ Params: { company_uuid: string }; Body: Body<"joinGroup"> }>(
    "/ops/groups/:company_uuid/join",
    { schema: { body: bodies.joinGroup.schema } },
    async (request, reply) =>
      tell(
        reply,
        "company",
        await blocks.joinGroup({ ...request.params, group: request.body.group, act: actOf(request) }),
      ),
  );
}

function show<T>(reply: FastifyReply, name: string, found: Result<T, "unknown">): FastifyReply {
  return found.ok ? reply.send({ [name]: found.value }) : sendProblem(reply, "not_found", found.detail);
}

function tell<T>(
  reply: FastifyReply,
  name: string,
  outcome: Result<{ readonly changed: boolean; readonly subject: T }, "unknown">,
): FastifyReply {
  if (!outcome.ok) return sendProblem(reply, "not_found", outcome.detail);
  const { changed, subject } = outcome.value;
  reply.request.outcome = { changed };
  return reply.send({ changed, [name]: subject });
}

// What operators change for businesses and AI companies: whom a business blocks and the group of a company, until these do so in a
// portal, and the brands that are confirmed as a business's own.

import type { FastifyInstance, FastifyReply } from "fastify";
import type { Result } from "../protocol/result.ts";
import type { Blocks } from "../service/blocks.ts";
import type { Brands } from "../service/brands.ts";
import { actOf } from "./acts.ts";
import { sendProblem } from "./reply.ts";
import { type Body, bodies } from "./shapes.ts";

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

// What operators take out of serving: one record, or everything of a business; and what they look up beforehand.

import type { Result } from "../protocol/result.ts";
import { anyText, described, integer, object, timestamp, uuid } from "../protocol/shape.ts";
import { heldDeletion, heldDeletionsAnswer } from "../protocol/wire/removal.ts";
import type { HeldDeletions, OrderedPurge, PurgePage } from "../service/publishing/purges.ts";
import type { Blocks, Brands } from "../service/register/blocks.ts";
import type { Takedowns } from "../service/register/takedowns.ts";
import { actOf, sendProblem } from "./acts.ts";
import {
  act,
  afterPage,
  type OpsRoute,
  parameter,
  problemsOfSeen,
  read,
  shown,
  tellChanged,
} from "./route.ts";
import {
  type Act,
  actMembers,
  blockState,
  bodies,
  brandState,
  changed,
  expected,
  groupState,
  type LatePurge,
  latePurges,
  plainText,
  purgePage,
  purgeProof,
  reasonLengthMax,
  takedownList,
  takedownState,
} from "./shapes.ts";

const imposeBody = object({
  statement_of_reasons: plainText(
    reasonLengthMax,
    "What the business is told. The reason is for the operators' own record, and told to nobody else.",
  ),
  expected,
  ...actMembers,
});
const liftBody = object({ expected, ...actMembers });

const subjects = [
  parameter("path", "subject", "A record_id, or the UUID of a business for everything that it publishes."),
];

export function takedownRoutes(takedowns: Takedowns): readonly OpsRoute[] {
  return [
    read("/ops/takedowns", { summary: "What is taken down, 100 at most", answer: takedownList }, async () =>
      takedowns.inForce(),
    ),
    shown(
      "/ops/takedowns/:subject",
      "subject",
      { subject: takedownState, parameters: subjects },
      ({ subject }) => takedowns.of(subject),
    ),
    act(
      "/ops/takedowns/:subject/impose",
      {
        summary: "Takes a record, or everything of a business, out of serving in every region",
        body: imposeBody,
        answer: changed("subject", takedownState),
        parameters: subjects,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { statement_of_reasons, expected: seen } = request.body;
        const asked = { ...request.params, statement_of_reasons, expected: seen, act: actOf(request) };
        return tellChanged(reply, await takedowns.impose(asked));
      },
    ),
    act(
      "/ops/takedowns/:subject/lift",
      {
        summary: "Undoes a takedown",
        body: liftBody,
        answer: changed("subject", takedownState),
        parameters: subjects,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const asked = { ...request.params, expected: request.body.expected, act: actOf(request) };
        return tellChanged(reply, await takedowns.lift(asked));
      },
    ),
  ];
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

const lateMax = 100;
const businessUuid = parameter("path", "business_uuid", "UUID of the business.");

export function purgeRoutes(purges: PurgeReads): readonly OpsRoute[] {
  return [
    read(
      "/ops/purges",
      {
        summary:
          "Businesses whose purges are due and not done on this node, with what they wait for, 100 at most",
        answer: latePurges,
      },
      async () => ({ late: purges.late().slice(0, lateMax) }),
    ),
    read(
      "/ops/purges/:business_uuid",
      {
        summary:
          "Deletions and ordered purges of a business in their order, with the proofs of their purges; a page is made of 100 removals, and withdrawals are left out",
        answer: purgePage,
        parameters: [businessUuid, { ...afterPage, schema: { type: "string", pattern: "^[0-9]{1,15}$" } }],
      },
      async ({ params, query: { after = "0" } }) => ({
        ...params,
        ...(await purges.ofBusiness(params.business_uuid, Number(after))),
      }),
    ),
    act(
      "/ops/purge-orders/:record_id",
      {
        summary: "Deletes a record and purges its bytes at once, because the law orders it",
        body: orderBody,
        answer: changed("subject", orderedPurge),
        parameters: [parameter("path", "record_id", "Id of a record that is or was published.")],
      },
      async (request, reply) => {
        const { ground } = request.body;
        return tellChanged(reply, await purges.order({ ...request.params, ground, act: actOf(request) }));
      },
    ),
  ];
}

// Deletions that wait for an operator, because they were received after a certificate had been revoked for compromise.

/** What is done with a deletion, by the last segment of the address. */
const decisions = {
  release: { released: true, summary: "Has a held deletion done, as if it had just been received" },
  reject: { released: false, summary: "Rejects a held deletion for good; the record stays as it is" },
} as const;

export function heldDeletionRoutes(deletions: HeldDeletions): readonly OpsRoute[] {
  return [
    read(
      "/ops/deletions/:business_uuid",
      {
        summary: "Deletions of a business that wait or waited for an operator, 100 a page",
        answer: heldDeletionsAnswer,
        parameters: [
          businessUuid,
          { ...afterPage, schema: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } },
        ],
        problems: ["not_found"],
      },
      async ({ params, query: { after = "" } }, reply) => {
        const found = await deletions.ofBusiness(params.business_uuid, after);
        return found.ok ? found.value : sendProblem(reply, "not_found", found.detail);
      },
    ),
    ...Object.entries(decisions).map(([last, { released, summary }]) =>
      act(
        `/ops/deletions/:business_uuid/:document_hash/${last}`,
        {
          summary,
          body: object(actMembers),
          answer: changed("subject", heldDeletion),
          parameters: [businessUuid, parameter("path", "document_hash", "Hash of the sealed document.")],
        },
        async (request, reply) =>
          tellChanged(reply, await deletions.decide({ ...request.params, released, act: actOf(request) })),
      ),
    ),
  ];
}

// What operators change for businesses and AI companies: whom a business blocks and the group of a company, until these do so in a
// portal, and the brands that are confirmed as a business's own.

/** By the last segment of the address. */
const confirmations = {
  confirm: {
    confirmed: true,
    summary: "Confirms a brand as a business's own, which protects it in the texts of others",
  },
  unconfirm: { confirmed: false, summary: "Takes the confirmation of a brand back" },
} as const;

export function brandRoutes(brands: Brands): readonly OpsRoute[] {
  return [
    shown(
      "/ops/brands/:business_uuid",
      "brands",
      {
        summary: "The brands of a business: what its business files name, and what is confirmed",
        subject: brandState,
        parameters: [businessUuid],
      },
      ({ business_uuid }) => brands.ofBusiness(business_uuid),
    ),
    ...Object.entries(confirmations).map(([last, { confirmed, summary }]) =>
      act(
        `/ops/brands/:business_uuid/${last}`,
        {
          summary,
          body: bodies.brand,
          answer: changed("brands", brandState),
          parameters: [businessUuid],
          problems: problemsOfSeen,
        },
        async (request, reply) => {
          const { params, body } = request;
          const { name, expected: seen } = body;
          const asked = { ...params, name, confirmed, expected: seen, act: actOf(request) };
          return tellChanged(reply, await brands.confirm(asked), "brands");
        },
      ),
    ),
  ];
}

/** By the last segment of the address. */
const blockings = {
  block: { blocked: true, summary: "Blocks a group for a business" },
  unblock: { blocked: false, summary: "Unblocks a group" },
} as const;
const companyUuid = parameter("path", "company_uuid", "UUID of the AI company.");

export function blockRoutes(blocks: Blocks): readonly OpsRoute[] {
  return [
    shown(
      "/ops/blocks/:business_uuid",
      "blocks",
      {
        summary: "The groups of AI companies that a business blocks",
        subject: blockState,
        parameters: [businessUuid],
      },
      ({ business_uuid }) => blocks.ofBusiness(business_uuid),
    ),
    ...Object.entries(blockings).map(([last, { blocked, summary }]) =>
      act(
        `/ops/blocks/:business_uuid/${last}`,
        {
          summary,
          body: bodies.block,
          answer: changed("blocks", blockState),
          parameters: [businessUuid],
          problems: problemsOfSeen,
        },
        async (request, reply) => {
          const { params, body } = request;
          const { group, expected: seen } = body;
          const asked = { ...params, group, blocked, expected: seen, act: actOf(request) };
          return tellChanged(reply, await blocks.setBlocked(asked), "blocks");
        },
      ),
    ),
    shown(
      "/ops/groups/:company_uuid",
      "company",
      { subject: groupState, parameters: [companyUuid] },
      ({ company_uuid }) => blocks.ofCompany(company_uuid),
    ),
    act(
      "/ops/groups/:company_uuid/join",
      {
        summary: "Changes the group of an AI company, which keeps its former groups",
        body: bodies.joinGroup,
        answer: changed("company", groupState),
        parameters: [companyUuid],
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { group, expected: seen } = request.body;
        const asked = { ...request.params, group, expected: seen, act: actOf(request) };
        return tellChanged(reply, await blocks.joinGroup(asked), "company");
      },
    ),
  ];
}

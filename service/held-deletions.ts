// Deletions that were received after a certificate was revoked for compromise: a thief of the keys may have sealed them, so an operator
// decides. The business and the operators read which wait, and what became of the others.

import type { RegisterAct } from "../actors/messages/business.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { HeldDeletion } from "../actors/messages/removal.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { isHash, isUuidV4 } from "../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import type { HeldDeletionsAnswer } from "../protocol/wire/held-deletions.ts";
import { answerJson, type Outcome } from "./answer.ts";
import { RegisterRefused } from "./parties.ts";
import type { Register } from "./register.ts";

export interface HeldDeletionDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly register: Pick<Register, "party">;
}

type Shown = HeldDeletionsAnswer["deletions"][number];
type Found<T> = Promise<Result<T, "unknown">>;

export interface HeldDeletions {
  /** A page, in the order of their hashes, after the one with this hash. */
  ofBusiness(uuid: string, after: string): Found<HeldDeletionsAnswer>;
  /** Refusals by the business's actor are thrown as {@link RegisterRefused}. */
  decide(request: {
    readonly business_uuid: string;
    readonly document_hash: string;
    readonly released: boolean;
    readonly act: RegisterAct;
  }): Found<{ readonly changed: boolean; readonly subject: Shown }>;
}

const pageMax = 100;
const unknown = refuse("unknown", "This business has no deletion with this hash that waits or waited.");

export function createHeldDeletions(deps: HeldDeletionDeps): HeldDeletions {
  const { actors, register } = deps;
  const isBusiness = async (uuid: string): Promise<boolean> =>
    isUuidV4(uuid) && (await register.party(uuid))?.kind === "business";
  return {
    ofBusiness: async (uuid, after) =>
      (await isBusiness(uuid)) ? ok(await pageOf(deps, uuid, after)) : unknown,
    decide: async ({ business_uuid: uuid, document_hash, released, act }) => {
      if (!isHash(document_hash) || !(await isBusiness(uuid))) return unknown;
      const business = businessRef(uuid);
      const read = { type: "removal.read", document_hash } as const;
      const { held } = await actors.ask(business, read);
      if (held === null) return unknown;
      const { record_id } = held;
      const decide = { type: "deletion.decide", record_id, document_hash, released, act } as const;
      const reply = await actors.ask(business, decide);
      if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
      const { held: after } = await actors.ask(business, read);
      return ok({ changed: reply.changed === true, subject: shown(after ?? held) });
    },
  };
}

async function pageOf(
  { actors }: Pick<HeldDeletionDeps, "actors">,
  uuid: string,
  after: string,
): Promise<HeldDeletionsAnswer> {
  const command = { type: "deletions.held", after, limit: pageMax } as const;
  const { deletions } = await actors.ask(businessRef(uuid), command);
  const next = deletions.length < pageMax ? null : (deletions.at(-1)?.document_hash ?? null);
  return { deletions: deletions.map(shown), next_after: next };
}

function shown({ record_id, document_hash, at, sealed, decided }: HeldDeletion): Shown {
  const state = decided === null ? "held" : decided.released ? "released" : "rejected";
  return {
    ...{ record_id, document_hash, at, received_at: sealed.received_at },
    ...{ state, decided_at: decided?.at ?? null },
  };
}

/** GET /v1/held-deletions: a page of the caller's own. */
export async function readOwnHeldDeletions(
  deps: Pick<HeldDeletionDeps, "actors">,
  businessUuid: string,
  after: string | null,
): Promise<Outcome> {
  return answerJson(200, await pageOf(deps, businessUuid, after ?? ""));
}

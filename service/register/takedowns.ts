// What operators take out of serving, one record or a whole business, and what a business reads of it.
//   TK1. Everything is decided by the party's actor, which keeps who asked for it and why. Readers of every region follow within
//        `freshMs` of their register once their store has it; the rows leave the indexes, and return, as work of the actor.
//   TK2. A takedown changes serving: seals, certificates and what the business may publish stay as they are. A business file that is not
//        served declares no brands and no domains (SF1 in actors/business/serving.ts).
//   TK3. An act names the change of the takedown that was seen: one that arrives late, after its opposite, changes nothing.
//   TK4. The business reads the statement of reasons. Who acted, and the reason for the record of acts, are the operators' alone.

import type { RegisterAct, Seen } from "../../actors/messages/protocol.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { TakedownFacts } from "../../actors/messages/serving.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { isRecordId, isUuidV4 } from "../../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { TakedownsAnswer } from "../../protocol/wire/removal.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import { answerJson, type Outcome } from "../answer.ts";
import { readNumbered } from "./home-evidence.ts";
import { RegisterRefused } from "./parties.ts";
import type { Register } from "./register.ts";

export interface TakedownDeps {
  readonly actors: ActorSystem;
  readonly register: Register;
  readonly registerStore: RegisterStore;
  readonly records: RecordStore;
}

/** A record or a business, and what keeps it out of serving or did so last; null if nothing ever did. */
export interface TakedownState {
  readonly business_uuid: string;
  readonly legal_name: string;
  readonly record_id: string | null;
  readonly takedown: TakedownFacts | null;
  /** The number of its last change, 0 if there was none. */
  readonly change: number;
}

/** Names what is taken down: a record_id, or the UUID of a business for all that it publishes. */
type Subject = string;
type Found<T> = Promise<Result<T, "unknown">>;
/** `changed` is false if it was already so. */
type Changed = Found<{ readonly changed: boolean; readonly subject: TakedownState }>;

export interface Takedowns {
  of(subject: Subject): Found<TakedownState>;
  /** In force as far as this region has heard, newest first, {@link takedownsMax} at most, and how many there are. */
  inForce(): { readonly takedowns: readonly TakedownFacts[]; readonly total: number };
  /** Refusals by the business's actor are thrown as {@link RegisterRefused}. */
  impose(
    request: {
      readonly subject: Subject;
      readonly statement_of_reasons: string;
      readonly act: RegisterAct;
    } & Seen,
  ): Changed;
  lift(request: { readonly subject: Subject; readonly act: RegisterAct } & Seen): Changed;
}

export const takedownsMax = 100;

/** For operators: what is out of serving, and changes of that. */
export function createTakedowns(deps: TakedownDeps): Takedowns {
  const of: Takedowns["of"] = async (subject) => {
    const found = await resolve(deps, subject);
    return found === null ? nothing : ok(await stateOf(deps, found));
  };
  const change = async (subject: Subject, command: ChangeCommand): Changed => {
    const found = await resolve(deps, subject);
    if (found === null) return nothing;
    const reply = await deps.actors.ask(businessRef(found.business_uuid), {
      ...command,
      record_id: found.record_id,
    });
    if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
    return ok({ changed: reply.changed === true, subject: await stateOf(deps, found) });
  };
  return {
    of,
    inForce: () => {
      const all = deps.register.takenDown.all();
      const newest = all.toSorted((a, b) => (a.taken_down_at < b.taken_down_at ? 1 : -1));
      return { takedowns: newest.slice(0, takedownsMax), total: all.length };
    },
    impose: ({ subject, ...rest }) => change(subject, { type: "takedown.impose", ...rest }),
    lift: ({ subject, ...rest }) => change(subject, { type: "takedown.lift", ...rest }),
  };
}

type ChangeCommand = Seen &
  (
    | {
        readonly type: "takedown.impose";
        readonly statement_of_reasons: string;
        readonly act: RegisterAct;
      }
    | { readonly type: "takedown.lift"; readonly act: RegisterAct }
  );

const nothing = refuse("unknown", "No record and no business has this id here.");

type Named = Pick<TakedownState, "business_uuid" | "legal_name" | "record_id">;

/** A party that was never opened is not asked, since that would create it. */
async function resolve(deps: TakedownDeps, subject: Subject): Promise<Named | null> {
  const { records, register, registerStore } = deps;
  const isRecord = isRecordId(subject);
  const business_uuid = isUuidV4(subject)
    ? subject
    : isRecord
      ? ((await records.readHead(subject))?.business_uuid ??
        (await registerStore.get("ad", subject))?.partition)
      : undefined;
  if (business_uuid === undefined) return null;
  const party = await register.party(business_uuid);
  if (party?.kind !== "business") return null;
  return { business_uuid, legal_name: party.legal_name, record_id: isRecord ? subject : null };
}

/** As the party's actor has it, which may be ahead of every register. */
async function stateOf({ actors }: TakedownDeps, named: Named): Promise<TakedownState> {
  const name = `takedown/${named.record_id ?? named.business_uuid}`;
  const { facts, change } = await readNumbered<TakedownFacts>(actors, named.business_uuid, name);
  return { ...named, takedown: facts, change };
}

/** GET /v1/takedowns: what the operators took out of serving of the caller's own, newest first, with what was lifted since. */
export async function readOwnTakedowns(
  { registerStore }: Pick<TakedownDeps, "registerStore">,
  businessUuid: string,
): Promise<Outcome> {
  const entries = await registerStore.list("takedown", businessUuid);
  const takedowns = entries
    .map(({ body }) => JSON.parse(body) as TakedownFacts)
    .toSorted((a, b) => (a.taken_down_at < b.taken_down_at ? 1 : -1))
    .map(({ business_uuid: _own, ...shown }) => shown);
  const answer: TakedownsAnswer = { takedowns };
  return answerJson(200, answer);
}

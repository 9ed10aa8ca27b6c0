// What was done to a business or an AI company with a name, for its owners and admins: who did what, when and why.
//   PJ1. The acts are rows of the business's actor, written in the commits that they are about; nobody changes or removes one.
//   PJ2. A person has the name that they had when they acted, also once they have left. An operator has no name here, and no reason: those
//        are for operators.

import type { KeptAct } from "../../actors/messages/business.ts";
import { bindingRoles } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { Members } from "./members.ts";
import type { Owner, OwnerRefusal } from "./owner.ts";
import type { SignedIn } from "./people.ts";

export interface OwnActsDeps extends Actors {
  readonly owner: Pick<Owner, "may">;
  readonly members: Pick<Members, "people">;
}

export interface OwnAct extends Pick<KeptAct, "act" | "at" | "change"> {
  /** What the entry is of, as the name of its table, and which one; a person by name where they still work here. */
  readonly table: string;
  readonly subject: string;
  /** The name of the person who did it, or the key of their system, and why; null for operators of the service. */
  readonly by: { readonly name: string; readonly reason: string } | null;
}

export interface OwnActsPage {
  /** Newest first. */
  readonly acts: readonly OwnAct[];
  /** Where the next page begins; null on the last. */
  readonly next_cursor: string | null;
}

/** A page of the acts, the newest first. */
export type ReadOwnActs = (
  who: SignedIn,
  asked: { readonly uuid: string; readonly cursor: string | null },
) => Promise<Result<OwnActsPage, OwnerRefusal>>;

/** Lists what was done to a party, for who binds it; refused with `not_accepted` for a cursor of no page. Throws {@link StoreError}. */
export function createOwnActs({ actors, owner, members }: OwnActsDeps): ReadOwnActs {
  return async (who, { uuid, cursor }) => {
    const allowed = await owner.may(who, uuid, bindingRoles);
    if (!allowed.ok) return allowed;
    const before = cursor === null ? null : Number(cursor);
    if (before !== null && !(Number.isSafeInteger(before) && before > 0))
      return refuse("not_accepted", "`cursor` must be that of an earlier page.");
    const read = async (after: number): Promise<readonly KeptAct[]> => {
      const { acts } = await actors.ask(businessRef(uuid), { type: "acts.read", after, limit: readMax });
      return acts;
    };
    const [{ acts, isAll }, people] = await Promise.all([
      newestActs(read, before),
      members.people(who, uuid),
    ]);
    const names = new Map(people?.members.map(({ person_id, name }) => [person_id, name]));
    const [oldest] = acts;
    return ok({
      acts: acts.toReversed().map((each) => shownAct(each, names)),
      next_cursor: isAll || oldest === undefined ? null : String(oldest.change),
    });
  };
}

/** Maximum number of acts that a business's actor answers at once, and so of a page; any but the last has this many at least. */
const readMax = 100;
const pageMin = 50;

/**
 * The newest acts before a change, oldest first. They can only be read from the oldest on, so a place to read from is sought by halving:
 * from `tooEarly` one answer does not reach the end, from `tooLate` there are too few. Most parties have one answer's acts in all.
 */
export async function newestActs(
  read: (after: number) => Promise<readonly KeptAct[]>,
  before: number | null,
): Promise<{ readonly acts: readonly KeptAct[]; readonly isAll: boolean }> {
  let [after, tooEarly, tooLate] = [0, 0, before];
  for (;;) {
    const found = await read(after);
    const acts = before === null ? found : found.filter(({ change }) => change < before);
    const reachesEnd = found.length < readMax || acts.length < found.length;
    if (reachesEnd && (acts.length >= pageMin || after === 0)) return { acts, isAll: after === 0 };
    if (reachesEnd) tooLate = after;
    else tooEarly = after;
    const last = found.at(-1)?.change ?? 0;
    after = tooLate === null ? Math.max(2 * after, last) : Math.floor((tooEarly + tooLate) / 2);
  }
}

function shownAct(
  { act, at, change, entry, by, reason }: KeptAct,
  names: ReadonlyMap<string, string>,
): OwnAct {
  const [table = "", ...rest] = entry.split("/");
  const named = rest.join("/");
  // As `actOf` in owner.ts writes it, and who has no name there: a key that agrees to terms, the applicant of a recovery.
  const [, person, nameless] =
    /^(?:(.*) \(person [0-9a-f-]{36}\)|((?:key|person) [\w-]{36,43}))$/s.exec(by) ?? [];
  const name = person ?? nameless;
  return {
    act,
    at,
    change,
    table,
    subject: table === "person" ? (names.get(named) ?? named) : named,
    by: name === undefined ? null : { name, reason },
  };
}

// A mutant: the code under test with one guard removed, to show that the simulator would detect its absence.
//   M1. A mutant reports whenever it behaved differently from the true code. This distinguishes a mutant that nobody
//       notices from one that equals the true code because the guard that it removes is written differently by now.

import type { ActorDefinition, ActorView, Decision, Message } from "../../actors/system/definition.ts";
import type { PartitionRow } from "../../storage/actor-store.ts";
import { type ActorStoreGuards, allGuards } from "../store/actor-store.ts";
import { asItIs, type Variation } from "../world/variation.ts";

/** Creates the code without the guard; `changed` is called for each difference from the true code (M1). */
export type Vary = (changed: () => void) => Partial<Variation>;

export interface Search {
  /** The mutant is found within this many seeds: several times as many as it takes on average. */
  readonly seedsMax: number;
  /** Whether the world of a seed can reveal the mutant at all; by default every world can. */
  readonly canShow: (seed: number) => boolean;
}

export interface Mutant extends Search {
  readonly name: string;
  /** What is missing, in a few words. */
  readonly about: string;
  vary(changed: () => void): Variation;
}

/** Ten times as many as nine out of ten mutants take; those that only a rare moment shows state more. */
const usualSearch: Search = { seedsMax: 600, canShow: () => true };

export function mutant(name: string, about: string, vary: Vary, search: Partial<Search> = {}): Mutant {
  return {
    ...usualSearch,
    ...search,
    name,
    about,
    vary: (changed) => ({ ...asItIs, ...vary(changed), name }),
  };
}

/** Removes one of the guards of claim and commit. */
export function withoutGuard(
  guard: keyof ActorStoreGuards,
  about: string,
  search: Partial<Search> = {},
): Mutant {
  const storeGuards = { ...allGuards, [guard]: false };
  return mutant(guard, about, (guardMissed) => ({ storeGuards, guardMissed }), search);
}

export type Decide = (command: Message, view: ActorView) => Decision<unknown>;

/** An actor kind that decides differently. `decide` is called for each command and may consult the true one. */
export function deciding(
  kind: string,
  decide: (truly: Decide, command: Message, view: ActorView) => Decision<unknown>,
): Vary {
  return (changed) => ({
    definitions: asItIs.definitions.map((definition): ActorDefinition => {
      if (definition.kind !== kind) return definition;
      const truly: Decide = (command, view) => definition.decide(command, view);
      return {
        ...definition,
        decide: (command, view) => {
          const decision = decide(truly, command, view);
          if (JSON.stringify(decision) !== JSON.stringify(truly(command, view))) changed();
          return decision;
        },
      };
    }),
  });
}

/** An actor kind that decides commands of one type as if `other` had been commanded. */
export function commanding(
  kind: string,
  type: string,
  other: (command: Message, view: ActorView) => Message,
): Vary {
  return deciding(kind, (truly, command, view) =>
    truly(command.type === type ? other(command, view) : command, view),
  );
}

/** An actor kind that does not know rows of these tables when it decides commands of one type. */
export function forgetting(kind: string, type: string, tables: readonly number[]): Vary {
  return deciding(kind, (truly, command, view) =>
    truly(command, command.type === type ? hidingRows(view, (rt) => tables.includes(rt)) : view),
  );
}

/** An actor kind that makes something else of its decisions about commands of one type. */
export function redeciding(
  kind: string,
  type: string,
  other: (decision: Decision<unknown>, command: Message, view: ActorView) => Decision<unknown>,
): Vary {
  return deciding(kind, (truly, command, view) => {
    const decision = truly(command, view);
    return command.type === type ? other(decision, command, view) : decision;
  });
}

/** An activity that does nothing. */
export function omitting(activity: string): Vary {
  return (changed) => ({
    activities: (given) => ({
      ...given,
      [activity]: async () => {
        changed();
        return null;
      },
    }),
  });
}

export function withMembers(command: Message, members: object): Message {
  return { ...command, ...members };
}

/** The rows of a view without those that `hides` selects, as if they had never been kept. */
export function hidingRows(view: ActorView, hides: (rt: number, k2: string) => boolean): ActorView {
  return viewing(view, (row) => (hides(row.rt, row.k2) ? undefined : row));
}

/** The view with every row as `seen` shows it; a row shown as undefined is absent. */
export function viewing(view: ActorView, seen: (row: PartitionRow) => PartitionRow | undefined): ActorView {
  return {
    id: view.id,
    epoch: view.epoch,
    nowMs: view.nowMs,
    snapshot: view.snapshot,
    row: (rt, k, k2) => {
      const row = view.row(rt, k, k2);
      return row && seen(row);
    },
    rowsOf: (rt) => view.rowsOf(rt).flatMap((row) => seen(row) ?? []),
    claimedUntil: (name) => view.claimedUntil(name),
  };
}

/** The methods of a port as a plain object, so that one of them can be replaced. */
export function bound<T extends object>(port: T): T {
  const methods: Record<string, unknown> = {};
  for (let owner: object = port; owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object) {
    for (const name of Object.getOwnPropertyNames(owner)) {
      const member = (port as Record<string, unknown>)[name];
      if (name !== "constructor" && typeof member === "function") methods[name] ??= member.bind(port);
    }
  }
  return methods as T;
}

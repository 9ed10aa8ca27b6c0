// A mutant: the code under test with one guard removed, to show that the simulator would find it missing.

import type { ActorDefinition, ActorView, Decision, Message } from "../../actors/system/definition.ts";
import type { PartitionRow } from "../../storage/actor-store.ts";
import { type ActorStoreGuards, allGuards } from "../store/actor-store.ts";
import { asItIs, type Variation } from "../world/variation.ts";

export interface Mutant extends Variation {
  /** What is missing, in a few words. */
  readonly about: string;
}

export function mutant(name: string, about: string, changes: Partial<Variation>): Mutant {
  return { ...asItIs, ...changes, name, about };
}

/** Without one of the guards of claim and commit. */
export function withoutGuard(guard: keyof ActorStoreGuards, about: string): Mutant {
  return mutant(guard, about, { storeGuards: { ...allGuards, [guard]: false } });
}

export type Decide = (command: Message, view: ActorView) => Decision<unknown>;

/** An actor kind that decides otherwise. `decide` is called for each command and may ask the true one. */
export function deciding(
  kind: string,
  decide: (truly: Decide, command: Message, view: ActorView) => Decision<unknown>,
) {
  const definitions = asItIs.definitions.map((definition): ActorDefinition => {
    if (definition.kind !== kind) return definition;
    const truly: Decide = (command, view) => definition.decide(command, view);
    return { ...definition, decide: (command, view) => decide(truly, command, view) };
  });
  return { definitions };
}

/** The command, with these members in place of its own. */
export function changed(command: Message, members: object): Message {
  return { ...command, ...members };
}

/** The rows of a view without those that `hides` names, as if they had never been kept. */
export function hidingRows(view: ActorView, hides: (rt: number, k2: string) => boolean): ActorView {
  return {
    id: view.id,
    epoch: view.epoch,
    nowMs: view.nowMs,
    snapshot: view.snapshot,
    row: (rt, k, k2) => (hides(rt, k2) ? undefined : view.row(rt, k, k2)),
    rowsOf: (rt) => view.rowsOf(rt).filter((row: PartitionRow) => !hides(rt, row.k2)),
  };
}

/** The rows of a view, those of one table with another body. */
export function changingRows(view: ActorView, rt: number, body: (body: string) => string): ActorView {
  const changed = (row: PartitionRow): PartitionRow =>
    row.rt === rt ? { ...row, body: body(row.body) } : row;
  return {
    id: view.id,
    epoch: view.epoch,
    nowMs: view.nowMs,
    snapshot: view.snapshot,
    row: (table, k, k2) => {
      const row = view.row(table, k, k2);
      return row && changed(row);
    },
    rowsOf: (table) => view.rowsOf(table).map(changed),
  };
}

// Numbers that a business gives, held apart by the era of its actor (storage/actor-store.ts, `eraOf`).
//   H1. Within an era each number is the one before and one more. The first of a later era is above all that may have been
//       given in those before, also by commits that were lost and left traces elsewhere: rows, versions, messages.
//   H2. So a generation or a change is never given twice to different versions, at the price of a gap with each takeover.

import { eraOf } from "../../storage/actor-store.ts";
import type { ActorView } from "../system/definition.ts";

/** Changes, pushes and removals of one era: more than there ever are. */
const numbersPerEra = 2 ** 32;
/** Versions of one record in one era. People read generations: the first after a takeover is 10,000,001. */
const generationsPerEra = 10_000_000;

/** The highest change or number that may have been given when `known` is the highest known one. */
export function lastNumber(view: Pick<ActorView, "epoch">, known: number): number {
  return Math.max(known, eraOf(view.epoch) * numbersPerEra);
}

/** The highest generation of a record that may have been given when `known` is the highest known one. */
export function lastGeneration(view: Pick<ActorView, "epoch">, known: number): number {
  return Math.max(known, eraOf(view.epoch) * generationsPerEra);
}

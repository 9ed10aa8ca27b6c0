// The numbers that a business assigns, kept apart by the era of its actor (storage/actor-store.ts, `eraOf`).
//   H1. Within an era each number is its predecessor plus one. The first of a later era is above every number that may have been
//       assigned in earlier eras, including by commits that were lost and left traces elsewhere: rows, versions, messages.
//   H2. So a generation or a change is never assigned twice to different versions, at the price of a gap after each takeover.

import { eraOf } from "../../storage/actor-store.ts";
import type { ActorView } from "../system/definition.ts";

/** Range of changes, pushes and removals in one era: more than there will ever be. */
const numbersPerEra = 2 ** 32;
/** Range of versions of one record in one era. People read generations: the first after a takeover is 10,000,001. */
const generationsPerEra = 10_000_000;

/** The highest change or number that may have been assigned if `known` is the highest known one. */
export function lastNumber(view: Pick<ActorView, "epoch">, known: number): number {
  return Math.max(known, eraOf(view.epoch) * numbersPerEra);
}

/** The highest generation of a record that may have been assigned if `known` is the highest known one. */
export function lastGeneration(view: Pick<ActorView, "epoch">, known: number): number {
  return Math.max(known, eraOf(view.epoch) * generationsPerEra);
}

// What a business of a world does, and what it draws for its batches.

import type { Random } from "../kernel/random.ts";
import { drawCountries, type ProductChoice, productFaults } from "./product.ts";
import { poisonedId } from "./push-life.ts";

export interface BusinessPlan {
  readonly steps: number;
  readonly products: number;
  readonly batchMax: number;
  /** Whether it mostly pushes its whole catalogue with changed prices, which is held. */
  readonly reprices: boolean;
  /** Whether it mostly publishes the same bytes again, in between other steps. */
  readonly repeats: boolean;
  /** Leaves of a batch that is processed in the background; 0 for none. */
  readonly queuedLeaves: number;
  readonly pauseMaxMs: number;
  /** Region to which its requests go. */
  readonly region: string;
}

/** One product in this many cannot be processed. */
const poisonedShare = 1 / 400;
const sample = { cents: 1_000, countries: ["US"], edition: 1, fault: null } as const;

export function drawLeafCount(random: Random, plan: BusinessPlan): number {
  const { queuedLeaves, batchMax, reprices, products } = plan;
  if (reprices && random.chance(0.6)) return products;
  if (queuedLeaves > 0 && random.chance(0.15)) return queuedLeaves;
  return random.skewed(1, batchMax);
}

export interface BatchChoice {
  /** Drawn if omitted. */
  readonly leaves?: number;
  /** A seq that another batch has used. */
  readonly usedSeq?: number;
  /** Whether it may contain a product that nobody can process, and so be answered late. */
  readonly mayPoison?: boolean;
}

/** The products of a large batch differ from each other. */
export function drawProducts(
  random: Random,
  plan: BusinessPlan,
  { leaves, mayPoison = true }: Pick<BatchChoice, "mayPoison"> & { readonly leaves: number },
): readonly ProductChoice[] {
  return Array.from({ length: leaves }, (_, index) =>
    mayPoison && random.chance(poisonedShare)
      ? { ...sample, id: poisonedId }
      : drawProduct(random, plan, leaves > 20 ? index : null),
  );
}

/** With an index, the product of that place; otherwise any. */
function drawProduct(random: Random, plan: BusinessPlan, index: number | null): ProductChoice {
  const id = index === null ? drawProductId(random, plan) : `p${index}`;
  if (plan.repeats && random.chance(0.7)) return { ...sample, id };
  return {
    id,
    cents: random.pick([1_000, 1_010, 1_100, 9_900]),
    countries: drawCountries(random),
    edition: random.chance(0.1) ? 1 : random.below(1_000_000),
    fault: random.chance(0.08) ? random.pick(productFaults) : null,
  };
}

export function drawProductId(random: Random, { products }: BusinessPlan): string {
  return `p${random.below(products)}`;
}

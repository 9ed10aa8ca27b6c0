// What the content rules use besides the record itself: the operator's lists, and the names of certified companies.

import { atOnce } from "../../std/steps.ts";
import { foldedWords } from "./fold-text.ts";
import { createNameIndex, type NameIndex } from "./name-index.ts";
import type { BlockedUrls } from "./url-rule.ts";

/** The operator's own lists. */
export interface OperatorLists {
  /** Names of companies and brands that only their owners' records may use. */
  readonly protectedNames: readonly ProtectedName[];
  /** Words that are never judged, even if a company has that name. */
  readonly exemptNames: readonly string[];
  /** Hosts and addresses of malware and phishing, as `parseBlocked` in url-rule.ts returns them. */
  readonly blockedHosts: readonly string[];
  /** A further list of such hosts and addresses that is already prepared, because it is long. */
  readonly blockedUrls?: BlockedUrls | undefined;
}

/** The lists in force. They may be replaced, all at once, between two records. */
export interface ContentLists extends OperatorLists {
  /** Changes whenever the lists are replaced; left out of lists that never are. */
  readonly version?: number;
  /** Companies that the service has certified; the set changes while the lists are in use. */
  readonly certified: CertifiedNames;
}

export type ProtectedName =
  | string
  | {
      readonly name: string;
      /** Uuids of the businesses that may use the name. */
      readonly owners: readonly string[];
    };

export interface CertifiedNames {
  /** The names without their legal form, as folded words: those of companies, and of brands that were confirmed as theirs. */
  readonly index: NameIndex;
  /** The name on the certificate in force; null for a company without an active certificate. */
  legalNameOf(uuid: string): string | null;
  /** Always the same object for the same brands. */
  brandsOf(uuid: string): BusinessBrands;
}

/** The brands of one business. */
export interface BusinessBrands {
  /** Those that an operator confirmed as its own. */
  readonly confirmed: readonly string[];
  /** Those that its served business files name in `brands_sold`. */
  readonly sold: readonly string[];
}

export const noBrands: BusinessBrands = { confirmed: [], sold: [] };

/** @internal for tests: a register without any names. */
export const noCertifiedNames: CertifiedNames = {
  index: createNameIndex(),
  legalNameOf: () => null,
  brandsOf: () => noBrands,
};

/** Names with fewer letters are never looked for. */
export const nameLettersMin = 3;

/** Whether a name on the operator's lists is long enough to be looked for. */
export function isFindable(name: string): boolean {
  return foldedWords(name).join("").length >= nameLettersMin;
}

const preparedNames = new WeakMap<readonly ProtectedName[], NameIndex>();
/** Number of names that are prepared in one step. */
const namesPerStep = 500;

/**
 * Prepares a list of names for the content rules. It takes seconds for a long list, so it is divided into steps, between which
 * the caller may do something else. What was prepared is found again by the list itself.
 */
export function* prepareNames(names: readonly ProtectedName[]): Generator<void, NameIndex> {
  const index = createNameIndex();
  for (const [at, each] of names.entries()) {
    if (at % namesPerStep === namesPerStep - 1) yield;
    const words = foldedWords(typeof each === "string" ? each : each.name);
    if (words.join("").length >= nameLettersMin) index.add(words);
  }
  preparedNames.set(names, index);
  return index;
}

/** The index of a list of names; prepared now if it was not before. */
export function nameIndexOf(names: readonly ProtectedName[]): NameIndex {
  const known = preparedNames.get(names);
  return known ?? atOnce(prepareNames(names));
}

const namesByOwner = new WeakMap<OperatorLists["protectedNames"], ReadonlyMap<string, readonly string[]>>();

/** The protected names that the lists assign to a business. */
export function assignedNames({ protectedNames }: OperatorLists, businessUuid: string): readonly string[] {
  let byOwner = namesByOwner.get(protectedNames);
  if (byOwner === undefined) {
    byOwner = ownersOf(protectedNames);
    namesByOwner.set(protectedNames, byOwner);
  }
  return byOwner.get(businessUuid) ?? [];
}

function ownersOf(names: OperatorLists["protectedNames"]): ReadonlyMap<string, readonly string[]> {
  const byOwner = new Map<string, string[]>();
  for (const each of names) {
    if (typeof each === "string") continue;
    for (const owner of each.owners) {
      const known = byOwner.get(owner);
      if (known === undefined) byOwner.set(owner, [each.name]);
      else known.push(each.name);
    }
  }
  return byOwner;
}

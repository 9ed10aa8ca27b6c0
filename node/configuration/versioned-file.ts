// A JSON file of the operator's whose `versions` come into force one after another.

import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { millionthsOf, type PriceList } from "../../protocol/price-list.ts";
import {
  integer,
  list,
  matching,
  type Of,
  object,
  readShape,
  type Shape,
  text,
  timestamp,
} from "../../protocol/shape.ts";
import { termsVersion } from "../../protocol/wire/terms.ts";
import type { TermsText } from "../../service/register/terms.ts";
import { ConfigError } from "./config-error.ts";
import { type ListSource, nameOf } from "./content-lists.ts";

const fileBytesMax = 4 * 1024 * 1024;

interface Versioned {
  readonly versions: readonly { readonly version: number; readonly effective_from: string }[];
}

/** Reads a file of this shape, with its versions oldest first. Throws {@link ConfigError}, which names the place in it. */
async function readVersionedFile<T extends Versioned>(
  shape: Shape<T>,
  { setting, source }: { readonly setting: string; readonly source: ListSource },
): Promise<T> {
  const path = nameOf(source);
  const file = await readShaped(shape, setting, source);
  for (const [at, { version, effective_from }] of file.versions.entries()) {
    const earlier = file.versions[at - 1];
    if (earlier !== undefined && !(earlier.version < version && earlier.effective_from < effective_from))
      throw new ConfigError(
        setting,
        `/versions/${at} in ${path} does not come after the one before; order them by version and effective_from`,
      );
  }
  return file;
}

async function readShaped<T>(shape: Shape<T>, setting: string, source: ListSource): Promise<T> {
  const path = nameOf(source);
  const reading = typeof source === "string" ? readFile(source) : source.bytes;
  const bytes = await Promise.resolve(reading).catch((error: unknown) => {
    throw new ConfigError(
      setting,
      `${path} cannot be read (${String(error)}); name a JSON file, or unset it`,
    );
  });
  if (bytes.length > fileBytesMax)
    throw new ConfigError(setting, `${path} has ${bytes.length} bytes; use at most ${fileBytesMax}`);
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok)
    throw new ConfigError(setting, `${path} is not strict JSON (${parsed.detail}); write {"versions":[…]}`);
  const read = readShape(shape, parsed.value);
  if (read.ok) return read.value;
  const { pointer, detail } = read.fault;
  throw new ConfigError(setting, `${pointer || "the document"} in ${path}: ${detail}`);
}

// The prices of AI companies: a file of the operator's (`SVC_PRICES`), the same on every node.

/** An amount in units of the currency, less than ten thousand. */
const price = matching(/^(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,6})?$/, 'an amount below 10000 such as "0.0025"');

const search = object({
  products: price,
  business_files: price,
  events: price,
  jobs: price,
  updates: price,
});

const priceFile = object({
  currency: matching(/^[A-Z]{3}$/, "an ISO 4217 code such as EUR"),
  versions: list(
    object({
      version: integer({ min: 1, max: 1_000_000 }),
      effective_from: timestamp,
      search,
      fetch: price,
    }),
    { min: 1, max: 1_000 },
  ),
});

/** Reads the price list. Throws `ConfigError`, which names the place in the file. */
export async function loadPrices(source: ListSource): Promise<PriceList> {
  const { currency, versions } = await readVersionedFile(priceFile, { setting: "SVC_PRICES", source });
  return {
    currency,
    versions: versions.map((version) => ({
      version: version.version,
      effective_from: version.effective_from,
      search: pricesOf(version.search),
      fetch: Number(millionthsOf(version.fetch)),
    })),
  };
}

function pricesOf(given: Of<typeof search>): PriceList["versions"][number]["search"] {
  const { products, business_files, events, jobs, updates } = given;
  const millionths = (amount: string): number => Number(millionthsOf(amount));
  return {
    products: millionths(products),
    business_files: millionths(business_files),
    events: millionths(events),
    jobs: millionths(jobs),
    updates: millionths(updates),
  };
}

// The terms of AI companies: a file of the operator's (`SVC_TERMS`). What was in force once must be readable as it was, so a
// version that is published stays in the file.

const termsFile = object({
  versions: list(
    object({
      version: termsVersion,
      effective_from: timestamp,
      language: matching(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, "a BCP 47 tag such as en or pt-BR"),
      text: text(1_000_000),
    }),
    { min: 1, max: 1_000 },
  ),
});

/** Reads the versions, oldest first. Throws {@link ConfigError}, which names the place in the file. */
export async function loadTerms(source: ListSource): Promise<readonly TermsText[]> {
  const { versions } = await readVersionedFile(termsFile, { setting: "SVC_TERMS", source });
  return versions;
}

// What an operator sets replaces all versions at once, and must not change what others relied on.

/** How long before it begins a price is set at the latest, so that every node charges by it from its first moment on. */
export const priceNoticeMs = 60_000;

/** What is missing of prices that were in force, or were to begin within a minute, at an instant; null if nothing is. */
export function pricesLost(before: PriceList, next: PriceList, nowMs: number): string | null {
  const fixed = fixedPrices(before, nowMs);
  if (fixed.length > 0 && before.currency !== next.currency)
    return `/currency is ${next.currency}, and prices in ${before.currency} were in force; leave it`;
  const changed = missingOf(fixed, next.versions);
  return changed === undefined
    ? null
    : `version ${changed.version} is or was in force, or begins within a minute, and is changed or missing; leave it as it was`;
}

function fixedPrices({ versions }: PriceList, nowMs: number) {
  const soon = formatTimestamp(nowMs + priceNoticeMs);
  return versions.filter(({ effective_from }) => effective_from <= soon);
}

function missingOf<T>(before: readonly T[], next: readonly T[]): T | undefined {
  return before.find((each) => !next.some((kept) => isDeepStrictEqual(kept, each)));
}

/** Why these prices cannot take the place of those before; null if they can. */
export function pricesFault(before: PriceList | null, next: PriceList, nowMs: number): string | null {
  const lost = before && pricesLost(before, next, nowMs);
  if (lost !== null) return lost;
  const added = missingOf(fixedPrices(next, nowMs), before === null ? [] : fixedPrices(before, nowMs));
  if (added === undefined) return null;
  const { effective_from: from } = added;
  return `/versions/${next.versions.indexOf(added)} is new and begins at ${from}; have it begin more than a minute from now`;
}

/** What is missing of terms that were in force at an instant; null if nothing is. */
export function termsLost(
  before: readonly TermsText[],
  next: readonly TermsText[],
  nowMs: number,
): string | null {
  const now = formatTimestamp(nowMs);
  const changed = missingOf(
    before.filter(({ effective_from }) => effective_from <= now),
    next,
  );
  return changed === undefined ? null : publishedBefore(changed);
}

function publishedBefore({ version }: TermsText): string {
  return `version ${version} was published and is changed or missing; leave it as it was`;
}

/** Why these terms cannot take the place of those before; null if they can. */
export function termsFault(
  before: readonly TermsText[] | null,
  next: readonly TermsText[],
  nowMs: number,
): string | null {
  if (before === null) return null;
  const changed = missingOf(before, next);
  if (changed !== undefined) return publishedBefore(changed);
  const now = formatTimestamp(nowMs);
  const added = missingOf(
    next.filter(({ effective_from }) => effective_from <= now),
    before,
  );
  if (added === undefined) return null;
  const { effective_from: from } = added;
  return `/versions/${next.indexOf(added)} is new and begins at ${from}, which has passed; have it begin later`;
}

const sandboxText = [
  "# Terms of this sandbox",
  "",
  "Everything here is made up: businesses, records, keys and these terms. Nothing that you do here is billed, and nothing",
  "that it answers may be shown to anybody as real. A deployment publishes its own terms here.",
  "",
];

const later = ["An entitlement of this sandbox says nothing about any deployment.", ""];

/** A sandbox has terms that say what it is, and a version that a later one has replaced. */
export const sandboxTerms: readonly TermsText[] = [
  { version: 1, effective_from: "2026-01-01T00:00:00.000Z", language: "en", text: sandboxText.join("\n") },
  {
    version: 2,
    effective_from: "2026-02-01T00:00:00.000Z",
    language: "en",
    text: [...sandboxText, ...later].join("\n"),
  },
];

// The order of a pool: the caller's, never the service's own (specification, «POST /v1/ads/pool»).
//   AO1. Ads that the sort does not tell apart are in ascending order of their ids, so an order can be recomputed by anybody.
//   AO2. `random` orders by SHA-256 over the pool's retrieval id, a line feed and the ad's id: nobody chooses it, and everybody can
//        recompute it from the receipt.
//   AO3. Only the ads of which a pool may still need some are hashed: those that the keys before `random` do not tell apart.
//   AO4. What the first keys say of a whole campaign is compared once for its ads, which are looked at singly only when they may be taken.

import { toHex, utf8 } from "../protocol/bytes.ts";
import type { Sha256 } from "../protocol/hash.ts";
import { nearestName } from "../protocol/nearest.ts";
import { problem } from "../protocol/problem.ts";
import { type AdSortKey, adSortKeys } from "../protocol/wire/ad-requests.ts";
import type { FoundAd, FoundOffer } from "./ad-book.ts";
import { type Refused, refused } from "./answer.ts";

export interface AdSort {
  readonly key: AdSortKey;
  readonly direction: "asc" | "desc";
}

const sortKeysMax = 3;

export function parseAdSort(text: string | undefined): readonly AdSort[] | Refused {
  if (text === undefined || text.trim() === "")
    return sortRefused("sort_required", "A pool names its order.");
  const sorts: AdSort[] = [];
  for (const part of text.split(",")) {
    const [name = "", direction, ...more] = part.split(":");
    const key = adSortKeys.find((each) => each === name);
    if (key === undefined)
      return sortRefused("sort_not_allowed", `Ads have no sort key ${JSON.stringify(name)}.`, name);
    if ((direction !== "asc" && direction !== "desc") || more.length > 0)
      return sortRefused("sort_not_allowed", `${key} needs a direction: ${key}:asc or ${key}:desc.`);
    if (sorts.some((each) => each.key === key))
      return sortRefused("sort_not_allowed", `${key} is named twice.`);
    sorts.push({ key, direction });
  }
  if (sorts.length > sortKeysMax)
    return sortRefused("sort_not_allowed", `A pool has at most ${sortKeysMax} sort keys.`);
  return sorts;
}

function sortRefused(code: "sort_required" | "sort_not_allowed", detail: string, name?: string): Refused {
  const suggestion = name === undefined ? null : nearestName(name, adSortKeys);
  return refused(
    problem(code, `${detail} Write for example "net_price:desc,random:asc".`, {
      pointer: "/sort_by",
      allowed: [...adSortKeys],
      ...(suggestion === null ? {} : { suggestion: `${suggestion}:asc` }),
    }),
  );
}

interface Order {
  readonly sorts: readonly AdSort[];
  readonly retrievalId: string;
  readonly sha256: Sha256;
}

/** The ads in the order of the sort, ordered only as far as they are taken (AO3). */
export function* orderAds(offers: readonly FoundOffer[], { sorts, ...order }: Order): Generator<FoundAd> {
  const [sort, ...rest] = sorts;
  if (sort?.key === "net_price" || sort?.key === "keyword_matches") {
    const { key } = sort;
    const valueIn = ({ campaign, matches }: FoundOffer): number =>
      key === "net_price" ? campaign.net_price : matches;
    for (const group of grouped(offers, valueIn, sort.direction))
      yield* orderAds(group, { sorts: rest, ...order });
    return;
  }
  const found: FoundAd[] = [];
  for (const { campaign, matches, ads } of offers)
    for (const ad of ads) found.push({ ad, campaign, matches });
  yield* orderEach(found, { sorts, ...order });
}

function* orderEach(found: readonly FoundAd[], { sorts, ...order }: Order): Generator<FoundAd> {
  const [sort, ...rest] = sorts;
  if (sort === undefined || found.length < 2) return yield* found.toSorted(byId);
  const randomOf = randomOrder(order);
  const valueIn = (each: FoundAd): number | string => sortValue(each, sort.key, randomOf);
  for (const group of grouped(found, valueIn, sort.direction)) {
    const [first, ...more] = group;
    if (first !== undefined && more.length === 0) yield first;
    else yield* orderEach(group, { sorts: rest, ...order });
  }
}

/** What has the same value together, in the order of the values. */
function grouped<T>(
  all: readonly T[],
  valueIn: (each: T) => number | string,
  direction: AdSort["direction"],
): readonly (readonly T[])[] {
  const sign = direction === "asc" ? 1 : -1;
  const valued = all.map((each) => ({ each, value: valueIn(each) }));
  valued.sort((a, b) => sign * compare(a.value, b.value));
  const groups: T[][] = [];
  let last: number | string | null = null;
  for (const { each, value } of valued) {
    if (value === last) groups.at(-1)?.push(each);
    else groups.push([each]);
    last = value;
  }
  return groups;
}

function byId(a: FoundAd, b: FoundAd): number {
  return compare(a.ad.ad_id, b.ad.ad_id);
}

/** Gives an ad its place in the random order (AO2). The ids are ASCII and of one length, so all texts are written into the same bytes. */
function randomOrder({
  retrievalId,
  sha256,
}: Pick<Order, "retrievalId" | "sha256">): (ad_id: string) => string {
  let bytes: Uint8Array = new Uint8Array();
  const opening = retrievalId.length + 1;
  return (ad_id) => {
    if (bytes.length !== opening + ad_id.length) bytes = utf8(`${retrievalId}\n${ad_id}`);
    else for (let at = 0; at < ad_id.length; at += 1) bytes[opening + at] = ad_id.charCodeAt(at);
    return toHex(sha256(bytes));
  };
}

function sortValue(
  { ad, campaign, matches }: FoundAd,
  key: AdSortKey,
  randomOf: (ad_id: string) => string,
): number | string {
  switch (key) {
    case "net_price":
      return campaign.net_price;
    case "published_at":
      return Math.floor(ad.published_at_ms / 1000);
    case "keyword_matches":
      return matches;
    case "random":
      return randomOf(ad.ad_id);
  }
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// All targets, and inputs that failed once and must never fail again.

import { bulkTargets } from "./bulk-targets.ts";
import { documentTargets } from "./document-targets.ts";
import { feedFacts } from "./feed-facts-target.ts";
import { feed } from "./feed-target.ts";
import { httpTargets } from "./http-targets.ts";
import { image } from "./image-target.ts";
import { otherTargets } from "./other-targets.ts";
import type { FuzzTarget } from "./target.ts";

export const fuzzTargets: readonly FuzzTarget[] = [
  ...httpTargets,
  ...documentTargets,
  ...otherTargets,
  ...bulkTargets,
  feed,
  feedFacts,
  image,
];

/** Base64 inputs by target. */
const regressions: Readonly<Record<string, readonly string[]>> = {
  // A number with leading zeros: the last line of the signature base is the list as RFC 8941 §4.1 serializes it.
  "signature-headers": [
    "c2lnMT0oIkAiKTtjcmVhdGVkPTAwO2V4cGlyZXM9MDtub25jZT0iYWJjZGVmZ2hpamtsbW5vcCI7a2V5aWQ9IiI7dGFnPSJzdmMtcHVzaCIKc2lnMT06QUFBQTo=",
  ],
  // An infinite number that a later member of the same name hides from `JSON.parse`.
  "strict-json": [
    "eyIiOltdLCJiIjp7ImMiOm51bGwsIiI6Ilx1ZDgzZFx1ZGUwMCJ9LCJhICI6MWU5OTksIiI6eyIiOm51bGwsIiI6IiJ9LCJhICI6IiJ9",
  ],
  // An IPv4 address in front of «::» is not an address.
  "source-address": ["MC4xLjIuMzo6Cjo6LzA="],
};

export function regressionsOf(target: string): readonly Uint8Array[] {
  return (regressions[target] ?? []).map((each) => Uint8Array.fromBase64(each));
}

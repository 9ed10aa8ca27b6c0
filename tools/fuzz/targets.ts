// All targets, and inputs that failed once and must never again.

import { documentTargets } from "./document-targets.ts";
import { httpTargets } from "./http-targets.ts";
import { otherTargets } from "./other-targets.ts";
import type { FuzzTarget } from "./target.ts";

export const fuzzTargets: readonly FuzzTarget[] = [...httpTargets, ...documentTargets, ...otherTargets];

/** Base64 by target. */
const regressions: Readonly<Record<string, readonly string[]>> = {
  // A number written with zeros in front: the last line of the signature base is the list as RFC 8941 §4.1 writes it.
  "signature-headers": [
    "c2lnMT0oIkAiKTtjcmVhdGVkPTAwO2V4cGlyZXM9MDtub25jZT0iYWJjZGVmZ2hpamtsbW5vcCI7a2V5aWQ9IiI7dGFnPSJzdmMtcHVzaCIKc2lnMT06QUFBQTo=",
  ],
  // An IPv4 address in front of «::» is none.
  "source-address": ["MC4xLjIuMzo6Cjo6LzA="],
};

export function regressionsOf(target: string): readonly Uint8Array[] {
  return (regressions[target] ?? []).map((each) => Uint8Array.fromBase64(each));
}

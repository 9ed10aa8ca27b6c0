// One way from an answer to its verdict, `verify(answer, anchors)`, and from a key set to what the small entry takes, `acceptedKeys(keySet, anchors)`.

import { parseUtf8, utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { type Anchors, parseAnchors } from "../protocol/keys/anchors.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { type AcceptedKeys, acceptedOf } from "./accepted-keys.ts";
import { answerKind } from "./evidence.ts";
import { checkOf, type Report, reportOf, unchecked } from "./members.ts";
import type { AnswerEvidence } from "./receipt.ts";
import { createVerifier, type VerifierOptions, verifyEvidence, verifyServed } from "./verifier.ts";

/** The anchors given cannot be used: they are none, or are of a sandbox that was not allowed. */
export class AnchorsError extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = "AnchorsError";
  }
}

/**
 * What an answer alone does not have; an evidence file brings its own, and of these only `allowSandbox` and `witnesses` count for it, for the
 * proof of a shown price also `keySet`.
 */
export interface VerifyOptions extends AnswerEvidence, Pick<VerifierOptions, "witnesses"> {
  /** Sandbox anchors vouch for nothing real, so they are refused unless this is true. */
  readonly allowSandbox?: boolean;
  /** The answer of `GET /.well-known/keys`, as text or parsed. */
  readonly keySet?: string | VerifierOptions["keySet"];
}

/**
 * Verifies an evidence file, or the exact text of an answer to a search, a fetch or a request for a pool of ads, offline. `anchors` are
 * the pinned ones, as text or parsed. Without a key set nothing about a bare answer can be checked, and its report is not valid; any other text has
 * one failed check, `file`. Throws {@link AnchorsError}.
 */
export function verify(
  answer: string | Uint8Array,
  anchors: string | Uint8Array | JsonValue,
  { allowSandbox = false, keySet, witnesses, ...evidence }: VerifyOptions = {},
): Report {
  const pinned = {
    anchors: usableAnchors(anchors, allowSandbox),
    ...(witnesses === undefined ? {} : { witnesses }),
  };
  const body = typeof answer === "string" ? utf8(answer) : answer;
  const kind = answerKind(parseUtf8(body) ?? "");
  const keys = keySet === undefined ? undefined : bytesOf(keySet);
  if (kind === null)
    return verifyEvidence({ ...pinned, ...(keys === undefined ? {} : { keySet: keys }) }, body);
  if (keys === undefined)
    return reportOf([unchecked("key_set", "Give the key set beside the answer, or an evidence file.")]);
  const verifier = createVerifier({ ...pinned, keySet: keys });
  const chain = checkOf("key_set", verifier, ({ trust }) => `Issued at ${trust.keySet.issued_at}.`);
  if (!verifier.ok) return reportOf([chain]);
  return reportOf([chain, ...verifyServed(verifier.value, { kind, body }, evidence).checks]);
}

/**
 * Verifies a key set, as text or parsed, and returns what of it judges rows and receipts, for `createRowVerifier` of the entry `rows`.
 * Refuses with the reasons of a key set. Throws {@link AnchorsError}.
 */
export function acceptedKeys(
  keySet: string | Uint8Array | JsonValue,
  anchors: string | Uint8Array | JsonValue,
  { allowSandbox = false }: Pick<VerifyOptions, "allowSandbox"> = {},
): Verdict<AcceptedKeys> {
  const verifier = createVerifier({
    anchors: usableAnchors(anchors, allowSandbox),
    keySet: bytesOf(keySet),
  });
  return verifier.ok ? ok(acceptedOf(verifier.value.trust)) : verifier;
}

function usableAnchors(given: string | Uint8Array | JsonValue, allowSandbox: boolean): Anchors {
  const usable = readAnchors(given, allowSandbox);
  if (!usable.ok) throw new AnchorsError(usable.detail);
  return usable.value;
}

function bytesOf(given: string | Uint8Array | JsonValue): Uint8Array | JsonValue {
  return typeof given === "string" ? utf8(given) : given;
}

/** Reads anchors, as text or parsed. Those of a sandbox must be allowed explicitly. */
export function readAnchors(
  given: string | Uint8Array | JsonValue,
  allowSandbox: boolean,
): Result<Anchors, "anchors_unusable"> {
  const bytes = bytesOf(given);
  const parsed = bytes instanceof Uint8Array ? parseStrictJson(bytes) : ok(bytes);
  if (!parsed.ok) return refuse("anchors_unusable", `The anchors are not JSON: ${parsed.detail}`);
  const anchors = parseAnchors(parsed.value);
  if (!anchors.ok)
    return refuse(
      "anchors_unusable",
      `These are not valid anchors: ${anchors.detail} (${anchors.pointer ?? ""})`,
    );
  if (anchors.value.environment === "sandbox" && !allowSandbox) {
    return refuse(
      "anchors_unusable",
      "These are sandbox anchors, which vouch for nothing real. Allow them explicitly: --sandbox, or allowSandbox.",
    );
  }
  return anchors;
}

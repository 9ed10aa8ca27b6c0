// A saved answer whose statement the service signed: of `POST /v1/verify`, `GET /v1/verify/{record_id}`, `GET
// /.well-known/svc-keys` or `GET /v1/entitlement`, or only the envelope in it.

import { payloadTypes } from "../protocol/dsse.ts";
import type { Entitlement } from "../protocol/entitlement.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import type { KeyDirectory } from "../protocol/keys/key-directory.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import type { VerifyPage, VerifyStatement } from "../protocol/verify-page.ts";
import { isObject } from "../std/json-pointer.ts";
import { type Check, checkOf, type Report, reportOf, unchecked } from "./members.ts";
import { createVerifier, type Verifier, type VerifierOptions } from "./verifier.ts";

type Kind = "statement" | "page" | "key_directory" | "entitlement";

const kinds: ReadonlyMap<JsonValue, Kind> = new Map([
  [payloadTypes["verify-statement.v1"], "statement"],
  [payloadTypes["verify-page.v1"], "page"],
  [payloadTypes["key-directory.v1"], "key_directory"],
  [payloadTypes["entitlement.v1"], "entitlement"],
] as const);

export interface StatedAnswer {
  readonly kind: Kind;
  readonly value: JsonValue;
}

export interface StatedSubject {
  /** The instant (a timestamp) at which an entitlement has to be valid. */
  readonly at: string;
  /** The exact bytes that the statement must be about. */
  readonly record?: Uint8Array;
}

/** The statement in a file, by its payload type; null for any other file. Verifies nothing. */
export function statedAnswer(file: Uint8Array): StatedAnswer | null {
  const parsed = parseStrictJson(file);
  const value = parsed.ok ? parsed.value : null;
  if (!isObject(value)) return null;
  const envelope = isObject(value["statement"]) ? value["statement"] : value;
  const kind = kinds.get(envelope["payloadType"] ?? null);
  return kind === undefined ? null : { kind, value };
}

/**
 * Verifies such an answer offline: `key_set` is the chain from the anchors to the statement key, the check named like the
 * kind is whether the service stated this, and `findings` is whether what it stated is good.
 */
export function verifyStatedAnswer(
  options: VerifierOptions,
  { kind, value }: StatedAnswer,
  subject: StatedSubject,
): Report {
  const verifier = createVerifier(options);
  const chain = checkOf("key_set", verifier, ({ trust }) => `Issued at ${trust.keySet.issued_at}.`);
  if (!verifier.ok) return reportOf([chain]);
  return reportOf([chain, ...checksOf[kind](verifier.value, value, subject)]);
}

type Checks = (verifier: Verifier, value: JsonValue, subject: StatedSubject) => readonly Check[];

const checksOf: Readonly<Record<Kind, Checks>> = {
  statement: (verifier, value, { record }) => {
    const stated = verifier.statement(value);
    const found = ({ checked_at: at, record_hash: hash }: VerifyStatement) =>
      `Stated at ${at} about ${hash}.`;
    const about = (bytes: Uint8Array) => verifier.statement(value, { bytes });
    return [checkOf("statement", stated, found), ...recordCheck(stated, about, record), ...findings(stated)];
  },
  page: (verifier, value, { record }) => {
    const page = verifier.page(value);
    const found = ({ checked_at: at, record_id: id, adl_origin: hash, status }: VerifyPage) =>
      `Stated at ${at} about ${hash}, the bytes of ${id}: ${status}.`;
    const about = (bytes: Uint8Array) => verifier.page(value, { bytes });
    return [checkOf("page", page, found), ...recordCheck(page, about, record), ...pageFindings(page)];
  },
  key_directory: (verifier, value) => {
    const found = ({ issued_at: at, companies }: KeyDirectory) =>
      `Of ${at}, with ${companies.length} companies.`;
    return [checkOf("key_directory", verifier.keyDirectory(value), found)];
  },
  entitlement: (verifier, value, { at }) => {
    const found = ({ legal_name: name, valid_until: until }: Entitlement) => `Of ${name}, until ${until}.`;
    return [checkOf("entitlement", verifier.entitlement(value, { at }), found)];
  },
};

/** Only for a genuine statement: nothing is said about the content of any other. */
function recordCheck(
  stated: Verdict<unknown>,
  about: (bytes: Uint8Array) => Verdict<unknown>,
  record: Uint8Array | undefined,
): readonly Check[] {
  if (!stated.ok) return [];
  return [
    record === undefined
      ? unchecked("record", "The record was not given, so it was not compared with what was stated.")
      : checkOf("record", about(record)),
  ];
}

function findings(stated: Verdict<VerifyStatement>): readonly Check[] {
  if (!stated.ok) return [];
  const { valid, seal, sidecar, projection, ai_policy_bits: bits, log_inclusion: log } = stated.value;
  const { ad, entitlement } = stated.value;
  if (valid) return [{ name: "findings", state: "ok" }];
  const failed = Object.entries({ seal, sidecar, projection, ai_policy_bits: bits, ad, entitlement }).flatMap(
    ([name, section]) => (section?.valid === false ? [{ name, ...section }] : []),
  );
  const first = failed[0] ?? (log?.status === "invalid" ? { name: "log_inclusion", ...log } : undefined);
  if (first === undefined) return [{ name: "findings", state: "failed" }];
  const { name, reason, detail } = first;
  return [{ name: "findings", state: "failed", reason, detail: `${name}: ${detail}` }];
}

function pageFindings(page: Verdict<VerifyPage>): readonly Check[] {
  if (!page.ok) return [];
  const { valid, checks } = page.value;
  const detail = `cert: ${checks.cert}, served_at: ${checks.served_at}`;
  return [{ name: "findings", state: valid ? "ok" : "failed", detail }];
}

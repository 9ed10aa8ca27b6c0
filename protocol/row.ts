// Search rows: what the service projected from a record, signed once and served as signed (specification, «Search row»). The
// text of a row is RFC 8785 canonical, `adl_row_sig` included; serve-time members are spliced into that text, so that
// serving never parses a row.

import { isObject } from "../std/json-pointer.ts";
import { malformed, readPayload } from "./dsse.ts";
import { isHash, isKeyId, isRecordId, isUuidV4 } from "./identifiers.ts";
import { canonicalize, type JsonValue } from "./json/canonical-json.ts";
import type { Verdict } from "./reason-codes.ts";
import { ok } from "./result.ts";
import { integer, matching, type Shape } from "./shape.ts";

/** Members set when a row is served; the row signature does not cover them. */
export const serveTimeMembers = ["ai_policy_bits", "sponsored"] as const;

/** Members that every row has; the others depend on its collection. */
export interface IndexRow {
  readonly record_id: string;
  readonly business_uuid: string;
  readonly type: string;
  /** Unix seconds. */
  readonly published_at: number;
  /** Hash of the exact record bytes. */
  readonly adl_origin: string;
  /** The `cert_id` of the certificate under which the record was sealed. */
  readonly adl_origin_cert: string;
  /** The projection version `<type>/<n>`. */
  readonly adl_proj: string;
  /** The signature in base64. */
  readonly adl_row_sig: string;
  /** The key_id of the projection key. */
  readonly adl_key_id: string;
  readonly ai_policy_version: number;
  readonly [field: string]: JsonValue;
}

const required: ReadonlyMap<string, Shape<string | number>> = new Map<string, Shape<string | number>>([
  ["record_id", matching(isRecordId, "a record id")],
  ["business_uuid", matching(isUuidV4, "a UUID version 4")],
  ["type", matching(/^[a-z_]{1,32}$/, "a record type")],
  ["published_at", integer({ min: 0, max: 253_402_300_799 })],
  ["adl_origin", matching(isHash, "a hash")],
  ["adl_origin_cert", matching(isHash, "a hash")],
  ["adl_proj", matching(/^[a-z_]{1,32}\/[1-9][0-9]{0,5}$/, "a projection version")],
  ["adl_row_sig", matching(/^[A-Za-z0-9+/]{86}==$/, "a base64 Ed25519 signature")],
  ["adl_key_id", matching(isKeyId, "a key id")],
  ["ai_policy_version", integer({ min: 0, max: 2_147_483_647 })],
]);

/** Reads a row as served or as stored: an object with at least the members of {@link IndexRow}. */
export function parseRow(value: JsonValue): Verdict<IndexRow> {
  if (!isObject(value)) return malformed("A row must be an object.", "");
  for (const [name, shape] of required) {
    const read = Object.hasOwn(value, name)
      ? readPayload(shape, value[name] as JsonValue, `/${name}`)
      : malformed("A row has this member.", `/${name}`);
    if (!read.ok) return read;
  }
  return ok(value as IndexRow);
}

/**
 * The text that a row's signature covers: the RFC 8785 form without `adl_row_sig`, the serve-time members and the fields
 * that the projection specification lists as unsigned.
 */
export function rowSigningText(
  row: Readonly<Record<string, JsonValue>>,
  unsignedFields: readonly string[] = [],
): string {
  const covered = Object.entries(row).filter(
    ([name]) => !isUncovered(name) && !unsignedFields.includes(name),
  );
  // Assignment would not do: a member named __proto__ is a member and must not slip out of the signed text.
  return canonicalize(Object.fromEntries(covered));
}

/** No member that sorts before it has this name inside: the only one that holds an object is an ad's seal, an envelope. */
const signatureLeader = '"adl_proj":"';

/**
 * The text of the signed row, built from the text that was signed (as {@link rowSigningText} returns it): `adl_row_sig` is
 * put in its canonical place, right after `adl_proj`.
 */
export function signedRowText(signingText: string, signatureBase64: string): string {
  const member = signingText.indexOf(signatureLeader);
  if (member < 0) throw new Error("A row has an adl_proj");
  const at = signingText.indexOf('",', member + signatureLeader.length) + 2;
  return `${signingText.slice(0, at)}"adl_row_sig":"${signatureBase64}",${signingText.slice(at)}`;
}

const bitsFollower = ',"ai_policy_version":';

/**
 * The text of a row as served: the serve-time members are spliced into the exact signed text. `bitsText` is RFC 8785
 * (`policyBitsText`). Without the spliced members the text equals the signed one again.
 */
export function serveRow(rowText: string, bitsText: string, sponsored = false): string {
  const { opening, closing } = openRow(rowText);
  const head = `${opening}${bitsText}`;
  return sponsored ? `${head}${closing.slice(0, -1)},"sponsored":true}` : head + closing;
}

/** The text of a row as served, but for its bits: it has `opening`, the bits, and `closing`. */
export function openRow(rowText: string): { readonly opening: string; readonly closing: string } {
  // Inside a JSON string a quote is escaped, so the first unescaped occurrence is a member of the row itself: the only member
  // that sorts before it and holds an object is an ad's seal, and an envelope has no member of this name.
  const at = rowText.indexOf(bitsFollower);
  if (at < 0) throw new Error("A signed row has an ai_policy_version");
  return { opening: `${rowText.slice(0, at)},"ai_policy_bits":`, closing: rowText.slice(at) };
}

function isUncovered(name: string): boolean {
  return name === "adl_row_sig" || name === "ai_policy_bits" || name === "sponsored";
}

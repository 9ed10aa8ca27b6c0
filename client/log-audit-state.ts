// How far a log was audited, as a text that is kept in a file; and whose log it is, by pinned anchors.

import { parseAnchors } from "../protocol/anchors.ts";
import { parseBase64, toBase64, utf8 } from "../protocol/bytes.ts";
import { sha256 } from "../protocol/hash.ts";
import { parseWitnessPolicy, type WitnessPolicy } from "../protocol/log/cosignatures.ts";
import type { NoteKey } from "../protocol/log/note.ts";
import { verifySignature } from "../protocol/signatures.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { logKeys } from "../verifier/log.ts";
import { verifyKeySet } from "../verifier/trust.ts";
import type { AuditState } from "./log-audit.ts";
import { LogFault } from "./log-reader.ts";

/** What verifies a log's signatures. */
export const portablePrimitives = { verify: verifySignature, sha256 };

export function formatAuditState({ checkpoint, edge }: AuditState): string {
  return `${JSON.stringify({ version: 1, checkpoint, edge: edge.map(toBase64) })}\n`;
}

/** Throws {@link LogFault} for a text that is not of {@link formatAuditState}. */
export function parseAuditState(text: string): AuditState {
  const parsed = parseStrictJson(utf8(text));
  const { version, checkpoint, edge } = (parsed.ok ? (parsed.value ?? {}) : {}) as Record<string, unknown>;
  const tiles = Array.isArray(edge) ? edge.map((each) => parseBase64(String(each))) : [null];
  const whole = tiles.filter((each) => each !== null);
  if (version !== 1 || typeof checkpoint !== "string" || whole.length !== tiles.length)
    throw new LogFault("state_invalid", "The file is not the state of an audit.");
  return { checkpoint, edge: whole };
}

/** The log that anchors name, with its keys in a key set that leads to them; a text says why there is none. */
export function anchoredLog(
  anchorsText: string,
  keySetText: string,
): { readonly origin: string; readonly keys: readonly NoteKey[] } | string {
  const read = parseStrictJson(utf8(anchorsText));
  const anchors = read.ok ? parseAnchors(read.value) : read;
  if (!anchors.ok) return `The anchors are not anchors: ${anchors.detail}`;
  const keySet = parseStrictJson(utf8(keySetText));
  const trust = keySet.ok ? verifyKeySet(anchors.value, keySet.value, portablePrimitives) : keySet;
  if (!trust.ok) return `The key set does not lead to the anchors: ${trust.detail}`;
  return { origin: anchors.value.log.origin, keys: logKeys(trust.value) };
}

/** The policy that `GET /v1/log/witnesses` answers; null for another text. */
export function parseServedPolicy(text: string): WitnessPolicy | null {
  const read = parseStrictJson(utf8(text));
  const { quorum, witnesses } = (read.ok ? (read.value ?? {}) : {}) as Record<string, unknown>;
  if (typeof quorum !== "number" || !Array.isArray(witnesses)) return null;
  const keys = witnesses.map((each: { readonly key?: unknown } | null) => String(each?.key));
  return parseWitnessPolicy({ keys, quorum }, sha256);
}

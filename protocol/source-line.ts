// Source line: one line that says where a statement comes from and how anyone can check it (specification, «Fetched
// record»).

import { malformed } from "./dsse.ts";
import { isHash, isRecordId, isTimestamp } from "./identifiers.ts";
import type { Verdict } from "./reason-codes.ts";
import { ok } from "./result.ts";

export interface SourceLine {
  readonly record_id: string;
  /** Hash of the exact record bytes. */
  readonly origin: string;
  readonly cert_id: string;
  readonly served_at: string;
  /** Public base URL of the verification surface, without trailing slash. */
  readonly verify_url: string;
}

const label = "svc-source/1";
const pattern = /^svc-source\/1 record=(\S+) origin=(\S+) cert=(\S+) served=(\S+) verify=(\S+)$/;

/** `svc-source/1 record=… origin=… cert=… served=… verify=…`, without a line feed. */
export function formatSourceLine(source: SourceLine): string {
  const { record_id: id, origin, cert_id: cert, served_at: served } = source;
  return `${label} record=${id} origin=${origin} cert=${cert} served=${served} verify=${verifyPageUrl(source)}`;
}

/** `{verify_url}/v1/verify/<record_id>` with a percent-encoded query. */
export function verifyPageUrl(source: SourceLine): string {
  const query = `origin=${encodeURIComponent(source.origin)}&cert=${encodeURIComponent(source.cert_id)}`;
  return `${source.verify_url}/v1/verify/${source.record_id}?${query}&served_at=${encodeURIComponent(source.served_at)}`;
}

/** Reads a source line; refuses with `payload_malformed` unless it is exactly the line that its own fields produce. */
export function parseSourceLine(line: string): Verdict<SourceLine> {
  const [, id = "", origin = "", cert = "", served = "", url = ""] = pattern.exec(line) ?? [];
  if (!isRecordId(id) || !isHash(origin) || !isHash(cert) || !isTimestamp(served)) {
    return malformed("Not a source line.", "");
  }
  const pathAt = url.indexOf("/v1/verify/");
  const source: SourceLine = {
    record_id: id,
    origin,
    cert_id: cert,
    served_at: served,
    verify_url: url.slice(0, pathAt),
  };
  const isConsistent = pathAt > 0 && formatSourceLine(source) === line;
  return isConsistent ? ok(source) : malformed("The verification address names something else.", "");
}

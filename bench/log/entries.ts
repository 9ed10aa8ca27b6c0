// The entries that the benchmarks of the log append: tools/log-judge/append-floor appends the same.

import { nativeCrypto } from "../../crypto/native.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { formatHash } from "../../protocol/hash.ts";
import type { LogEntry } from "../../protocol/log/entries.ts";

/** The name of the log. */
export const origin = "bench.invalid/log";

export function benchEntry(at: number): LogEntry {
  const leaf = formatHash(nativeCrypto.sha256(utf8(`seal ${at}`)));
  return { leaf, leaf_type: "seal", subject: `business-${at % 100}` };
}

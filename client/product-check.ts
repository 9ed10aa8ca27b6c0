// Checks a product before it is sent, except for what only the service can know (its lists, other records).

import { parseRecord } from "../protocol/records/parse-record.ts";
import { duplicateInBatch } from "../protocol/wire/push.ts";
import type { RecordFault } from "./service-client.ts";

/**
 * Returns every fault in a product's exact bytes at once; the list is empty for a product that the service would publish.
 */
export function productFaults(bytes: Uint8Array): readonly RecordFault[] {
  const parsed = parseRecord("products", bytes);
  return parsed.ok ? [] : parsed.faults;
}

/** As {@link productFaults} for one product of a file after another: a file has each product once. */
export function fileChecker(): (bytes: Uint8Array) => readonly RecordFault[] {
  const seen = new Set<string>();
  return (bytes) => {
    const parsed = parseRecord("products", bytes);
    if (!parsed.ok) return parsed.faults;
    const id = String(parsed.record["business_product_id"]);
    if (seen.has(id)) return [duplicateInBatch];
    seen.add(id);
    return [];
  };
}

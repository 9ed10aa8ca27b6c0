// Checks a product before it is sent, except for what only the service can know (its lists, other records).

import { parseRecord } from "../protocol/records/parse-record.ts";
import type { RecordFault } from "./service-client.ts";

/**
 * Every fault in a product's exact bytes at once, each with its code and pointer; none for a
 * product that the service would take by its content.
 */
export function productFaults(bytes: Uint8Array): readonly RecordFault[] {
  const parsed = parseRecord("products", bytes);
  return parsed.ok ? [] : parsed.faults;
}

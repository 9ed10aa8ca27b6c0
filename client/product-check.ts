// What can be said of a product before it is sent: everything but what only the service knows (its lists, other records).

import { parseRecord } from "../protocol/records/parse-record.ts";
import type { RecordFault } from "./service-client.ts";

/** Every fault of a product's exact bytes at once; none for a product that the service would publish. */
export function productFaults(bytes: Uint8Array): readonly RecordFault[] {
  const parsed = parseRecord("products", bytes);
  return parsed.ok ? [] : parsed.faults;
}

// A record's head as it is stored: one cell, so that of two heads one is kept whole (W1 in write-timestamps.ts).

import type { RecordHead } from "../record-store.ts";

export function headText(head: RecordHead): string {
  const { business_uuid, type, live, generation, change, hash } = head;
  return JSON.stringify([business_uuid, type, live ? 1 : 0, generation, change, hash]);
}

export function headOf(recordId: string, text: string): RecordHead {
  const [business_uuid, type, live, generation, change, hash] = JSON.parse(text) as readonly [
    string,
    string,
    0 | 1,
    number,
    number,
    string,
  ];
  return { record_id: recordId, business_uuid, type, live: live === 1, generation, change, hash };
}

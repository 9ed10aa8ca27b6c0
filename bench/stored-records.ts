// Reads back what the service stored of a push, for the floor to store again.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseBase64 } from "../protocol/bytes.ts";
import { pae, payloadTypes } from "../protocol/dsse.ts";
import type { StoredRecord } from "./floor/push.ts";

/** Everything stored of a push, in leaf order, from the home of a node that is not running. */
export function readStoredRecords(home: string, pushId: string): readonly StoredRecord[] {
  const store = new DatabaseSync(join(home, "store.db"), { readOnly: true });
  const index = new DatabaseSync(join(home, "rows.db"), { readOnly: true });
  try {
    const textsOf = index.prepare(
      "SELECT t0, t1, t2, t3 FROM row_products WHERE rid = (SELECT rid FROM row_entry WHERE record_id = ?)",
    );
    const versions = store
      .prepare(
        `SELECT v.record_id, h.business_uuid, v.cert_id, v.proof, v.row, v.sidecar
         FROM record_version v JOIN record_head h ON h.record_id = v.record_id WHERE v.seal_id = ? ORDER BY v.leaf_index`,
      )
      .all(pushId);
    return versions.map((version): StoredRecord => {
      const { adl_row_sig: _signature, ...row } = JSON.parse(String(version["row"])) as Record<
        string,
        unknown
      >;
      const { payload } = JSON.parse(String(version["sidecar"])) as { payload: string };
      const sidecarPayload = parseBase64(payload) ?? new Uint8Array();
      const texts = Object.values(textsOf.get(String(version["record_id"])) ?? {});
      return {
        record_id: String(version["record_id"]),
        business_uuid: String(version["business_uuid"]),
        cert_id: String(version["cert_id"]),
        proof: version["proof"] as Uint8Array,
        row,
        sidecarPayload,
        sidecarMessage: pae(payloadTypes["sidecar.v2"], sidecarPayload),
        texts: texts.map((text) => (text === null ? null : String(text).trim())),
      };
    });
  } finally {
    store.close();
    index.close();
  }
}

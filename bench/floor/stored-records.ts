// Reads back what the service stored for a push, so that the floor can store the same.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { collections } from "../../collections/collections.ts";
import { indexDocument } from "../../collections/index-document.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { pae, payloadTypes } from "../../protocol/dsse.ts";
import type { StoredRecord } from "./push.ts";

/** Everything stored for a push, in leaf order, from the home of a node that is not running. */
export function readStoredRecords(home: string, pushId: string): readonly StoredRecord[] {
  const store = new DatabaseSync(join(home, "store.db"), { readOnly: true });
  try {
    const versions = store
      .prepare(
        `SELECT h.record_id, h.business_uuid, v.cert_id, v.proof, v.row, v.sidecar
         FROM record_version v JOIN record_head h ON h.no = v.record_no WHERE v.seal_id = ? ORDER BY v.leaf_index`,
      )
      .all(pushId);
    return versions.map((version): StoredRecord => {
      const { adl_row_sig: _signature, ...row } = JSON.parse(String(version["row"])) as JsonObject;
      const { payload } = JSON.parse(String(version["sidecar"])) as { payload: string };
      const sidecarPayload = parseBase64(payload) ?? new Uint8Array();
      const { texts } = indexDocument("products", row);
      return {
        record_id: String(version["record_id"]),
        business_uuid: String(version["business_uuid"]),
        cert_id: String(version["cert_id"]),
        proof: version["proof"] as Uint8Array,
        row,
        sidecarPayload,
        sidecarMessage: pae(payloadTypes["sidecar.v2"], sidecarPayload),
        texts: collections.products.textFields.map((field) => texts[field] ?? null),
      };
    });
  } finally {
    store.close();
  }
}

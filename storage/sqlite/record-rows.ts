// Converts rows of the record tables.

import type { SQLOutputValue } from "node:sqlite";
import type {
  RecordHead,
  ServedRecord,
  StoredSeal,
  VersionDate,
  VersionId,
  VersionOrigin,
} from "../record-store.ts";
import { bytesOf, numberOf, numberOrNull, type Row, textOf } from "./columns.ts";

export function dateOf(row: Row): VersionDate {
  return {
    generation: numberOf(row["generation"]),
    hash: textOf(row["hash"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

export function headOf(row: Row): RecordHead {
  return {
    record_id: textOf(row["record_id"]),
    business_uuid: textOf(row["business_uuid"]),
    type: textOf(row["type"]),
    live: row["live"] === 1,
    generation: numberOf(row["generation"]),
    change: numberOf(row["change"]),
    hash: textOf(row["hash"]),
  };
}

/** Converts the columns of `readServed`, in their order. */
export function servedOf(columns: readonly SQLOutputValue[]): Omit<ServedRecord, "seal"> {
  const [id, uuid, type, , generation, change, hash, ...rest] = columns;
  const [bytes, leaf, proof, sidecar, row, certId, publishedAt, sealId] = rest;
  const common = {
    record_id: textOf(id),
    business_uuid: textOf(uuid),
    type: textOf(type),
    generation: numberOf(generation),
    hash: textOf(hash),
  };
  return {
    head: { ...common, live: true, change: numberOf(change) },
    version: {
      ...common,
      bytes: bytesOf(bytes),
      seal_id: textOf(sealId),
      leaf_index: numberOrNull(leaf),
      proof: bytesOf(proof),
      sidecar: textOf(sidecar),
      row: textOf(row),
      cert_id: textOf(certId),
      published_at_ms: numberOf(publishedAt),
    },
  };
}

export function sealOf(row: Row): StoredSeal {
  return {
    seal_id: textOf(row["seal_id"]),
    envelope: textOf(row["envelope"]),
    tree_size: numberOrNull(row["tree_size"]),
  };
}

export function originOf({ record_id, generation, hash }: VersionId, row: Row): VersionOrigin {
  return {
    ...{ record_id, generation, hash },
    bytes: bytesOf(row["bytes"]),
    sidecar: textOf(row["sidecar"]),
    published_at_ms: numberOf(row["published_at"]),
  };
}

// Checks a document that is sealed alone before it is sent, as the service does, except for what only the service can know: its lists,
// the names of certified companies, other records.

import { parseAiPolicy } from "../../protocol/ai-policy.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import { judgeRecord } from "../../protocol/records/judge-record.ts";
import { type CertifiedNames, createNameIndex, noBrands } from "../../protocol/records/name-index.ts";
import { openSeal } from "../../protocol/seal.ts";
import type { RecordFault } from "../service-client.ts";
import type { DocumentType } from "./read-documents.ts";

const nobody: CertifiedNames = {
  index: createNameIndex(),
  legalNameOf: () => null,
  changes: () => 0,
  brandsOf: () => noBrands,
};
const lists = { protectedNames: [], exemptNames: [], blockedHosts: [], certified: nobody };

/** Every fault in the exact bytes of a document at once; of an AI policy the first. */
export function documentFaults(type: DocumentType, bytes: Uint8Array): readonly RecordFault[] {
  if (type === "ai_policy") {
    const policy = parseAiPolicy(bytes);
    return policy.ok ? [] : [{ code: policy.code, pointer: policy.pointer ?? "", detail: policy.detail }];
  }
  const rules = { collection: type, countries: null, lists, ownNames: null, brands: noBrands };
  const judged = judgeRecord(bytes, rules);
  return judged.ok ? [] : judged.faults;
}

/** Why a seal that was made elsewhere is not one over these bytes; null if it may be. Its signature is for the service to verify. */
export function sealFault(
  seal: unknown,
  { type, bytes }: { readonly type: DocumentType; readonly bytes: Uint8Array },
): string | null {
  const envelope = parseEnvelope(seal);
  if (!envelope.ok) return envelope.detail;
  const opened = openSeal(envelope.value);
  if (!opened.ok) return opened.detail;
  const { v, hash, record_type: sealed } = opened.value;
  if (v !== 2) return "It must be a seal of format 2.";
  if (sealed !== type) return `It is a seal for ${sealed}, and the document is of the type ${type}.`;
  return hash === hashOf(bytes)
    ? null
    : "It is a seal over other bytes: the file must have exactly those that were sealed.";
}

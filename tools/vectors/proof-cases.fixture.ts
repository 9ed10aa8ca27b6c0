// Cases about evidence files with the proofs of the log (`svc-evidence/2`): one record, everything that proves it, and one checkpoint.

import { formatHash, sha256, utf8 } from "../../protocol/bytes.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import {
  certificateEntry,
  contentHash,
  entryHash,
  keyAddedEntry,
  type LogEntry,
  receiptBatchEntry,
  sealEntry,
  sealLeafOf,
} from "../../protocol/log/leaves.ts";
import { formatNote, parseNote, verifierKeyOf } from "../../protocol/log/note.ts";
import { cosign, noteKey } from "../../protocol/log/signed-log.fixture.ts";
import { buildTree, leafHash, stepsOf } from "../../protocol/merkle.ts";
import { publishedKeys, recordBytes, recordId, sealedPolicy } from "../../verifier/business.fixture.ts";
import { type ProofFileMembers, proofText } from "../../verifier/logged.ts";
import { callerKeyId, fetchBody } from "../../verifier/retrieval.fixture.ts";
import { document, region } from "../../verifier/service.fixture.ts";
import type { Outcome, VectorCase } from "./case.ts";
import { noteMaker } from "./log-cases.fixture.ts";
import { base64, casesOf, keySetOf, type World, withSignatures } from "./world.fixture.ts";

const bytes = recordBytes();
const witnesses = [1, 2].map((seed) => noteKey(`witness.test/w${seed}`, "cosignature", seed));
const batchName = "202603051000-x";

const fine: Readonly<Record<string, Outcome>> = {
  key_set: "ok",
  receipt: "ok",
  sidecar: "ok",
  certificate: "ok",
  business_keys: "ok",
  seal: "ok",
  ai_policy: "ok",
  key_custody: "ok",
  checkpoint: "ok",
  seal_in_log: "ok",
  key_in_log: "ok",
  certificate_in_log: "ok",
  ai_policy_in_log: "ok",
  receipt_in_log: "ok",
};

/** What was served of the record, and what is published of its business. */
function servedOf({ production: { service, business } }: World) {
  const answer = JSON.parse(fetchBody(service, business, bytes)) as JsonObject;
  const custody = {
    v: 1,
    business_uuid: business.uuid,
    key_id: business.system.keyId,
    custody: "self",
    issued_at: "2026-02-01T00:00:00.000Z",
    effective_from: "2026-02-01T00:00:00.000Z",
  };
  const policy = sealedPolicy(business);
  const { signed: businessKeys } = publishedKeys(service, business) as { signed: JsonValue };
  const { signed: keySet } = keySetOf(
    service,
    service.receipt,
    service.sidecar,
    service.statement,
    service.log,
  ) as { signed: JsonValue };
  return {
    format: "svc-evidence/2",
    environment: "production",
    record_id: recordId,
    business_uuid: business.uuid,
    record_type: "products",
    record_base64: base64(bytes),
    seal: answer["seal"] ?? null,
    sidecar: answer["sidecar"] ?? null,
    receipt: JSON.stringify(answer["receipt"]),
    ai_policy: { version: 1, record_base64: base64(policy.bytes), seal: policy.seal },
    key_set: keySet,
    business_keys: businessKeys,
    certificates: [business.issued.envelope],
    key_custody: [document("key-custody.v1", custody, ...service.issuance.halves)],
    caller_key_id: callerKeyId,
  } as const;
}

/** The file, and the log that it is from: seven entries, five of which are about this record. */
function proofFile(world: World): ProofFileMembers {
  const served = servedOf(world);
  const { business } = world.production;
  const { uuid } = business;
  const batch = buildTree(
    ["a", served.receipt, "c"].map((text) => leafHash(utf8(text), sha256)),
    sha256,
  );
  const sealed = (envelope: JsonValue) =>
    sealEntry(uuid, sealLeafOf(envelope as unknown as Envelope, sha256));
  const entries: readonly LogEntry[] = [
    certificateEntry(uuid, contentHash(business.issued.envelope, sha256)),
    keyAddedEntry(uuid, business.passkey.keyId, sha256),
    keyAddedEntry(uuid, business.system.keyId, sha256),
    sealed(served.ai_policy.seal),
    sealed((served.seal as JsonObject)["batch_seal"] ?? null),
    receiptBatchEntry({ region, batch: batchName, root: formatHash(batch.root) }),
    sealEntry(uuid, formatHash(sha256(utf8("another")))),
  ];
  const leaves = entries.map((entry) => entryHash(entry, sha256));
  const tree = buildTree(leaves, sha256);
  const place = (index: number) => ({ leaf_index: index, proof: tree.path(index).map(formatHash) });
  const steps = stepsOf({ index: 1, treeSize: 3, path: batch.path(1) }) ?? [];
  return {
    ...served,
    log: {
      checkpoint: cosigned(noteMaker(world)(leaves.length, { leaves })),
      witnesses: witnesses.map((key) => verifierKeyOf(key, sha256)),
      seal: place(4),
      key_event: place(2),
      certificate: place(0),
      ai_policy: place(3),
      receipt: {
        ...place(5),
        name: batchName,
        path: steps.map(({ hash, side }) => ({ hash: formatHash(hash), side })),
      },
    },
  };
}

function cosigned(note: string): string {
  const parsed = parseNote(note);
  if (!parsed.ok) throw new Error(parsed.detail);
  const lines = witnesses.map((key) => cosign(key, parsed.value.text, 1_800_000_000));
  return formatNote({ ...parsed.value, signatures: [...parsed.value.signatures, ...lines] });
}

export function proofCases(world: World): readonly VectorCase[] {
  const { good } = casesOf("evidence");
  const file = proofFile(world);
  const { log } = file;
  const text = proofText(file);
  const one = (name: string, says: string, of: string, failed: Readonly<Record<string, Outcome>> = {}) =>
    good(
      `proofs: ${name}`,
      says,
      { file_base64: base64(utf8(of)) },
      {
        valid: Object.keys(failed).length === 0,
        checks: { ...fine, ...failed },
      },
    );
  const malformed = (name: string, says: string, of: string) =>
    good(
      `proofs: ${name}`,
      says,
      { file_base64: base64(utf8(of)) },
      { valid: false, checks: { file: "payload_malformed" } },
    );
  const changed = (changes: Partial<typeof log>) => proofText({ ...file, log: { ...log, ...changes } });
  const dressed = withSignatures(file.sidecar, (each) =>
    each.map((signature) => ({ ...signature, authenticatorData: "AAAA", clientDataJSON: "AAAA" })),
  );
  const elsewhere = { ...log.seal, leaf_index: log.seal.leaf_index + 1 };
  const minute = { ...log.receipt, name: "202603051001-x" };
  const turned = log.receipt.path.map(
    ({ hash, side }) => ({ hash, side: side === "left" ? "right" : "left" }) as const,
  );
  const further = { ...file, extra: 1 };
  return [
    one("whole", "A record with everything that proves it, the log included.", text),
    one("seal elsewhere", "The path is of another leaf.", changed({ seal: elsewhere }), {
      seal_in_log: "inclusion_invalid",
    }),
    one(
      "key elsewhere",
      "The path is that of the passkey's registration.",
      changed({ key_event: { ...log.key_event, leaf_index: 1 } }),
      { key_in_log: "inclusion_invalid" },
    ),
    one(
      "certificate without a path",
      "The path of the certificate is missing.",
      changed({ certificate: { ...log.certificate, proof: [] } }),
      { certificate_in_log: "inclusion_invalid" },
    ),
    one(
      "receipt of another minute",
      "The batch is not of the minute that the receipt names.",
      changed({ receipt: minute }),
      { receipt_in_log: "inclusion_invalid" },
    ),
    one(
      "receipt's path turned",
      "The hashes stand on the other sides.",
      changed({ receipt: { ...log.receipt, path: turned } }),
      { receipt_in_log: "inclusion_invalid" },
    ),
    one(
      "receipt in another order",
      "The receipt's members are in another order than they were served.",
      proofText({
        ...file,
        receipt: JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(file.receipt)).reverse())),
      }),
      { receipt_in_log: "inclusion_invalid" },
    ),
    one(
      "dressed as a passkey's",
      "A signature of the service has the members of a passkey's.",
      proofText({ ...file, sidecar: dressed }),
      { sidecar: "signature_invalid" },
    ),
    malformed("no newline", "The newline at its end is missing.", text.trimEnd()),
    malformed("two newlines", "There is a newline too many.", `${text}\n`),
    malformed("spaces", "The file was formatted.", `${JSON.stringify(file, null, 1)}\n`),
    malformed("further member", "A member that the format does not have.", proofText(further)),
  ];
}

// Proof files over real HTTP: what a node served, with the proofs of its log, verified with nothing but anchors.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { verifyEvidenceFile } from "../../client/evidence.ts";
import { ownReceipts } from "../../client/pages.ts";
import { collectProofs, ProofsMissingError } from "../../client/proofs.ts";
import { checkReceipt, readPresented } from "../../client/receipt-check.ts";
import type { OwnReceipt } from "../../client/service-client.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { verifierKeyOf } from "../../protocol/log/note.ts";
import { noteKey } from "../../protocol/log/signed-log.fixture.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import { runNode } from "../../tools/process.ts";
import { type ProofFileMembers, proofText } from "../../verifier/logged.ts";
import type { Report } from "../../verifier/members.ts";
import { verifyEvidence } from "../../verifier/verifier.ts";
import { type AttackNode, openAttackNode } from "../retrieval/attack.fixture.ts";
import { closeReceipts, proofsOf, type ServedRecord, serveRecord } from "./proof-file.fixture.ts";

let node: AttackNode;
let served: ServedRecord;
let text: string;

beforeAll(async () => {
  vi.stubEnv("SVC_LOG_INTERVAL_SECONDS", "0");
  node = await openAttackNode({}, { samples: true });
  vi.unstubAllEnvs();
  served = await serveRecord(node);
  text = await proofsOf(served);
}, 120_000);
afterAll(() => node.close());

const bytes = (file: string): Uint8Array => new TextEncoder().encode(file);
const anchors = () => node.running.services.anchors;

function reportOn(file: string): Report {
  return verifyEvidence({ anchors: anchors(), verify: nativeCrypto.verify }, bytes(file));
}

/** The first check that is not ok, with its reason or state. */
function faultOf({ checks }: Report): string {
  const fault = checks.find(({ state }) => state !== "ok");
  return fault === undefined ? "none" : `${fault.name}: ${fault.reason ?? fault.state}`;
}

/** The file with members changed as the function says. */
function changed(change: (file: ProofFileMembers) => object): string {
  const file = JSON.parse(text) as ProofFileMembers;
  return proofText({ ...file, ...change(file) } as ProofFileMembers);
}

const logWith = (change: (log: ProofFileMembers["log"]) => object): string =>
  changed(({ log }) => ({ log: { ...log, ...change(log) } }));

it("proves everything with nothing but anchors", () => {
  const options = { anchorsText: JSON.stringify(anchors()), allowSandbox: true };
  const outcome = verifyEvidenceFile(bytes(text), options);
  expect(outcome).toMatchObject({ ok: true, value: { valid: true, complete: true } });
  const names = outcome.ok ? outcome.value.checks.map(({ name }) => name) : [];
  for (const name of ["seal", "key", "certificate", "receipt"]) expect(names).toContain(`${name}_in_log`);
  expect(names).toEqual(expect.arrayContaining(["key_set", "receipt", "sidecar", "seal", "checkpoint"]));
});

it("has a receipt whose caller reads it with the same two levels of proof, and can check it with them", async () => {
  const { client, fetched, caller } = served;
  const { receipt } = JSON.parse(fetched.text) as { readonly receipt: JsonValue };
  const { payload } = receipt as { readonly payload: string };
  const { retrieval_id: id } = JSON.parse(Buffer.from(payload, "base64").toString()) as {
    retrieval_id: string;
  };
  const { body } = await client.ownReceipt(id);
  expect(body.receipts).toMatchObject([{ retrieval_id: id, kind: "fetch", rows: 1, receipt }]);
  expect(body.checked).toMatchObject({ valid: true, reason: null, log: { leaf_type: "receipt_batch" } });
  expect(body.checked?.log?.batch?.region).toBe(body.region);
  const { text: keySet } = await client.verificationRead("/.well-known/keys");
  const presented = readPresented(bytes(JSON.stringify(body)));
  const options = { anchorsText: JSON.stringify(anchors()), allowSandbox: true, keySet: bytes(keySet) };
  const check = async (callerKeyId: string) => {
    if (!presented.ok) throw new Error(presented.detail);
    const outcome = await checkReceipt(presented.value, { ...options, callerKeyId, log: client });
    return outcome.ok ? faultOf(outcome.value) : outcome.code;
  };
  expect(await check(caller.keyId)).toBe("none");
  expect(await check("A".repeat(43))).toBe("receipt: receipt_caller_mismatch");
});

it("comes from receipts that are counted as they are listed", async () => {
  const { client } = served;
  const found: OwnReceipt[] = [];
  const patience = { now: Date.now, wait: async () => {}, patienceMs: 0, onWaiting: () => {} };
  for await (const each of ownReceipts(client, patience, { limit: 1 })) found.push(each);
  const { body } = await client.usage();
  expect(found.length).toBeGreaterThan(0);
  expect(body.total).toEqual({ requests: found.length, billable: 0, rows: found.length });
});

it("is not collected before the log contains everything, and says what it does not contain", async () => {
  const again = await serveRecord(node);
  const caller = { ...again.caller, patienceMs: 0 };
  const collecting = collectProofs(again.client, again.fetched, caller);
  await expect(collecting).rejects.toMatchObject({ missing: expect.arrayContaining(["receipt"]) });
  await expect(collecting).rejects.toBeInstanceOf(ProofsMissingError);
});

describe("a proof file", () => {
  it("has one text", () => {
    const value = JSON.parse(text) as JsonObject;
    const { log, ...others } = value;
    for (const other of [
      JSON.stringify(value, null, 2),
      text.trimEnd(),
      `${text}\n`,
      JSON.stringify({ log, ...others }),
      changed(() => ({ more: 1 })),
      text.replace(/"business_keys":\{.*?\},"/, `"`),
      text.replace(/"key_event":\{.*?\},"/, '"'),
    ])
      expect(faultOf(reportOn(other))).toBe("file: payload_malformed");
  });

  it("is of the environment of the anchors", () => {
    expect(faultOf(reportOn(changed(() => ({ environment: "production" }))))).toBe(
      "environment: key_unknown",
    );
  });

  it.each<readonly [string, string, (log: ProofFileMembers["log"]) => object]>([
    [
      "the proof of another entry",
      "seal_in_log: inclusion_invalid",
      ({ certificate }) => ({ seal: certificate }),
    ],
    ["another key's registration", "key_in_log: inclusion_invalid", ({ seal }) => ({ key_event: seal })],
    [
      "another place",
      "certificate_in_log: inclusion_invalid",
      ({ certificate }) => ({ certificate: { ...certificate, leaf_index: certificate.leaf_index + 1 } }),
    ],
    [
      "a proof for an AI policy that there is not",
      "ai_policy_in_log: inclusion_invalid",
      ({ seal }) => ({ ai_policy: seal }),
    ],
    [
      "another minute's batch",
      "receipt_in_log: inclusion_invalid",
      ({ receipt }) => ({ receipt: { ...receipt, name: `2${receipt.name.slice(1, 11)}9-x` } }),
    ],
    [
      "another batch of the minute",
      "receipt_in_log: inclusion_invalid",
      ({ receipt }) => ({ receipt: { ...receipt, name: `${receipt.name}x` } }),
    ],
    [
      "another size of the tree",
      "checkpoint: checkpoint_invalid",
      ({ checkpoint }) => ({
        checkpoint: checkpoint.replace(/\n(\d+)\n/, (_all, size) => `\n${Number(size) + 1}\n`),
      }),
    ],
    [
      "a cosignature of nobody",
      "checkpoint: checkpoint_invalid",
      ({ checkpoint }) => ({ checkpoint: `${checkpoint}— nobody.test AAAAAAAAAA==\n` }),
    ],
    [
      "a witness that did not sign",
      "checkpoint: checkpoint_invalid",
      ({ witnesses }) => ({
        witnesses: [...witnesses, verifierKeyOf(noteKey("w.test/1", "cosignature", 7), nativeCrypto.sha256)],
      }),
    ],
    [
      "a witness that is not named",
      "checkpoint: checkpoint_invalid",
      ({ witnesses }) => ({ witnesses: witnesses.slice(1) }),
    ],
  ])("is refused with %s", (_what, fault, change) => {
    expect(faultOf(reportOn(logWith(change)))).toBe(fault);
  });

  it("is refused without the certificate that the seal names", () => {
    // Another business's certificates verify, and are not this one's.
    const file = changed(({ certificates }) => ({
      certificates: certificates.slice(0, 1),
      business_uuid: "10000000-0000-4000-8000-00000000dead",
    }));
    expect(reportOn(file).valid).toBe(false);
  });

  it("is refused where keys are too old to say that the sealing key was not revoked", async () => {
    const { keys } = node.running.services;
    const { business_keys } = JSON.parse(text) as { readonly business_keys: { readonly payload: string } };
    const payload = JSON.parse(Buffer.from(business_keys.payload, "base64").toString()) as JsonObject;
    const issued_at = formatTimestamp(Date.now() - 2 * 86_400_000);
    const older = canonicalBytes({ ...payload, issued_at });
    const envelope = await signEnvelope(payloadTypes["business-keys.v1"], older, [
      keys.statement(formatTimestamp(Date.now())),
    ]);
    const report = reportOn(changed(() => ({ business_keys: envelope as unknown as JsonValue })));
    expect([report.valid, report.complete && faultOf(report)]).toEqual([false, false]);
  });

  it("is judged by the reader's own policy of witnesses", () => {
    const key = verifierKeyOf(noteKey("w.test/1", "cosignature", 7), nativeCrypto.sha256);
    const report = verifyEvidence({ anchors: anchors(), witnesses: { keys: [key], quorum: 1 } }, bytes(text));
    expect(faultOf(report)).toBe("checkpoint: checkpoint_invalid");
  });
});

it("is saved by svc fetch --save --proofs, and verified by svc verify", async () => {
  // Batches of this run are not closed yet.
  await node.restart();
  const { home } = node.running.config;
  const path = join(home, "proofs.json");
  const run = (...words: readonly string[]) => runNode(["cli/main.ts", ...words, "--home", home]);
  let isSaved = false;
  const saving = run("fetch", served.recordId, "--save", path, "--proofs").finally(() => {
    isSaved = true;
  });
  while (!isSaved) {
    await closeReceipts(node);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const saved = await saving;
  expect([saved.code, saved.output]).toEqual([0, expect.stringContaining("Verify it offline")]);
  const verified = await run("verify", path, "--sandbox");
  expect([verified.code, verified.output]).toEqual([0, expect.stringMatching(/^Valid\.$/m)]);
  expect(verified.output).toMatch(/^ok +receipt_in_log/m);
  expect(faultOf(reportOn(await readFile(path, "utf8")))).toBe("none");
  const none = join(home, "none.json");
  const late = await run("fetch", served.recordId, "--save", none, "--proofs", "--patience", "0");
  const why = "does not contain yet: receipt. Nothing was saved";
  expect([late.code, late.output]).toEqual([1, expect.stringContaining(why)]);
  const nowhere = await run("fetch", served.recordId, "--proofs");
  expect([nowhere.code, nowhere.output]).toEqual([2, expect.stringContaining("--save FILE")]);
}, 120_000);

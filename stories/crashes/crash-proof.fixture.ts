// The required state of a node's stores after a scenario, read directly from the files rather than through the node. For
// tests.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import type { PublishOutcome, PushReport } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { queryWords } from "../../collections/text-analysis.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { NodeServices } from "../../node/composition/services.ts";
import { hashOf } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../../protocol/keys/business-keys.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import type { Outcome } from "../../service/answer.ts";
import { reportOf } from "../../service/publishing/accept-batch.ts";
import { sealText } from "../../service/retrieval/fetched-record.ts";
import { createVerification } from "../../service/verification/verification.ts";
import type { ServedRecord } from "../../storage/record-store.ts";
import { type CertificateHistory, certificateEnvelopes } from "../../verifier/certificate.ts";
import { createVerifier, type Verifier } from "../../verifier/verifier.ts";
import {
  type Expectation,
  expectations,
  type Scenario,
  type ScenarioBatch,
  wordOf,
} from "./crash-points.fixture.ts";

/** Checks what the running node answers and serves. */
export async function proveServed(services: NodeServices, scenario: Scenario): Promise<void> {
  const expected = expectations(scenario);
  const evidence = await openEvidence(services, scenario);
  for (const each of expected) await proveRecord(services, scenario, each, evidence);
  const live = expected.filter((each) => each.live !== null);
  expect(await services.index.count("products")).toBe(live.length);
  const { uuid } = scenario.business.party;
  const facts = await services.actors.ask(businessRef(uuid), {
    type: "publishing.facts",
    key_id: scenario.business.key.key_id,
  });
  // Every product of the scenario is published for two countries.
  expect({ listings: facts.listings, pending: facts.pending }).toEqual({
    listings: live.length * 2,
    pending: [],
  });
  const report = await services.actors.inspect(businessRef(uuid));
  expect(report?.context).toMatchObject({ recordsLive: live.length, held: [] });
  await proveOutcomes(services, scenario);
}

interface Evidence {
  readonly verifier: Verifier;
  readonly keys: BusinessKeys;
  readonly certificates: CertificateHistory;
}

async function openEvidence(services: NodeServices, { business }: Scenario): Promise<Evidence> {
  const { uuid } = business.party;
  const verification = createVerification({
    ...services,
    crypto: nativeCrypto,
    verifyUrl: "https://verify.test",
  });
  const verifier = provenBy(
    createVerifier({
      anchors: services.anchors,
      keySet: JSON.parse(services.keys.keySet()) as JsonValue,
      verify: nativeCrypto.verify,
      sha256: nativeCrypto.sha256,
    }),
  );
  const keys = provenBy(verifier.businessKeys(uuid, bodyOf(await verification.businessKeys(uuid))));
  const envelopes = provenBy(certificateEnvelopes(bodyOf(await verification.certificate(uuid))));
  return { verifier, keys, certificates: provenBy(verifier.certificates(uuid, envelopes)) };
}

function bodyOf(outcome: Outcome): JsonValue {
  if (outcome.kind === "problem") throw new Error(outcome.problem.detail);
  return JSON.parse(String(outcome.body)) as JsonValue;
}

function provenBy<T>(verdict: Verdict<T>): T {
  if (!verdict.ok) throw new Error(`${verdict.code}: ${verdict.detail}`);
  return verdict.value;
}

async function proveRecord(
  services: NodeServices,
  { business }: Scenario,
  { localId, live, generations }: Expectation,
  evidence: Evidence,
): Promise<void> {
  const { uuid } = business.party;
  const recordId = services.recordIdOf(uuid, "products", localId);
  const read = { type: "record.read", record_id: recordId } as const;
  const { head } = await services.actors.ask(businessRef(uuid), read);
  expect(generations, localId).toContain(head?.generation);
  expect(head?.live, localId).toBe(live !== null);
  const served = await services.records.readServed(recordId);
  const hits = await services.index.search({
    collection: "products",
    country: "US",
    text: { words: queryWords(wordOf(localId)), fields: ["product_name"] },
    clauses: [],
    sort: [{ field: "published_at", direction: "asc" }],
    limit: 50,
    excludeBusinesses: [],
  });
  expect(
    hits.map((hit) => hit.record_id),
    localId,
  ).toEqual(live === null ? [] : [recordId]);
  expect(served === null, localId).toBe(live === null);
  if (served === null || live === null) return;
  const { version } = served;
  expect(version.bytes).toEqual(live.bytes);
  expect(version).toMatchObject({
    generation: head?.generation,
    leaf_index: live.leaf,
    seal_id: live.pushId,
  });
  expect(served.head.change, localId).toBe(head?.change);
  expect(hits[0]?.row).toBe(version.row);
  proveOffline(served, evidence, recordId, uuid);
}

function proveOffline(
  { version, seal }: ServedRecord,
  { verifier, keys, certificates }: Evidence,
  recordId: string,
  uuid: string,
): void {
  const hash = hashOf(version.bytes, nativeCrypto.sha256);
  const row = provenBy(verifier.rowSignature(JSON.parse(version.row) as JsonValue));
  expect(row).toMatchObject({ record_id: recordId, business_uuid: uuid, adl_origin: hash });
  provenBy(verifier.projection(row, version.bytes));
  const sidecar = JSON.parse(version.sidecar) as JsonValue;
  const stated = provenBy(verifier.sidecar(sidecar, { record_id: recordId, business_uuid: uuid, hash }));
  expect(stated).toMatchObject({ generation: version.generation });
  const sealed = { bytes: version.bytes, seal: JSON.parse(sealText(version, seal)) as JsonValue };
  const report = provenBy(verifier.seal({ ...sealed, sidecar, certificates, keys }));
  expect(report.sidecar, "the sidecar is about this seal").toMatchObject({ ok: true });
}

/** Outcomes are complete, in leaf order, and consistent with the versions. */
async function proveOutcomes(services: NodeServices, scenario: Scenario): Promise<void> {
  const { uuid } = scenario.business.party;
  const firstOutcomes = await outcomesOf(services, uuid, scenario.first);
  expect(firstOutcomes.every(({ outcome, version }) => outcome === "accepted" && version === 1)).toBe(true);
  const overtaken = [scenario.second, scenario.third].map((batch) => outcomesOf(services, uuid, batch));
  const [second = [], third = []] = await Promise.all(overtaken);
  for (const { leaf_index: leaf, outcome, version, errors } of second) {
    if (outcome === "rejected") {
      // Only a record that was withdrawn in the meantime may be rejected.
      expect([leaf, errors.map((error) => error.code)]).toEqual([5, ["superseded"]]);
    } else expect([outcome, version], String(leaf)).toEqual(leaf < 190 ? ["updated", 2] : ["accepted", 1]);
  }
  expect(third.map(({ outcome, version }) => [outcome, version])).toEqual([
    ["accepted", 2],
    ["rejected", null],
    ["accepted", 1],
  ]);
}

async function outcomesOf(
  services: NodeServices,
  uuid: string,
  batch: ScenarioBatch,
): Promise<readonly PublishOutcome[]> {
  const results: PublishOutcome[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const command = { type: "push.status", outcome: null, from_leaf: from, limit: 100 } as const;
    const report: PushReport = reportOf(await services.actors.ask(pushRef(uuid, batch.push_id), command));
    expect(report.state).toBe("complete");
    results.push(...report.results);
    from = report.next_leaf;
  }
  expect(results.map((result) => result.leaf_index)).toEqual(batch.records.map((_, leaf) => leaf));
  return results;
}

/** Checks after the node was closed: no unfinished work is left, and the two files agree. */
export function proveStored(home: string): void {
  using store = new DatabaseSync(join(home, "store.db"), { readOnly: true });
  using rows = new DatabaseSync(join(home, "rows.db"), { readOnly: true });
  const count = (sql: string): unknown => Object.values(store.prepare(sql).get() ?? {})[0];
  expect(count("SELECT count(*) FROM staged_pack")).toBe(0);
  expect(count("SELECT count(*) FROM staged_document")).toBe(0);
  // Rows of the outbox: effects that were never acknowledged.
  expect(count("SELECT count(*) FROM actor_row WHERE rt = 2")).toBe(0);
  const gaps = `SELECT count(*) FROM record_head h WHERE h.live = 1 AND h.generation <> (
    SELECT count(*) FROM record_version v WHERE v.record_no = h.no AND v.generation BETWEEN 1 AND h.generation)`;
  expect(count(gaps)).toBe(0);
  const heads = store.prepare(
    `SELECT h.record_id, h.change, CASE h.live WHEN 1 THEN v.row END AS row FROM record_head h
     LEFT JOIN record_version v ON v.record_no = h.no AND v.generation = h.generation ORDER BY h.record_id`,
  );
  const indexed = rows.prepare("SELECT record_id, change, row FROM row_entry ORDER BY record_id");
  expect(indexed.all()).toEqual(heads.all());
}

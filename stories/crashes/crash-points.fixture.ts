// What a business does in a crash scenario, step by step, and a node opened on the files that a crash left. For tests.
//   S1. A step may be restarted from any point within it: a caller that got no answer asks again, with the same bytes.
//   S2. What the steps leave at the end does not depend on where they were interrupted; `expectations` says what it is.

import { setImmediate as nextTurn } from "node:timers/promises";
import { sealedRemoval } from "../../actors/facts.fixture.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { publishBody, type SealedBatch } from "../../client/batch.ts";
import { type NodePlatform, type NodeServices, openNodeServices } from "../../node/composition/services.ts";
import { loadConfig } from "../../node/configuration/config.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { jsonOf, product, publish, seal, type TestBusiness } from "../publishing/publishing.fixture.ts";

export async function openCrashedNode(
  home: string,
  platform: NodePlatform = {},
  log: (entry: LogEntry) => void = () => {},
): Promise<NodeServices> {
  const services = await openNodeServices(loadConfig({ home, environment: "sandbox" }, {}), log, platform);
  await services.register.refresh();
  await services.actors.start();
  return services;
}

/** One batch that is sent and resent. */
export interface ScenarioBatch extends SealedBatch {
  readonly idempotencyKey: string;
  readonly records: readonly Uint8Array[];
  readonly body: Uint8Array;
}

export interface Scenario {
  readonly business: TestBusiness;
  /** 450 new records in three chunks. */
  readonly first: ScenarioBatch;
  /** 190 of them again and 60 new ones, in two chunks. */
  readonly second: ScenarioBatch;
  /** A withdrawn record again, a faulty one and a new one, inline. */
  readonly third: ScenarioBatch;
  /** Withdrawn once their records are known: from the second push, from the first, and new in the second. */
  readonly withdrawn: readonly string[];
}

/** The required state of a record at the end. */
export interface Expectation {
  /** The business's own id for the product. */
  readonly localId: string;
  /** The exact bytes and the push of the live version; null for a withdrawn record. */
  readonly live: { readonly bytes: Uint8Array; readonly pushId: string; readonly leaf: number } | null;
  /** The number of published versions: a withdrawal may overtake the second push. */
  readonly generations: readonly number[];
}

const firstRecords = 450;
const updated = 190;
const added = 60;

/** A word that no other product's name contains; digits and letters stay one word in text analysis. */
export function wordOf(localId: string): string {
  return `stone${localId.replace("-", "")}`;
}

const recordOf = (localId: string, note: string): Uint8Array =>
  product(localId, { product_name: `${wordOf(localId)} ${note}` });

const ids = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export async function planScenario(business: TestBusiness, sealedAtMs: number): Promise<Scenario> {
  const batch = async (name: string, seq: number, records: readonly Uint8Array[]): Promise<ScenarioBatch> => {
    const sealed = await seal(business, records, { seq, sealedAtMs });
    const body = publishBody(sealed.batch_seal, records);
    return { ...sealed, idempotencyKey: name, records, body };
  };
  return {
    business,
    first: await batch(
      "first",
      1,
      ids("a", firstRecords).map((id) => recordOf(id, "first")),
    ),
    second: await batch("second", 2, [
      ...ids("a", updated).map((id) => recordOf(id, "second")),
      ...ids("b", added).map((id) => recordOf(id, "second")),
    ]),
    third: await batch("third", 3, [
      recordOf("a-440", "third"),
      product("c-0", { prices: [{ country: "US", currency: "USD", amount: 1 }] }),
      recordOf("c-1", "third"),
    ]),
    withdrawn: ["a-5", "a-440", "b-50"],
  };
}

/** The required final state (S2). */
export function expectations({ first, second, third, withdrawn }: Scenario): readonly Expectation[] {
  const all = new Map<string, Expectation>();
  const put = (localId: string, batch: ScenarioBatch, leaf: number): void => {
    const generations = [(all.get(localId)?.generations[0] ?? 0) + 1];
    const bytes = batch.records[leaf] ?? new Uint8Array();
    all.set(localId, { localId, live: { bytes, pushId: batch.push_id, leaf }, generations });
  };
  for (const [leaf, id] of ids("a", firstRecords).entries()) put(id, first, leaf);
  for (const [leaf, id] of [...ids("a", updated), ...ids("b", added)].entries()) put(id, second, leaf);
  for (const localId of withdrawn) {
    const known = all.get(localId)?.generations ?? [];
    all.set(localId, { localId, live: null, generations: localId === "a-5" ? [1, 2] : known });
  }
  put("a-440", third, 0);
  put("c-1", third, 2);
  return [...all.values()];
}

/** One action of the business; it resolves once the business knows that it is done. */
export type ScenarioStep = (services: NodeServices) => Promise<void>;

export function stepsOf(scenario: Scenario): readonly ScenarioStep[] {
  const { business, first, second, third, withdrawn } = scenario;
  return [
    (services) => send(services, business, first, 202),
    (services) => untilApplied(services, first),
    (services) => send(services, business, second, 202),
    ...withdrawn.map((localId) => (services: NodeServices) => withdraw(services, business, localId)),
    (services) => send(services, business, third, 200),
    (services) => untilApplied(services, second),
    (services) => untilApplied(services, third),
    untilNothingWaits,
  ];
}

async function send(
  services: NodeServices,
  business: TestBusiness,
  batch: ScenarioBatch,
  status: number,
): Promise<void> {
  const { body, idempotencyKey } = batch;
  const answer = jsonOf(await publish(services, business, body, { idempotencyKey }));
  if (answer.status !== status) throw new Error(`Answered ${JSON.stringify(answer)}`);
}

/** No actor is asked here, to show that a push continues on its own. */
export async function untilApplied(services: NodeServices, batch: ScenarioBatch): Promise<void> {
  await until(async () => (await services.records.loadLeaves(batch.push_id, 0, 1)).length === 0);
}

/** No actor has unacknowledged effects, because each of those would soon be due for a wake-up. */
export async function untilNothingWaits({ actorStore, clock }: NodeServices): Promise<void> {
  await until(async () => (await actorStore.dueActors(clock.now() + 60_000, 1)).length === 0);
}

async function withdraw(services: NodeServices, business: TestBusiness, localId: string): Promise<void> {
  const { uuid } = business.party;
  const command = {
    type: "record.remove",
    record_id: services.recordIdOf(uuid, "products", localId),
    action: "withdraw",
    at: new Date(services.clock.now()).toISOString(),
    document_hash: hashOf(utf8(localId)),
    sealed: sealedRemoval,
  } as const;
  await until(async () => {
    const reply = await services.actors.ask(businessRef(uuid), command);
    return reply.status === "removed";
  });
}

/** How long anything may take before it counts as never happening. */
const patienceMs = 30_000;

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`Not within ${patienceMs} ms: ${isSo}`);
    await nextTurn();
  }
}

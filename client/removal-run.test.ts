import { expect, it } from "vitest";
import { SvcProblemError } from "./errors.ts";
import { type RemovalDeps, removeRecords } from "./removal-run.ts";
import { importSigningKey } from "./signer.ts";
import { generatePrivateJwk } from "./signing-key.ts";

const idOf = (index: number): string => `svc_${"a".repeat(24)}${String.fromCharCode(97 + (index % 26))}a`;
const problem = (code: string) =>
  new SvcProblemError({ status: 422, code, detail: "", retryAfterSeconds: null, problem: {} });

/** A service that answers a turn of the event loop later. */
async function createWorld(refuse: (recordId: string, times: number) => string | null = () => null) {
  const key = await importSigningKey(await generatePrivateJwk("Ed25519"));
  const sent: string[] = [];
  const keys = new Set<string>();
  let contexts = 0;
  let open = 0;
  let most = 0;
  const client = {
    sealContext: async () => {
      contexts += 1;
      return { body: { cert_id: `sha256:${"c".repeat(64)}`, ai_policy_version: contexts } };
    },
    remove: async ({ document, idempotencyKey }: { document: Uint8Array; idempotencyKey: string }) => {
      const { record_id } = JSON.parse(new TextDecoder().decode(document)) as { record_id: string };
      sent.push(record_id);
      keys.add(idempotencyKey);
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      const code = refuse(record_id, sent.filter((each) => each === record_id).length);
      if (code !== null) throw problem(code);
      return { body: { record_id, action: "withdraw", live_in: [] } };
    },
  };
  const patience = { now: Date.now, wait: async () => {}, patienceMs: 0, onWaiting: () => {} };
  const deps = { client, key, patience, runId: "run" } as unknown as RemovalDeps;
  return { deps, sent, keys, contexts: () => contexts, most: () => most };
}

const recordIds = Array.from({ length: 26 }, (_, index) => idOf(index));

it("removes each record once, several and at most sixteen at a time, and reads the seal context once", async () => {
  const world = await createWorld();
  const removed: string[] = [];
  await removeRecords(world.deps, { recordIds, action: "withdraw" }, ({ record_id }) =>
    removed.push(record_id),
  );
  expect(removed.toSorted()).toEqual(recordIds);
  expect(world.sent).toHaveLength(26);
  expect([world.contexts(), world.keys.size]).toEqual([1, 26]);
  expect(world.most()).toBeGreaterThan(1);
  expect(world.most()).toBeLessThanOrEqual(16);
});

it("seals again by what is in force when a seal was refused, once", async () => {
  const world = await createWorld((id, times) => (id === idOf(3) && times === 1 ? "seal_invalid" : null));
  await removeRecords(world.deps, { recordIds, action: "withdraw" });
  expect([world.sent.length, world.contexts(), world.keys.size]).toEqual([27, 2, 27]);
  const broken = await createWorld((id) => (id === idOf(0) ? "seal_invalid" : null));
  await expect(removeRecords(broken.deps, { recordIds, action: "withdraw" })).rejects.toMatchObject({
    code: "seal_invalid",
  });
});

it("stops at the first error, once what is under way was answered", async () => {
  const world = await createWorld((id) => (id === idOf(2) ? "rate_limited" : null));
  const removed: string[] = [];
  await expect(
    removeRecords(world.deps, { recordIds, action: "withdraw" }, ({ record_id }) => removed.push(record_id)),
  ).rejects.toMatchObject({ code: "rate_limited" });
  expect(removed.length).toBe(world.sent.length - 1);
  expect(world.sent.length).toBeLessThan(26);
});

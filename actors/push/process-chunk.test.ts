import { describe, expect, it } from "vitest";
import type { Signer } from "../../crypto/port.ts";
import { sha256 } from "../../protocol/bytes.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { buildTree, leafHash } from "../../protocol/merkle.ts";
import { noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { PackedMessages } from "../../protocol/signed-version.ts";
import type { Tracer } from "../../std/tracing.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { ActivityContext } from "../system/definition.ts";
import { pushActivities } from "./activities.ts";

const record = canonicalBytes({ ...sampleRecords.products });
const signer = part<Signer>({
  keyId: "k",
  signMany: async ({ ends }: PackedMessages) => [...ends].map(() => new Uint8Array(64)),
});

interface Told {
  readonly region: string;
  readonly workId: string;
  /** How long to wait for its answer; null to wait as long as the system does. */
  readonly waitMs: number | null;
}

/** The push's activities, with a region `us-east1` that confirms nothing, and the notifications that regions received. */
function activitiesOf(
  stored: string[],
  leaves: readonly Uint8Array[] = [record],
  tracer?: Tracer,
  /** The leaves that the business gives a generation. */
  given: readonly number[] = [0],
  fallen?: { readonly code: string; readonly detail: string },
) {
  const told: Told[] = [];
  const tree = buildTree(
    leaves.map((leaf) => leafHash(leaf, sha256)),
    sha256,
  );
  const activities = pushActivities({
    records: part({
      putVersions: async () => void stored.push("stored"),
    }),
    crypto: part({ sha256 }),
    projection: () => signer,
    sidecar: () => signer,
    leaves: { load: async () => leaves, tree: async () => tree, drop: () => {} },
    planOf: async () => [],
    paces: { inline: () => () => null, queued: () => () => null },
    parsed: { take: () => undefined, note: () => {}, drop: () => {} },
    recordIdOf: (_business: string, _collection: string, id: string) => `svc_${id}`,
    lists: { protectedNames: [], exemptNames: [], blockedHosts: [], certified: noCertifiedNames },
    region: "eu-west1",
    regions: () => ["eu-west1", "us-east1"],
    tracer,
  });
  const ask = async (
    to: ActorRef,
    message: { readonly work_id: string; readonly type: string; readonly outcomes?: unknown },
    options?: { readonly timeoutMs?: number },
  ) => {
    if (message.type === "chunk.reject") stored.push(`rejected ${JSON.stringify(message.outcomes)}`);
    if (to.kind === "push") return { references: [{ record_id: "svc_p", generation: 1 }] };
    if (to.kind !== "region") {
      if (fallen !== undefined) return { assigned_at_ms: 0, assignments: [], fallen };
      const assigned = { record_id: "svc_p", outcome: "accepted", generation: 1, change: 1 };
      return { assigned_at_ms: 0, assignments: given.map((leaf_index) => ({ leaf_index, ...assigned })) };
    }
    const { work_id } = message;
    told.push({ region: to.id, workId: work_id, waitMs: options?.timeoutMs ?? null });
    if (to.id === "us-east1") throw new Error("actor unavailable: timeout");
    return { status: "applied", stale: 0 };
  };
  const actor = { kind: "push", id: "u.bat_0" };
  // Each look at the clock is a millisecond later than the one before.
  let lookedAtMs = 0;
  const nowMs = (): number => {
    lookedAtMs += 1;
    return lookedAtMs;
  };
  const context = part<ActivityContext>({ actor, workId: "push/u.bat_0#1", ask: rubbish(ask), nowMs });
  const run = async (name: string, params: object) => activities[name]?.(params, context);
  return { told, run };
}

const factsOf = (mode: string) => ({
  push_id: "bat_0",
  business_uuid: "u",
  collection: "products",
  records: 1,
  mandates: null,
  path: "A",
  mode,
  cert_id: "c",
  own_names: [],
});

describe("a chunk whose rows a region's index does not confirm", () => {
  it("of an inline push is settled after two seconds at most, stored, and that region named (C2, C3)", async () => {
    const stored: string[] = [];
    const { told, run } = activitiesOf(stored);
    expect(await run("processChunk", { facts: factsOf("inline"), chunk: 0 })).toMatchObject({
      type: "chunk.settle",
      outcomes: [{ outcome: "accepted", version: 1 }],
      unindexed: ["us-east1"],
    });
    expect(stored).toEqual(["stored"]);
    expect(told.map(({ region, waitMs }) => [region, waitMs])).toEqual([
      ["eu-west1", 2_000],
      ["us-east1", 2_000],
    ]);
  });

  it("of a queued push waits for it as long as any answer is waited for: nobody waits for that", async () => {
    const { told, run } = activitiesOf([]);
    await run("processChunk", { facts: factsOf("queued"), chunk: 0 });
    expect(told.map(({ waitMs }) => waitMs)).toEqual([null, null]);
  });

  it("is told again under the name of the work that may still be under way there", async () => {
    const { told, run } = activitiesOf([]);
    await run("processChunk", { facts: factsOf("inline"), chunk: 0 });
    const again = run("indexChunk", { collection: "products", chunk: 0, region: "us-east1" });
    await expect(again).rejects.toThrow("The index of region us-east1 is unavailable.");
    expect(told.at(-1)).toEqual({ region: "us-east1", workId: told[1]?.workId, waitMs: null });
  });
});

describe("a chunk with a record that is rejected", () => {
  const faulty = canonicalBytes({ ...sampleRecords.products, prices: [] });

  it("has that committed with its reasons before anything of it is stored (C5)", async () => {
    const stored: string[] = [];
    const { run } = activitiesOf(stored, [record, faulty]);
    await run("processChunk", { facts: { ...factsOf("queued"), records: 2 }, chunk: 0 });
    expect(stored).toEqual([expect.stringMatching(/^rejected .*member_missing/), "stored"]);
  });
});

describe("a chunk of a push whose seal does not stand any more", () => {
  it.each(["inline", "queued"])(
    "ends the %s push with the reason, and nothing of it is stored",
    async (mode) => {
      const stored: string[] = [];
      const fallen = { code: "key_compromised", detail: "The key is compromised." };
      const { run } = activitiesOf(stored, [record], undefined, [], fallen);
      expect(await run("processChunk", { facts: factsOf(mode), chunk: 0 })).toEqual({
        type: "push.fail",
        ...fallen,
      });
      expect(stored).toEqual([]);
    },
  );
});

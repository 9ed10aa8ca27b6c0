import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { dose } from "../tools/test-dose.ts";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";
import { type PushDeps, type PushEvent, PushMismatchError, runPush } from "./push-run.ts";
import { createModelService, type ModelService } from "./push-service.fixture.ts";
import type { PushState } from "./push-state.ts";
import { type RecordSet, recordSet } from "./record-set.ts";
import { generatePrivateJwk, parseSigningKey, type SigningKey } from "./signing-key.ts";

let key: SigningKey;
beforeAll(async () => {
  const parsed = await parseSigningKey(await generatePrivateJwk("Ed25519"));
  if (!parsed.ok) throw new Error(parsed.detail);
  key = parsed.value;
});

class Killed extends Error {}

/** A world with one file of records, a durable journal and a service, in which a process can be killed at any step. */
function createWorld(records: number, recordsPerBatch?: number, hashed?: RecordSet) {
  let nowMs = 1_700_000_000_000;
  let stepsLeft = Number.POSITIVE_INFINITY;
  let kept: string | null = null;
  const service = createModelService(() => nowMs);
  const events: PushEvent[] = [];
  /** The process may end just before or just after each effect. */
  const step = (): void => {
    stepsLeft -= 1;
    if (stepsLeft < 0) throw new Killed();
  };
  const around = async <T>(effect: () => Promise<T>): Promise<T> => {
    step();
    const result = await effect();
    step();
    return result;
  };
  const deps: PushDeps = {
    client: {
      sealContext: () => around(() => service.client.sealContext()),
      publishProducts: (request) => around(() => service.client.publishProducts(request)),
      pushStatus: (id, page) => around(() => service.client.pushStatus(id, page)),
      requestUpload: (request) => around(() => service.client.requestUpload(request)),
      sendFile: (upload, file) => around(() => service.client.sendFile(upload, file)),
      importFile: (request) => around(() => service.client.importFile(request)),
    },
    key,
    journal: {
      load: async () => (kept === null ? null : (JSON.parse(kept) as PushState)),
      save: (state) =>
        around(async () => {
          kept = JSON.stringify(state);
        }),
    },
    now: () => nowMs,
    wait: async (delayMs) => {
      nowMs += delayMs;
    },
    patienceMs: 60_000,
    runId: "run",
    ...(recordsPerBatch === undefined ? {} : { recordsPerBatch }),
    onEvent: (event) => events.push(event),
  };
  const texts = Array.from({ length: records }, (_, index) => `{"n":${index}}`);
  const bytes = texts.map((text) => new TextEncoder().encode(text));
  return {
    service,
    deps,
    texts,
    bytes,
    events,
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** Runs until killed after `steps` steps. Returns true if it ran to completion. */
    run: async (steps = Number.POSITIVE_INFINITY): Promise<boolean> => {
      stepsLeft = steps;
      try {
        await runPush(deps, hashed ?? bytes);
        return true;
      } catch (error) {
        if (error instanceof Killed) return false;
        throw error;
      }
    },
  };
}

function expectEachOnce(service: ModelService, texts: readonly string[]): void {
  expect(service.published.size).toBe(texts.length);
  expect([...service.published.values()].every((times) => times === 1)).toBe(true);
}

describe("a push that is killed and run again", () => {
  it("publishes every record once, wherever it was killed and however long it lay", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 900 }),
        fc.integer({ min: 1, max: 300 }),
        fc.array(
          fc.record({ steps: fc.nat({ max: 40 }), restMs: fc.constantFrom(0, 60_000, 400_000, 4_000_000) }),
          { maxLength: 8 },
        ),
        async (records, recordsPerBatch, kills) => {
          const world = createWorld(records, Math.max(recordsPerBatch, Math.ceil(records / 8)));
          for (const { steps, restMs } of kills) {
            await world.run(steps);
            world.pass(restMs);
          }
          expect(await world.run()).toBe(true);
          expectEachOnce(world.service, world.texts);
          expect(world.service.accepted).toHaveLength(new Set(world.service.accepted).size);
        },
      ),
      { numRuns: dose(60) },
    );
  });

  it("can be killed after every single step", async () => {
    const count = 450;
    for (let steps = 0; ; steps += 1) {
      const world = createWorld(count, 200);
      const ended = await world.run(steps);
      world.pass(steps % 2 === 0 ? 0 : 400_000);
      if (!ended) expect(await world.run()).toBe(true);
      expectEachOnce(world.service, world.texts);
      expect(world.service.accepted).toHaveLength(3);
      if (ended) return;
    }
  });
});

describe("a push", () => {
  it("sends nothing once everything is published", async () => {
    const world = createWorld(450, 200);
    await world.run();
    expect(await world.run(0)).toBe(true);
    expect(world.events.at(-1)).toEqual({
      type: "push.opened",
      records: 450,
      batches: 3,
      settled_batches: 3,
      settled_records: 450,
    });
  });

  it("refuses a state that belongs to other records", async () => {
    const world = createWorld(10, 5);
    await world.run();
    const [first, ...others] = world.bytes;
    await expect(runPush(world.deps, [...others, first as Uint8Array])).rejects.toThrow(PushMismatchError);
  });

  it("seals anew what the service refused because its standing changed", async () => {
    const world = createWorld(100, 50);
    // Killed after the first seal was saved and before it was sent.
    await world.run(6);
    expect(world.service.accepted).toEqual([]);
    world.service.aiPolicyVersion = 2;
    world.service.certId = `sha256:${"d".repeat(64)}`;
    expect(await world.run()).toBe(true);
    expectEachOnce(world.service, world.texts);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "batch.sealed", batch: 0, sealed_again: true }),
    );
  });

  it("goes on from the last seq that was accepted of its key, whatever the clock says", async () => {
    const world = createWorld(100, 50);
    const ahead = world.deps.now() + 9_000_000;
    world.service.seqs.push(ahead);
    expect(await world.run()).toBe(true);
    expect(world.service.seqs).toEqual([ahead, ahead + 1, ahead + 2]);
    expectEachOnce(world.service, world.texts);
  });

  it("counts the seq of a new key from 1: no clock is in it", async () => {
    const world = createWorld(10, 5);
    await runPush(world.deps, world.bytes);
    expect(world.service.seqs).toEqual([1, 2]);
  });

  it("seals again while other pushes of its key take its seq, and not where no greater one exists", async () => {
    const world = createWorld(10, 10);
    let others = 12;
    const { publishProducts } = world.service.client;
    const client: PushDeps["client"] = {
      ...world.deps.client,
      publishProducts: async (request) => {
        if (others > 0) world.service.seqs.push(world.deps.now() + 1_000 - others);
        others -= 1;
        return await publishProducts(request);
      },
    };
    await runPush({ ...world.deps, client }, world.bytes);
    expectEachOnce(world.service, world.texts);
    const last = createWorld(10, 10);
    last.service.seqs.push(Number.MAX_SAFE_INTEGER);
    await expect(runPush(last.deps, last.bytes)).rejects.toMatchObject({ code: "seq_not_increasing" });
    expect(last.events.filter(({ type }) => type === "batch.sealed")).toHaveLength(1);
  });

  it("gives up on a seal that is refused again and again", async () => {
    const world = createWorld(10, 10);
    const deps: PushDeps = {
      ...world.deps,
      client: {
        ...world.deps.client,
        publishProducts: async () => {
          throw new SvcProblemError({
            status: 422,
            code: "seal_invalid",
            detail: "No.",
            retryAfterSeconds: null,
            problem: {},
          });
        },
      },
    };
    await expect(runPush(deps, world.bytes)).rejects.toMatchObject({ code: "seal_invalid" });
  });

  it("waits for a service that is away, resending exactly, and gives up when its patience ends", async () => {
    const world = createWorld(120, 60);
    let away = 3;
    const client: PushDeps["client"] = {
      ...world.deps.client,
      publishProducts: async (request) => {
        const answer = await world.service.client.publishProducts(request);
        away -= 1;
        if (away >= 0) throw new SvcConnectionError("gave no answer", { effect: "unknown", cause: null });
        return answer;
      },
    };
    await runPush({ ...world.deps, client }, world.bytes);
    expectEachOnce(world.service, world.texts);
    expect(world.events.filter((event) => event.type === "waiting")).toHaveLength(3);
    const gone = createWorld(5, 5);
    const never: PushDeps["client"] = {
      ...gone.deps.client,
      publishProducts: async () => {
        throw new SvcConnectionError("cannot be reached", { effect: "not_applied", cause: null });
      },
    };
    await expect(runPush({ ...gone.deps, client: never }, gone.bytes)).rejects.toThrow(SvcConnectionError);
    expect(await gone.run()).toBe(true);
    expectEachOnce(gone.service, gone.texts);
  });

  it("tells which records were rejected", async () => {
    const world = createWorld(450, 200);
    for (const index of [0, 399]) world.service.rejects.add(world.texts[index] ?? "");
    const state = await runPush(world.deps, world.bytes);
    const faults = state.batches.flatMap((batch) =>
      (batch.result?.faults ?? []).map((fault) => batch.first + fault.leaf_index),
    );
    expect(faults).toEqual([0, 399]);
    expect(state.batches.map((batch) => batch.result?.rejected)).toEqual([1, 1, 0]);
  });

  it("asks again about a batch that is held", async () => {
    const world = createWorld(60, 60);
    world.service.holds = true;
    const state = await runPush(world.deps, world.bytes);
    expect(state.batches[0]?.result).toMatchObject({ state: "held", reasons: [{ code: "price_changes" }] });
    const again = await runPush(world.deps, world.bytes);
    expect(again.batches[0]?.result?.state).toBe("held");
    expect(world.service.accepted).toHaveLength(1);
  });
});

describe("a push of more records than a batch may have", () => {
  const count = 10_001;
  // Hashed once for all of these tests.
  const hashed = recordSet(createWorld(count).bytes);

  it("is one bulk file, uploaded before it is sealed", async () => {
    const world = createWorld(count, undefined, hashed);
    expect(await world.run()).toBe(true);
    expectEachOnce(world.service, world.texts);
    expect(world.service.imported).toHaveLength(1);
    expect(world.events.map(({ type }) => type).slice(0, 5)).toEqual([
      "push.opened",
      "batch.uploading",
      "batch.uploaded",
      "batch.sealed",
      "batch.sent",
    ]);
  });

  it("can be killed after every single step, and is imported once", async () => {
    for (let steps = 0; ; steps += 1) {
      const world = createWorld(count, undefined, hashed);
      const ended = await world.run(steps);
      world.pass(steps % 2 === 0 ? 0 : 400_000);
      if (!ended) expect(await world.run()).toBe(true);
      expectEachOnce(world.service, world.texts);
      expect(world.service.imported).toHaveLength(1);
      // All that matters happens before the chunks settle.
      if (ended || steps > 16) return;
    }
  });

  it("is uploaded again when the service no longer has the file", async () => {
    const world = createWorld(count, undefined, hashed);
    await world.run(7);
    world.service.uploads.clear();
    expect(await world.run()).toBe(true);
    expectEachOnce(world.service, world.texts);
  });

  it("is sent again when an answer was lost, and under another upload once the service has something of the first", async () => {
    const world = createWorld(count, undefined, hashed);
    const { sendFile } = world.deps.client;
    if (sendFile === undefined) throw new Error("The world has no bulk routes.");
    const refusal = { status: 409, detail: "", retryAfterSeconds: null, problem: {} };
    const failures: Error[] = [
      new SvcConnectionError("lost", { effect: "unknown", cause: null }),
      new SvcProblemError({ ...refusal, code: "upload_conflict" }),
    ];
    const client = {
      ...world.deps.client,
      sendFile: async (...request: Parameters<typeof sendFile>) => {
        const file = await sendFile(...request);
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return file;
      },
    };
    await runPush({ ...world.deps, client }, world.bytes);
    expectEachOnce(world.service, world.texts);
    expect(failures).toEqual([]);
    expect(world.service.imported).toEqual([`bup_${"2".padStart(24, "0")}`]);
  });

  it("asks for one upload, however long files cannot be taken", async () => {
    const world = createWorld(count, undefined, hashed);
    const { sendFile } = world.deps.client;
    if (sendFile === undefined) throw new Error("The world has no bulk routes.");
    const unavailable = { status: 503, code: "unavailable", detail: "", retryAfterSeconds: 1, problem: {} };
    let left = 10;
    const client = {
      ...world.deps.client,
      sendFile: async (...request: Parameters<typeof sendFile>) => {
        left -= 1;
        if (left >= 0) throw new SvcProblemError(unavailable);
        return sendFile(...request);
      },
    };
    await runPush({ ...world.deps, client }, world.bytes);
    expect(left).toBe(-1);
    expect(world.service.imported).toEqual([`bup_${"1".padStart(24, "0")}`]);
  });

  it("becomes batches where bulk files are not offered", async () => {
    const world = createWorld(count, undefined, hashed);
    world.service.offersBulk = false;
    expect(await world.run()).toBe(true);
    expectEachOnce(world.service, world.texts);
    expect(world.service.accepted).toHaveLength(2);
    expect(world.service.uploads.size).toBe(0);
  });
});

import { beforeEach, describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../../actors/actor.fixture.ts";
import { integrationKeyActor } from "../../actors/integration-key/definition.ts";
import type { IntegrationKeyCommand } from "../../actors/messages/integration-key.ts";
import { keyRef } from "../../actors/messages/refs.ts";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import type { CryptoPort } from "../../crypto/port.ts";
import { problem, problemCodes } from "../../protocol/problem.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { answerJson, type Outcome, refused } from "../answer.ts";
import { answerOnce } from "./idempotency.ts";

let time: ManualTime;
let actor: ActorHarness;
let tokens: number;
/** Whether the key's actor can be reached. */
let isReachable: boolean;
let asked: IntegrationKeyCommand[];

beforeEach(() => {
  time = new ManualTime();
  actor = driveActor(integrationKeyActor, "key");
  tokens = 0;
  isReachable = true;
  asked = [];
});

/** A node that answers requests until it dies. */
function openNode() {
  let isAlive = true;
  const never = new Promise<never>(() => {});
  const deps = {
    clock: { now: () => time.now() },
    actors: {
      ask: async (_to: unknown, command: IntegrationKeyCommand) => {
        if (!isAlive) return never;
        asked.push(command);
        if (!isReachable) throw new Error("actor unavailable: restarting");
        actor.nowMs = time.now();
        return actor.send(rubbish(command));
      },
    },
    crypto: part<CryptoPort>({
      randomBytes: (length) => {
        tokens += 1;
        return new Uint8Array(length).fill(tokens);
      },
    }),
    timers: { schedule: (ms: number, run: () => void) => time.schedule(ms, () => isAlive && run()) },
  };
  const request = (
    answer: () => Outcome | Promise<Outcome>,
    { digest = "d", replayed = () => {} }: { digest?: string; replayed?: () => void } = {},
  ) => {
    const key = keyRef("party", "key");
    return answerOnce(
      { ...deps, actors: part({ ask: rubbish(deps.actors.ask) }) },
      { key, scope: "s", digest, replayed },
      async () => answer(),
    );
  };
  return {
    request,
    /** The refusal of the request, or its status. */
    codeOf: async (...args: Parameters<typeof request>) => {
      const outcome = await request(...args);
      return outcome.kind === "problem" ? outcome.problem.code : outcome.status;
    },
    die: () => {
      isAlive = false;
    },
  };
}

const done = (told = "first"): Outcome => answerJson(200, { told });
const another = { digest: "e" };

/** A request that stays in progress until `finish`. */
function underWay(node: ReturnType<typeof openNode>) {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  return { answered: node.request(() => promise), finish: () => resolve(done()) };
}

describe("a request that is under way for long (I2)", () => {
  it("is told when to come again, in the document as in the header", async () => {
    underWay(openNode());
    expect(await openNode().request(done)).toMatchObject({
      problem: { code: "idempotency_in_progress", retry_after_seconds: 1 },
      headers: { "retry-after": "1" },
    });
  });

  it.each([6_000, 60_000, 300_000])("of %i ms holds its Idempotency-Key all the while", async (ms) => {
    const [node, other] = [openNode(), openNode()];
    const { answered, finish } = underWay(node);
    for (let passed = 0; passed < ms; passed += 1_000) {
      await time.advance(1_000);
      expect(await other.codeOf(() => done("second"))).toBe("idempotency_in_progress");
      expect(await other.codeOf(done, another)).toBe("idempotency_key_reused");
    }
    finish();
    const first = await answered;
    expect(await other.request(() => done("second"))).toEqual(first);
    expect(await other.codeOf(done, another)).toBe("idempotency_key_reused");
  });

  it("renews its claim no more once it is answered, nor ten minutes after it began", async () => {
    const node = openNode();
    const { answered, finish } = underWay(node);
    await time.advance(5_000);
    expect(asked).toHaveLength(3);
    finish();
    await answered;
    const after = asked.length;
    await time.advance(60_000);
    expect(asked).toHaveLength(after);
    actor = driveActor(integrationKeyActor, "key");
    asked = [];
    underWay(node);
    await time.advance(3_600_000);
    expect(asked).toHaveLength(301);
  });

  it("keeps its claim although one renewal is lost", async () => {
    const node = openNode();
    underWay(node);
    await time.advance(1_900);
    isReachable = false;
    await time.advance(200);
    isReachable = true;
    await time.advance(3_800);
    expect(await openNode().codeOf(done)).toBe("idempotency_in_progress");
    await time.advance(60_000);
    expect(await openNode().codeOf(done)).toBe("idempotency_in_progress");
  });
});

describe("a worker that died", () => {
  it("holds its key for six seconds at most; then the same request goes on, and no other for 24 hours", async () => {
    const [node, other] = [openNode(), openNode()];
    underWay(node);
    await time.advance(3_000);
    node.die();
    await time.advance(4_999);
    expect(await other.codeOf(done)).toBe("idempotency_in_progress");
    await time.advance(1);
    expect(await other.codeOf(done, another)).toBe("idempotency_key_reused");
    const second = await other.request(() => done("second"));
    expect(await openNode().request(done)).toEqual(second);
    await time.advance(86_399_999);
    expect(await other.codeOf(done, another)).toBe("idempotency_key_reused");
    await time.advance(1);
    expect(await other.codeOf(done, another)).toBe(200);
  });

  it("with its node, which has the key's actor too, holds nothing: the claim dies with the activation", async () => {
    const node = openNode();
    underWay(node);
    node.die();
    actor.epoch += 1;
    const restarted = openNode();
    expect(await restarted.codeOf(done, another)).toBe("idempotency_key_reused");
    expect(await restarted.codeOf(done)).toBe(200);
  });
});

describe("several nodes", () => {
  it("one of which loses the key's actor to another: the worker's claim lives on there", async () => {
    const [node, other] = [openNode(), openNode()];
    const { answered, finish } = underWay(node);
    actor.epoch += 1;
    await time.advance(2_000);
    expect(await other.codeOf(done)).toBe("idempotency_in_progress");
    finish();
    const first = await answered;
    expect(await other.request(done)).toEqual(first);
  });

  it("that work on one request, since one of them stood still, keep the first answer", async () => {
    const [slow, other] = [openNode(), openNode()];
    const late = Promise.withResolvers<Outcome>();
    const first = slow.request(() => late.promise);
    await time.advance(1_000);
    isReachable = false;
    await time.advance(9_000);
    isReachable = true;
    const second = await other.request(() => done("second"));
    late.resolve(done("late"));
    expect((await first).kind).toBe("answer");
    expect(await openNode().request(done)).toEqual(second);
  });
});

describe("an answer", () => {
  const final: ReadonlySet<string> = new Set([
    "request_invalid",
    "record_too_large",
    "media_type_unsupported",
    "type_not_publishable",
  ]);

  it("that refuses by what the service knows now is not kept, and leaves the key free (I1)", async () => {
    for (const code of Object.keys(problemCodes)) {
      if (final.has(code)) continue;
      const node = openNode();
      const passing = refused(problem(rubbish(code), "Not now."));
      expect(await node.request(() => passing)).toEqual(passing);
      expect([code, await node.codeOf(done, another)]).toEqual([code, 200]);
      actor = driveActor(integrationKeyActor, "key");
    }
  });

  it.each([...final])("that refuses the request as such is kept: %s (I1)", async (code) => {
    const node = openNode();
    const refusal = problem(rubbish(code), "Never.");
    await node.request(() => refused(refusal));
    expect(await node.codeOf(done)).toBe(refusal.status);
    expect(await node.codeOf(done, another)).toBe("idempotency_key_reused");
  });

  it("that throws leaves the key free", async () => {
    const node = openNode();
    const failing = node.request(() => Promise.reject(new Error("no store")));
    await expect(failing).rejects.toThrow("no store");
    expect(await node.codeOf(done)).toBe(200);
  });

  it("that is replayed is told of", async () => {
    const node = openNode();
    let replays = 0;
    const replayed = () => {
      replays += 1;
    };
    await node.request(done, { replayed });
    expect(replays).toBe(0);
    await node.request(done, { replayed });
    expect(replays).toBe(1);
  });
});

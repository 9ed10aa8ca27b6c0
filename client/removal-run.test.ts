import { describe, expect, it } from "vitest";
import { type ProblemCode, problem } from "../protocol/problem.ts";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";
import { type RemovalDeps, removeRecords } from "./removal.ts";
import { importSigningKey } from "./sign-request.ts";
import { generatePrivateJwk } from "./signing-key.ts";

const letter = (index: number): string => String.fromCharCode(97 + (index % 26));
const idOf = (index: number): string =>
  `svc_${"a".repeat(23)}${letter(Math.floor(index / 26))}${letter(index)}a`;

type Refuse = (recordId: string, times: number) => ProblemCode | null;

/** A service that answers a turn of the event loop later; `lost` are the requests whose answer does not arrive. */
async function createWorld(refuse: Refuse = () => null, lost: readonly number[] = []) {
  const key = await importSigningKey(await generatePrivateJwk("Ed25519"));
  const [sent, requests, waits]: [string[], { key: string; body: string }[], string[]] = [[], [], []];
  let contexts = 0;
  let open = 0;
  let most = 0;
  const answer = async (documents: readonly Uint8Array[], idempotencyKey: string, body: string) => {
    requests.push({ key: idempotencyKey, body });
    const request = requests.length;
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    if (lost.includes(request)) throw new SvcConnectionError("lost", { effect: "unknown", cause: null });
    return documents.map((document) => {
      const { record_id, action } = JSON.parse(new TextDecoder().decode(document)) as Record<string, string>;
      sent.push(record_id ?? "");
      const code = refuse(record_id ?? "", sent.filter((each) => each === record_id).length);
      return code === null ? { record_id, action, live_in: [] } : { problem: problem(code, "") };
    });
  };
  const client = {
    sealContext: async () => {
      contexts += 1;
      return { body: { cert_id: `sha256:${"c".repeat(64)}`, ai_policy_version: contexts } };
    },
    remove: async ({ document, idempotencyKey }: { document: Uint8Array; idempotencyKey: string }) => {
      const [body] = await answer([document], idempotencyKey, "");
      if (body?.problem === undefined) return { body };
      const { status, code, detail } = body.problem;
      throw new SvcProblemError({ status, code, detail, retryAfterSeconds: null, problem: {} });
    },
    withdraw: async (request: { withdrawals: { document: Uint8Array }[]; idempotencyKey: string }) => {
      const documents = request.withdrawals.map(({ document }) => document);
      const results = await answer(documents, request.idempotencyKey, JSON.stringify(request.withdrawals));
      return { body: { results } };
    },
  };
  const onWaiting = ({ error }: { error: Error }): void => void waits.push(error.message);
  const patience = { now: Date.now, wait: async () => {}, patienceMs: 60_000, onWaiting };
  const deps = { client, key, patience, runId: "run" } as unknown as RemovalDeps;
  const remove = async (recordIds: readonly string[], action: "withdraw" | "delete" = "withdraw") => {
    const removed: string[] = [];
    const run = removeRecords(deps, { recordIds, action }, ({ record_id }) => removed.push(record_id));
    return { error: await run.then(() => null).catch((error: unknown) => error), removed };
  };
  return { remove, sent, requests, waits, contexts: () => contexts, most: () => most };
}

const many = Array.from({ length: 420 }, (_, index) => idOf(index));

describe("many withdrawals", () => {
  it("are sent by the fifty, several and at most four requests at a time, under one seal context", async () => {
    const world = await createWorld();
    const { removed, error } = await world.remove(many);
    expect([error, removed.toSorted()]).toEqual([null, many.toSorted()]);
    expect(world.sent).toHaveLength(420);
    expect(world.requests).toHaveLength(9);
    expect([world.contexts(), new Set(world.requests.map(({ key }) => key)).size]).toEqual([1, 9]);
    expect(world.most()).toBeGreaterThan(1);
    expect(world.most()).toBeLessThanOrEqual(4);
  });

  it("are sealed again by what is in force where a seal was refused, once, and the others are not sent again", async () => {
    const world = await createWorld((id, times) => (id === idOf(3) && times === 1 ? "seal_invalid" : null));
    const { removed, error } = await world.remove(many.slice(0, 20));
    expect([error, removed.length]).toEqual([null, 20]);
    expect([world.sent.length, world.contexts()]).toEqual([21, 2]);
    const broken = await createWorld((id) => (id === idOf(0) ? "seal_invalid" : null));
    expect(await broken.remove(many.slice(0, 20))).toMatchObject({ error: { code: "seal_invalid" } });
    expect(broken.sent).toHaveLength(21);
  });

  it("are sent again exactly as they were where an answer is lost", async () => {
    const world = await createWorld(() => null, [1]);
    const { removed, error } = await world.remove(many.slice(0, 20));
    expect([error, removed.length]).toEqual([null, 20]);
    expect(world.requests).toHaveLength(2);
    expect(world.requests[1]).toEqual(world.requests[0]);
  });

  it("wait for what is refused for now, and go on under another key", async () => {
    const world = await createWorld((id, times) => (id === idOf(7) && times < 3 ? "rate_limited" : null));
    const { removed, error } = await world.remove(many.slice(0, 20));
    expect([error, removed.length, world.sent.length]).toEqual([null, 20, 22]);
    expect(new Set(world.requests.map(({ key }) => key)).size).toBe(3);
    expect(world.waits).toHaveLength(2);
  });

  it("stop at the first error, once what is under way was answered", async () => {
    let first: string | null = null;
    // Whichever request is sealed first.
    const world = await createWorld((id) => {
      first ??= id;
      return id === first ? "not_found" : null;
    });
    const { removed, error } = await world.remove(many);
    expect(error).toMatchObject({ code: "not_found" });
    expect(removed).toHaveLength(world.sent.length - 1);
    expect(world.sent.length).toBeLessThan(many.length);
  });
});

it("one removal, and each deletion, is a request of its own, and sealed again once", async () => {
  const world = await createWorld((_, times) => (times === 1 ? "seal_invalid" : null));
  expect(await world.remove([idOf(1)])).toEqual({ error: null, removed: [idOf(1)] });
  expect(world.requests.map(({ key }) => key)).toEqual([
    `withdraw.${idOf(1)}.run`,
    `withdraw.${idOf(1)}.run.again`,
  ]);
  const { removed } = await world.remove(many.slice(30, 34), "delete");
  expect(removed).toHaveLength(4);
  expect(world.requests).toHaveLength(10);
});

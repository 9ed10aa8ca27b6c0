// A journal that a running node gives out starts a simulation.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { authorization, noInspection, openOps } from "../../ops/ops.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { parseJournal } from "../../sim/parse-journal.ts";
import { storeWith } from "../../storage/actor-store.ts";
import { product, type TestBusiness } from "../../stories/publishing/publishing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../../stories/retrieval/attack.fixture.ts";
import { runNode } from "../../tools/process.ts";
import { createJournalExport } from "./journal-export.ts";

let node: AttackNode;
let business: TestBusiness;
let push = "";

beforeAll(async () => {
  node = await openAttackNode();
  business = await newBusiness(node);
  for (let seq = 1; seq <= 3; seq += 1) {
    const records = Array.from({ length: 6 }, (_, index) => product(`shoe-${index % (3 * seq)}-${seq % 2}`));
    const { body, pushId } = await batchBody(business, records, { seq });
    await publishOver(node, business, body);
    await awaitPush(node, business, pushId);
    push = `${business.party.uuid}.${pushId}`;
  }
});
afterAll(() => node.close());

async function ask(path: string, isActing = true) {
  const token = (await readFile(`${node.running.config.home}/ops-token`, "utf8")).trim();
  const headers = isActing ? { authorization: signedIn(token) } : {};
  const answer = await contractFetch(`${node.running.urls.ops_url}${path}`, { headers });
  return { status: answer.status, text: await answer.text() };
}

describe("the journal of an actor over the operators' surface", () => {
  it("is that of its business, with its keys and pushes alone, and starts a simulation", async () => {
    const { status, text } = await ask(`/ops/actors/push/${push}/export`);
    expect(status, text).toBe(200);
    const start = parseJournal(text);
    const { uuid } = business.party;
    expect(start.actors.map(({ kind }) => kind).sort()).toEqual([
      "business",
      "integration-key",
      "push",
      "push",
      "push",
    ]);
    expect(start.actors.every(({ id }) => id === uuid || id.startsWith(`${uuid}.`))).toBe(true);
    expect(text).not.toContain('\\"d\\":');
    // The simulator has a process of its own: nothing of this one may run while its world does.
    const file = join(node.running.config.home, "journal.ndjson");
    await writeFile(file, text);
    for (const seed of ["1", "2"]) {
      const result = await runNode(["tools/run.mjs", "sim/main.ts", "--journal", file, "--seed", seed]);
      expect(result.output).toContain("every invariant held");
      // Its businesses publish on: it did not begin with an empty world.
      expect(result.output).toContain(uuid);
    }
  });

  it("is the same from any actor of the business", async () => {
    const actorsOf = async (path: string) => parseJournal((await ask(path)).text).actors;
    expect(await actorsOf(`/ops/actors/business/${business.party.uuid}/export`)).toEqual(
      await actorsOf(`/ops/actors/push/${push}/export`),
    );
  });

  it("is refused without the right to act, and where there is nothing to export", async () => {
    const codeOf = async (path: string, isActing?: boolean): Promise<readonly unknown[]> => {
      const { status, text } = await ask(path, isActing);
      const { code, reason } = JSON.parse(text) as { readonly code: string; readonly reason?: string };
      return [status, code, reason];
    };
    expect(await codeOf(`/ops/actors/push/${push}/export`, false)).toEqual([401, "token_invalid", undefined]);
    expect(await codeOf("/ops/actors/push/nobody/export")).toEqual([404, "not_found", undefined]);
    const region = await codeOf(`/ops/actors/region/${node.running.config.region}/export`);
    expect(region).toEqual([400, "request_invalid", "not_exported"]);
  });

  it("JE1: is bounded, and one is made at a time", async () => {
    const ref = { kind: "push", id: push };
    const bounded = createJournalExport(node.running.services, 1_000);
    expect(await bounded(ref)).toMatchObject({ ok: false, code: "journal_too_large" });
    const exported = createJournalExport(node.running.services);
    const [one, other] = await Promise.allSettled([exported(ref), exported(ref)]);
    expect(one).toMatchObject({ status: "fulfilled", value: { ok: true } });
    expect(other).toMatchObject({ status: "rejected", reason: { name: "Unavailable", reason: "export" } });
    expect(await exported(ref)).toMatchObject({ ok: true });
  });

  it("is 503 with a reason while the actor commits faster than it can be read", async () => {
    const { services } = node.running;
    const { actorStore } = services;
    let commits = 0;
    const actors = storeWith(actorStore, {
      // Another commit was made before each look.
      readHead: async (ref) => {
        const head = await actorStore.readHead(ref);
        commits += 1;
        return head === null ? null : { ...head, head: head.head + commits };
      },
    });
    const exported = createJournalExport({ ...services, actorStore: actors });
    const server = openOps({ inspection: { ...noInspection, past: { ...noInspection.past, exported } } });
    const answer = await server.inject({
      url: `/ops/actors/push/${push}/export`,
      headers: { authorization },
    });
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      expect.objectContaining({ code: "unavailable", reason: "busy_actor", retry_after_seconds: 10 }),
    ]);
    // The next one is not refused because of it.
    expect(await createJournalExport(node.running.services)({ kind: "push", id: push })).toMatchObject({
      ok: true,
    });
  });
});

// What a running node shows its operators of its actors.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { product, type TestBusiness } from "../../stories/publishing/publishing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../../stories/retrieval/attack.fixture.ts";

let node: AttackNode;
let business: TestBusiness;
let pushId = "";
let id = "";
let mandateId = "";
/** Every text that the surface answered. */
const answers: string[] = [];

beforeAll(async () => {
  node = await openAttackNode();
  business = await newBusiness(node);
});
afterAll(() => node.close());

/** Every answer is checked against its document. */
type Json = ReturnType<typeof JSON.parse>;

async function read(path: string): Promise<{ status: number; json: Json }> {
  const response = await contractFetch(`${node.running.urls.ops_url}${path}`);
  const text = await response.text();
  answers.push(text);
  return { status: response.status, json: JSON.parse(text) };
}

const secretTitle = "Emerald earrings that only their owner names";

describe("a node shows its operators", () => {
  beforeAll(async () => {
    const { body, pushId: pushed } = await batchBody(
      business,
      [product("one", { short_description: secretTitle })],
      {
        seq: 1,
      },
    );
    expect((await publishOver(node, business, body)).status).toBeLessThan(300);
    pushId = pushed;
    id = `${business.party.uuid}.${pushId}`;
    expect(await awaitPush(node, business, pushId)).toMatchObject({ state: "complete" });
  });

  it("itself, with its release, its load and its lease", async () => {
    const { nodes } = (await read("/ops/nodes")).json;
    const { incarnation } = node.running.services;
    expect(nodes).toEqual([
      expect.objectContaining({ incarnation, is_self: true, reachable: true, state: "standalone" }),
    ]);
    expect(nodes[0].version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(nodes[0].lease.held).toBe(true);
    expect(nodes[0].load.active).toBeGreaterThan(3);
  });

  it("how many actors there are, and lists them in pages that have no gap", async () => {
    const { kinds, missing } = (await read("/ops/counts")).json;
    const pushes = kinds.find((each: { kind: string }) => each.kind === "push");
    expect(missing).toEqual([]);
    expect(pushes.known).toBeGreaterThanOrEqual(pushes.active);
    expect(pushes.states.map(({ state }: { state: string }) => state)).toContain("complete");
    const seen: string[] = [];
    for (let after = ""; ; ) {
      const page = (await read(`/ops/actors?limit=3&after=${encodeURIComponent(after)}`)).json;
      seen.push(...page.actors.map((row: { kind: string; id: string }) => `${row.kind}/${row.id}`));
      if (page.next_after === null) break;
      after = page.next_after;
    }
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(seen).toContain(`push/${id}`);
    const complete = (await read("/ops/actors?kind=push&state=complete&limit=200")).json.actors;
    expect(complete.every((row: { states: string[] }) => row.states[0] === "complete")).toBe(true);
    const known = (await read("/ops/actors?scope=known&kind=push&limit=200")).json.actors;
    expect(known.map((row: { id: string }) => row.id)).toContain(id);
  });

  it("what it refused, with the key that was named and the address, and nothing else of the request", async () => {
    const { body } = await batchBody(business, [product("late")], { seq: 1 });
    expect((await publishOver(node, business, body)).status).toBeGreaterThanOrEqual(400);
    const { key_id } = business.key;
    const { codes, requests } = (await read(`/ops/refusals?key_id=${key_id}`)).json;
    expect(requests).toEqual([
      {
        surface: "business",
        code: expect.any(String),
        key_id,
        from: "127.0.0.1",
        count: 1,
        first_at: expect.any(String),
        last_at: expect.any(String),
      },
    ]);
    const [{ surface, code }] = requests;
    expect(codes).toContainEqual(expect.objectContaining({ surface, code, count: 1 }));
    const none = "surface=retrieval";
    expect((await read(`/ops/refusals?key_id=${key_id}&${none}`)).json.requests).toEqual([]);
  });

  it("counts that are those of its lists, also after actors changed and left memory", async () => {
    const { actors } = node.running.services;
    const disagreement = async (): Promise<readonly string[]> => {
      const { kinds } = (await read("/ops/counts")).json;
      const counted: string[] = kinds.flatMap(
        ({ kind, states }: { kind: string; states: { state: string; count: number }[] }) =>
          states.map(({ state, count }) => `${kind} ${state} ${count}`),
      );
      const { actors: rows } = (await read("/ops/actors?limit=200")).json;
      const listed = new Map<string, number>();
      for (const { kind, states } of rows as { kind: string; states: string[] }[])
        for (const state of states) listed.set(`${kind} ${state}`, (listed.get(`${kind} ${state}`) ?? 0) + 1);
      const expected = [...listed].map(([name, count]) => `${name} ${count}`);
      expect(expected.length).toBeGreaterThan(2);
      const differ = (some: readonly string[], others: readonly string[]) =>
        some.filter((each) => !others.includes(each));
      return [...differ(counted, expected), ...differ(expected, counted)];
    };
    await expect.poll(disagreement, { timeout: 20_000 }).toEqual([]);
    const { body, pushId: other } = await batchBody(business, [product("two")], { seq: 2 });
    expect((await publishOver(node, business, body)).status).toBeLessThan(300);
    await awaitPush(node, business, other);
    await expect.poll(disagreement, { timeout: 20_000 }).toEqual([]);
    actors.passivate({ kind: "push", id });
    await expect.poll(disagreement, { timeout: 20_000 }).toEqual([]);
  });

  it.each([
    ["its push's own id", () => pushId],
    ["its business", () => business.party.uuid],
    ["kind and id", () => `push/${id}`],
  ])("an actor that is searched by %s", async (_what, text) => {
    const { actors, is_complete } = (await read(`/ops/search?q=${encodeURIComponent(text())}&limit=200`))
      .json;
    expect(actors.map((row: { kind: string; id: string }) => `${row.kind}/${row.id}`)).toContain(
      `push/${id}`,
    );
    expect(is_complete).toBe(true);
  });

  it.each([
    ["its business's legal name", () => business.party.legal_name.slice(2).toUpperCase()],
    ["a record", () => node.running.services.recordIdOf(business.party.uuid, "products", "one")],
    ["its business and the business's own id", () => `${business.party.uuid} one`],
    ["its business and a mandate", () => `${business.party.uuid}/${mandateId}`],
  ])("a business that is searched by %s, with its name", async (_what, text) => {
    const { services } = node.running;
    mandateId = (await services.register.mandates(business.party.uuid))[0]?.mandate_id ?? "none";
    const { actors } = (await read(`/ops/search?q=${encodeURIComponent(text())}&limit=200`)).json;
    const found = actors.find(
      (row: { kind: string; id: string }) => row.kind === "business" && row.id === business.party.uuid,
    );
    const { legal_name } = business.party;
    expect(found?.party).toEqual({ kind: "business", legal_name });
    expect((await read(`/ops/actors/business/${business.party.uuid}`)).json.party).toEqual(found?.party);
  });

  it("nothing for a business that has no such id", async () => {
    const url = `/ops/search?q=${encodeURIComponent(`${business.party.uuid} none`)}`;
    expect((await read(url)).json).toMatchObject({ actors: [], is_complete: true });
  });

  it("actors that are searched by their state, also where they left memory", async () => {
    node.running.services.actors.passivate({ kind: "push", id });
    const stateOf = async () => {
      const { actors } = (await read("/ops/search?q=complete&limit=200")).json;
      return actors.find((row: { id: string }) => row.id === id)?.status;
    };
    await expect.poll(stateOf).toBe("passive");
  });

  it("actors in memory that are searched by their state", async () => {
    const { actors } = (await read("/ops/search?q=complete&limit=200")).json;
    expect(actors.length).toBeGreaterThan(0);
    for (const { states } of actors) expect(states).toContain("complete");
  });

  it("one actor: state, owners, why it waits, and the machine that runs", async () => {
    const { json } = await read(`/ops/actors/push/${id}`);
    const owner = `${node.running.services.config.region}/${node.running.services.incarnation}`;
    expect(json).toMatchObject({ state: "complete", states: ["complete"], place: { at: "here" }, owner });
    expect(json.waits[0]).toMatchObject({ code: "nothing", attention: null });
    expect(json.activations).toEqual([expect.objectContaining({ epoch: json.epoch, owner })]);
    const machine = (await read("/ops/machines/push")).json;
    expect(machine.states.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(["", "received", "working.step.processing", "working.pace.stalled", "complete"]),
    );
    expect(machine.transitions).toContainEqual(
      expect.objectContaining({ from: "working.step.judging", event: "push.judged", to: ["held"] }),
    );
    const item = (await read("/ops/machines/ad-item")).json;
    expect(item.part_of).toBe("ad-pool");
    expect(item.transitions).toContainEqual(
      expect.objectContaining({ from: "rendered", event: "item.clicked", to: ["clicked"] }),
    );
    for (const kind of ["business", "integration-key"]) {
      const found = (await read(`/ops/search?q=${encodeURIComponent(`${kind}/${business.party.uuid}`)}`)).json
        .actors;
      expect((await read(`/ops/actors/${kind}/${encodeURIComponent(found[0].id)}`)).json.failure).toBeNull();
    }
  });

  it("its journal: who committed each event, and the states around it", async () => {
    const { json } = await read(`/ops/actors/push/${id}/journal`);
    expect(json).toMatchObject({ pruned_up_to: 0, next_before: null, unreadable: null });
    const [accepted, ...later] = json.events;
    expect(accepted).toMatchObject({
      seq: 1,
      commit: 1,
      type: "push.accepted",
      from: ["received"],
      to: ["working.step.queued", "working.pace.moving"],
    });
    expect(accepted.epoch).toBeGreaterThan(0);
    expect(later.at(-1)).toMatchObject({ seq: json.last_seq, to: ["complete"] });
    const last = (await read(`/ops/actors/push/${id}/journal?limit=1`)).json;
    expect(last.events).toEqual([later.at(-1)]);
    const before = (await read(`/ops/actors/push/${id}/journal?limit=1&before=${last.next_before}`)).json;
    expect(before.events).toEqual([json.events.at(-2)]);
  });

  it.each([
    ["/ops/actors/push/nothing", 404, "not_found"],
    ["/ops/actors/nothing/x", 404, "not_found"],
    ["/ops/actors/push/nothing/journal", 404, "not_found"],
    ["/ops/actors/region/eu-west1/journal", 400, "request_invalid"],
    ["/ops/machines/nothing", 404, "not_found"],
  ])("what is wrong: %s", async (path, status, code) => {
    const answer = await read(path);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  it("nothing that is secret, and no text of a record", async () => {
    for (const path of ["/ops/attention", "/ops/machines", "/ops/actors?limit=200"]) await read(path);
    const all = answers.join("\n");
    expect(all.length).toBeGreaterThan(20_000);
    expect(all).not.toContain(secretTitle);
    expect(all).not.toMatch(/"(?:nonce|signature|sig|token|session|mark)":"(?!\(not shown\))/);
    expect(all).not.toMatch(/"d":"[A-Za-z0-9_-]{20,}"/);
    expect(all).not.toContain("BEGIN PRIVATE KEY");
  });
});

// Inspection and acts in a cluster: any node answers for any actor, and a node that dies is said to be away until another has its
// actors. The nodes are those of the cluster's own world, with an actor system each on one store.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Json, type OpsNode, type OpsWorld, openOpsWorld } from "./ops-world.fixture.ts";

let there: OpsWorld;
beforeEach(async () => {
  there = await openOpsWorld();
});
afterEach(() => there[Symbol.asyncDispose]());

describe("any node answers for any actor", () => {
  it("shows what another node has in memory, the same from all", async () => {
    const { party, owner } = await there.partyElsewhere();
    await there.tell(owner, party, { type: "add", by: 7 });
    const place = { region: "east", node: owner.routed.node.incarnation, detail: null };
    for (const node of there.nodes) {
      const at = node === owner ? "here" : "node";
      expect(await there.read(node, `/ops/actors/ledger/${party}`)).toMatchObject({
        status: "active",
        context: { n: 7 },
        place: { at, ...place },
      });
      const list = await there.read(node, "/ops/actors?kind=ledger");
      expect(list.actors).toMatchObject([
        { id: party, node: owner.routed.node.incarnation, status: "active" },
      ]);
      const { kinds, missing } = await there.read(node, "/ops/counts");
      expect([kinds[0].active, missing]).toEqual([1, []]);
      expect((await there.read(node, `/ops/search?q=${party}`)).actors).toMatchObject([{ id: party }]);
      const journal = await there.read(node, `/ops/actors/ledger/${party}/journal`);
      expect(journal.events).toMatchObject([{ type: "added", commit: 1 }]);
    }
    const all = await there.read(there.nodes[0] as OpsNode, "/ops/nodes");
    expect(all.nodes.map(({ reachable }: Json) => reachable)).toEqual([true, true, true]);
  });

  it("leaves out what nobody is shown, whichever node is asked and whichever has the actor", async () => {
    const { party, owner } = await there.partyElsewhere();
    const secret = "what-only-its-owner-knows";
    const job = { token: secret, title: secret, leaves: [secret], session_label: secret, signature: secret };
    await there.tell(owner, party, { type: "work.done", job: { ...job, place: 7 } });
    const actor = `/ops/actors/ledger/${party}`;
    const paths = ["", "/journal"];
    for (const node of there.nodes) {
      const answers = await Promise.all(paths.map((path) => there.read(node, `${actor}${path}`)));
      answers.push(
        await there.read(node, "/ops/actors?kind=ledger"),
        await there.read(node, `/ops/search?q=${party}`),
      );
      expect(JSON.stringify(answers)).not.toContain(secret);
      // What is no secret of the same event is shown, and that something is not.
      expect(answers[0].context.done).toEqual([
        { ...Object.fromEntries(Object.keys(job).map((name) => [name, "(not shown)"])), place: 7 },
      ]);
      expect(answers[1].events[0].event.job.place).toBe(7);
    }
  });

  it("shows what every node refused, as one", async () => {
    for (const [at, node] of there.nodes.entries()) {
      node.refuse({ key_id: "k", from: "192.0.2.1" });
      node.refuse({ key_id: null, from: `192.0.2.${at + 2}` });
    }
    const { codes, requests, missing } = await there.read(
      there.nodes[1] as OpsNode,
      "/ops/refusals?key_id=k",
    );
    expect([codes, requests, missing]).toMatchObject([
      [{ surface: "business", code: "key_unknown", count: 6 }],
      [{ key_id: "k", from: "192.0.2.1", count: 3 }],
      [],
    ]);
  });

  it("shows the owners of an actor, and the write of an earlier one that the fence refused, on any node", async () => {
    const { party, owner } = await there.partyElsewhere();
    await there.tell(owner, party, { type: "add", by: 1 });
    // Somebody else takes the actor over, and its owner learns of it from the store alone.
    await there.store.claim({ kind: "ledger", id: party }, "east/successor");
    await there.tell(owner, party, { type: "add", by: 1 }).catch(() => {});
    await there.world.time.advance(1_000);
    const name = `east/${owner.routed.node.incarnation}`;
    for (const node of there.nodes) {
      const found = await there.read(node, `/ops/actors/ledger/${party}`);
      expect(found.refused_writes).toEqual([
        { epoch: 1, superseded_by: 2, owner: name, at: expect.stringMatching(/Z$/) },
      ]);
      expect(found.activations[0]).toMatchObject({ owner: name });
    }
  });

  it("acts where the actor is, on what was seen there", async () => {
    const { party, owner, asked } = await there.partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await there.tell(owner, party, { type: "add", by: 1 });
    expect(await there.doAct(asked, `${actor}/passivate`, { status: "passive" })).toEqual([
      409,
      "state_changed",
    ]);
    expect(await there.doAct(asked, `${actor}/retry`, { status: "active", head: 1 })).toEqual([
      200,
      "retried",
    ]);
    expect(await there.doAct(asked, `${actor}/passivate`, { status: "active" })).toEqual([200, "leaving"]);
    await there.world.time.advance(1_000);
    expect((await there.read(asked, actor)).status).toBe("passive");
    expect(owner.system.stats().active).toBe(0);
  });

  it("releases an actor from quarantine where it is", async () => {
    const { party, owner, asked } = await there.partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await there.tell(owner, party, { type: "add", by: 3 });
    for (let crash = 0; crash < 2; crash += 1) {
      await there.tell(owner, party, { type: "explode" }).catch(() => {});
      await there.world.time.advance(1_000);
    }
    expect(await there.read(asked, actor)).toMatchObject({
      status: "quarantined",
      waits: [{ code: "release" }],
    });
    expect((await there.read(asked, "/ops/attention")).actors).toMatchObject([
      { id: party, attention: { reason: "quarantined" } },
    ]);
    await expect(there.tell(owner, party, { type: "add", by: 1 })).rejects.toMatchObject({
      reason: "quarantined",
    });
    expect(await there.doAct(asked, `${actor}/release`, { status: "quarantined" })).toEqual([
      200,
      "released",
    ]);
    expect(await there.tell(owner, party, { type: "add", by: 1 })).toBe(4);
    expect(await there.read(asked, actor)).toMatchObject({
      status: "active",
      failure: null,
      context: { n: 4 },
    });
    const again = await there.doAct(asked, `${actor}/release`, { status: "active" });
    expect(again).toEqual([400, "not_possible"]);
  });

  it("drains the node that was named, if it is in the state that was seen", async () => {
    const [asked, other] = there.nodes as [OpsNode, OpsNode];
    const path = `/ops/nodes/${other.routed.node.incarnation}/drain`;
    expect(await there.doAct(asked, path, { state: "leaving" })).toEqual([409, "state_changed"]);
    expect(await there.doAct(asked, path, { state: "active" })).toEqual([200, "draining"]);
    expect(there.nodes.map(({ drained }) => drained)).toEqual([0, 1, 0]);
  });
});

describe("each node says of itself whether it is ready", () => {
  it("with its checks and the room on its disks, on any node", async () => {
    const [asked, sick] = there.nodes as [OpsNode, OpsNode];
    sick.checks = { store: "The store is away." };
    const found = (await there.read(asked, "/ops/nodes")).nodes;
    const disks = [{ place: "home", free_bytes: 2 ** 30, size_bytes: 2 ** 40 }];
    const ready = { ready: true, degraded: [], checks: { store: "ok" }, disks };
    expect(found.map(({ readiness }: Json) => readiness)).toEqual(
      there.nodes.map((node) => (node === sick ? { ...ready, ready: false, checks: sick.checks } : ready)),
    );
    expect(found.map(({ incarnation }: Json) => incarnation)).toEqual(
      there.nodes.map(({ routed }) => routed.node.incarnation),
    );
  });

  it("unless it does not answer: then why is said, and the others are shown", async () => {
    const [asked, dead, third] = there.nodes as [OpsNode, OpsNode, OpsNode];
    dead.routed.node.kill();
    const found = (await there.read(asked, "/ops/nodes")).nodes;
    const of = ({ routed }: OpsNode) =>
      found.find(({ incarnation }: Json) => incarnation === routed.node.incarnation);
    expect(of(dead)).toMatchObject({ reachable: false, readiness: null, detail: expect.any(String) });
    expect([of(asked).readiness.ready, of(third).readiness.ready]).toEqual([true, true]);
  });

  it("also when it has lost its lease, and is no member: it is on its own list", async () => {
    const [asked, cut] = there.nodes as [OpsNode, OpsNode];
    const [one, former, third] = there.nodes.map(({ routed }) => routed.node.incarnation);
    cut.checks = { cluster: "no lease: the node joins again" };
    cut.routed.node.cut();
    await there.world.time.advance(10_000);
    const seen = (await there.read(asked, "/ops/nodes")).nodes;
    expect(seen.map(({ state, incarnation }: Json) => [incarnation, state])).toEqual([
      [one, "active"],
      [third, "active"],
      [former, "gone"],
    ]);
    expect(seen.at(-1)).toMatchObject({
      incarnation: former,
      reachable: false,
      readiness: null,
      detail: expect.stringContaining("did not leave in order"),
    });
    const [self, ...others] = (await there.read(cut, "/ops/nodes")).nodes;
    expect(self).toMatchObject({
      is_self: true,
      state: "joining",
      lease: { held: false },
      reachable: true,
      readiness: { checks: cut.checks },
    });
    expect(others.map(({ is_self }: Json) => is_self)).not.toContain(true);
  });
});

describe("a node that dies while it is watched", () => {
  it("is said to be away, and its actor is shown from the store until another node has it", async () => {
    const { party, owner, asked } = await there.partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await there.tell(owner, party, { type: "add", by: 5 });
    const dead = owner.routed.node.incarnation;
    const watched = await watch(asked, `/ops/live/actors/ledger/${party}`);
    expect(await watched.until(({ place }) => place.node === dead)).toMatchObject({
      status: "active",
      context: { n: 5 },
      place: { at: "node", detail: null },
    });
    owner.routed.node.kill();
    // What its memory had is gone; what it committed is there, and the page says why it is not live.
    expect(await watched.until(({ place }) => place.detail !== null)).toMatchObject({
      status: "passive",
      context: { n: 5 },
      place: { at: "node", node: dead },
    });
    const counts = await there.read(asked, "/ops/counts");
    expect(counts.missing).toMatchObject([{ incarnation: dead }]);
    expect(await there.doAct(asked, `${actor}/retry`, { status: "passive" })).toEqual([503, "node"]);
    // Once its lease is over, a node that lives has the actor; nobody loaded the page again.
    const moved = await watched.until(({ place }) => place.node !== null && place.node !== dead);
    const successor = there.nodes.find(
      ({ routed }) => routed.node.incarnation === moved.place.node,
    ) as OpsNode;
    expect(await there.tell(successor, party, { type: "add", by: 1 })).toBe(6);
    expect(await watched.until(({ head }) => head === 2)).toMatchObject({
      status: "active",
      context: { n: 6 },
      owner: `east/${moved.place.node}`,
    });
    expect((await there.read(asked, "/ops/counts")).missing).toEqual([]);
    await watched.end();
  });
});

interface Watched {
  /** The first view that fits. */
  until(fits: (view: Json) => boolean): Promise<Json>;
  end(): Promise<void>;
}

/** Watches over a socket, while the world's time goes on. */
async function watch({ base }: OpsNode, path: string): Promise<Watched> {
  const stop = new AbortController();
  const sent = fetch(`${base}${path}`, { signal: stop.signal });
  const answer = await worldGoesOn(sent);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    until: async (fits) => {
      for (;;) {
        const end = text.indexOf("\n\n");
        if (end < 0) {
          const { done, value } = await worldGoesOn(reader.read());
          if (done) throw new Error("the view ended");
          text += decoder.decode(value, { stream: true });
          continue;
        }
        const [, event, data = ""] = /^event: (\w+)\ndata: (.*)$/s.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        const view: Json = event === "actor" ? JSON.parse(data) : null;
        if (view !== null && fits(view)) return view;
      }
    },
    end: async () => {
      stop.abort();
      await reader.cancel().catch(() => {});
    },
  };
}

async function worldGoesOn<T>(promise: Promise<T>): Promise<T> {
  let isOver = false;
  const done = promise.finally(() => {
    isOver = true;
  });
  done.catch(() => {});
  while (!isOver) await there.world.time.advance(1);
  return done;
}

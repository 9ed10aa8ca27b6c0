import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { following, after as headAfter } from "../actor-store.fixture.ts";
import { rowTable } from "../actor-store.ts";
import { ActorClaim, ClaimCache } from "./actor-rows.ts";

const ref = { kind: "k", id: "i" };
const start = { epoch: 1, head: 0, outboxLow: 0, outbox: [], wakeAtMs: null };
const rt = rowTable.outbox;

describe("a track", () => {
  it("T2: never bounds an outbox row away, in whatever order rows come and go (property)", () => {
    const step = fc.record({ added: fc.array(fc.nat({ max: 40 })), removed: fc.array(fc.nat({ max: 40 })) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.uniqueArray(fc.nat({ max: 40 })), (steps, first) => {
        const there = new Set(first.sort((a, b) => a - b));
        const track = new ActorClaim({ ...start, outbox: [...there] });
        let head = { epoch: 1, head: 0, op: "" };
        for (const { added, removed } of steps) {
          const deletes = removed.filter((k) => !added.includes(k)).map((k) => ({ rt, k, k2: "" }));
          const puts = [...new Set(added)].map((k) => ({ rt, k, k2: "", body: "" }));
          const commit = following(ref, head, { puts, deletes });
          const { low } = track.nextOutbox(commit);
          for (const { k } of deletes) there.delete(k);
          for (const { k } of puts) there.add(k);
          expect(low).toBeLessThanOrEqual(Math.min(...there));
          track.follow(commit);
          expect(track.outboxLow).toBe(low);
          head = headAfter(commit);
        }
      }),
    );
  });

  it("T2: moves its bound behind what is gone, so that nobody walks over it", () => {
    const track = new ActorClaim(start);
    let head = { epoch: 1, head: 0, op: "" };
    for (let k = 1; k <= 100; k += 1) {
      const deletes = k === 1 ? [] : [{ rt, k: k - 1, k2: "" }];
      const commit = following(ref, head, { puts: [{ rt, k, k2: "", body: "" }], deletes });
      track.follow(commit);
      head = headAfter(commit);
    }
    expect(track.outboxLow).toBe(100);
    const last = following(ref, head, { deletes: [{ rt, k: 100, k2: "" }] });
    expect(track.nextOutbox(last).low).toBe(101);
  });

  it("T1: counts for the commit that follows what it saw, and for no other", () => {
    const tracks = new ClaimCache();
    const track = new ActorClaim(start);
    tracks.set(ref, track);
    const commit = following(ref, { epoch: 1, head: 0, op: "" });
    expect(tracks.before(commit)).toBe(track);
    expect(tracks.before({ ...commit, epoch: 2 })).toBeUndefined();
    expect(tracks.before({ ...commit, expectedHead: 1 })).toBeUndefined();
    track.follow(commit);
    expect(tracks.before(commit)).toBeUndefined();
    expect(tracks.before(following(ref, headAfter(commit)))).toBe(track);
    tracks.forget(ref);
    expect(tracks.before(following(ref, headAfter(commit)))).toBeUndefined();
  });

  it("a table is known to have only zeros until a row with another number is put there", () => {
    const track = new ActorClaim(start);
    expect(track.hasOnlyZeros(16)).toBe(false);
    track.noteOnlyZeros(16);
    track.noteOnlyZeros(17);
    track.follow(
      following(ref, { epoch: 1, head: 0, op: "" }, { puts: [{ rt: 16, k: 1, k2: "", body: "" }] }),
    );
    expect([track.hasOnlyZeros(16), track.hasOnlyZeros(17)]).toEqual([false, true]);
  });
});

import { describe, expect, it } from "vitest";
import type { AnsweredRequest } from "../service/request-observer.ts";
import { createRefusedRequests, mergeRefused, refusedListMax } from "./refused-requests.ts";

const any = { surface: null, code: null, key_id: null };
const dayMs = 86_400_000;

function open() {
  const world = { nowMs: Date.parse("2026-11-26T02:00:00.000Z") };
  const refused = createRefusedRequests(() => world.nowMs);
  const answer = (more: Partial<AnsweredRequest> = {}): void =>
    refused.observe({
      surface: "business",
      method: "POST",
      route: "/v1/publish/products",
      status: 401,
      code: "key_unknown",
      durationMs: 1,
      key_id: "k",
      from: "192.0.2.1",
      ...more,
    });
  return { world, refused, answer };
}

describe("refused requests", () => {
  it("are counted by surface, code, key and address, the newest first", () => {
    const { world, refused, answer } = open();
    answer();
    world.nowMs += 1_000;
    answer();
    answer({ from: "192.0.2.2" });
    answer({ code: null, status: 200 });
    world.nowMs += 1_000;
    answer({ surface: "retrieval", key_id: null });
    const { codes, requests, forgotten } = refused.list(any);
    expect(forgotten).toBe(0);
    expect(codes).toEqual([
      expect.objectContaining({ surface: "retrieval", code: "key_unknown", count: 1 }),
      expect.objectContaining({ surface: "business", code: "key_unknown", count: 3 }),
    ]);
    expect(requests).toHaveLength(3);
    expect(requests[0]).toMatchObject({ surface: "retrieval", key_id: null });
    expect(requests).toContainEqual({
      surface: "business",
      code: "key_unknown",
      key_id: "k",
      from: "192.0.2.1",
      count: 2,
      first_at: "2026-11-26T02:00:00.000Z",
      last_at: "2026-11-26T02:00:01.000Z",
    });
    const listed = (query: object) => refused.list({ ...any, ...query }).requests.length;
    expect([listed({ key_id: "k" }), listed({ surface: "retrieval" }), listed({ code: "x" })]).toEqual([
      2, 1, 0,
    ]);
  });

  it("RQ1: strangers from many addresses neither grow the memory nor crowd out the keys", () => {
    const { refused, answer } = open();
    answer();
    for (let at = 0; at < 5_000; at += 1)
      answer({ code: "not_found", key_id: null, from: `2001:db8::${at}` });
    const { codes, requests, forgotten } = refused.list(any);
    expect([codes.length, requests.length, forgotten]).toEqual([2, refusedListMax, 4_500]);
    expect(refused.list({ ...any, key_id: "k" }).requests).toHaveLength(1);
    for (let at = 0; at < 5_000; at += 1) answer({ key_id: `k${at}` });
    expect(refused.list(any).forgotten).toBe(9_001);
    // The one that was refused longest ago went first.
    expect(refused.list({ ...any, key_id: "k" }).requests).toEqual([]);
    expect(refused.list({ ...any, key_id: "k4999" }).requests).toHaveLength(1);
  });

  it("RP1: a stranger who names one known key from many addresses, or many keys, displaces nobody else", () => {
    const { world, refused, answer } = open();
    answer({ key_id: "victim", from: "203.0.113.7" });
    world.nowMs += 1;
    // A whole /48 is one customer's as well, and has 65,536 networks.
    for (let at = 0; at < 2_000; at += 1)
      answer({ key_id: "known", from: `2001:db8:1:${at.toString(16)}::1` });
    for (let at = 0; at < 2_000; at += 1) answer({ key_id: `k${at}`, from: "192.0.2.66" });
    expect(refused.list({ ...any, key_id: "victim" }).requests).toHaveLength(1);
    expect(refused.list(any)).toMatchObject({ forgotten: 3_501 });
    // What was forgotten has no places any more.
    world.nowMs += dayMs;
    answer({ key_id: "later" });
    expect(refused.list(any).requests).toHaveLength(1);
  });

  it("RP1: a stranger with one network displaces no other one where no key is named", () => {
    const { refused, answer } = open();
    answer({ key_id: null, code: "not_found", from: "198.51.100.1" });
    for (let at = 0; at < 2_000; at += 1) answer({ key_id: null, from: `2001:db8::${at.toString(16)}` });
    expect(refused.list({ ...any, code: "not_found" }).requests).toMatchObject([{ from: "198.51.100.1" }]);
  });

  it("RP2: a list has the newest of each key and network, on one node and on several", () => {
    const { world, refused, answer } = open();
    answer({ key_id: "victim", from: "203.0.113.7" });
    answer({ key_id: null, from: "203.0.113.8" });
    world.nowMs += 1_000;
    for (let at = 0; at < 400; at += 1) {
      answer({ key_id: "known", from: `2001:db8:1:${at.toString(16)}::1` });
      answer({ key_id: null, from: `2001:db8::${at.toString(16)}` });
    }
    const list = refused.list(any);
    const shown = ["203.0.113.7", "203.0.113.8"].map((from) => expect.objectContaining({ from }));
    for (const { requests } of [list, mergeRefused([list, open().refused.list(any)])]) {
      expect(requests).toHaveLength(refusedListMax);
      expect(requests).toEqual(expect.arrayContaining(shown));
      expect(requests.map(({ last_at }) => last_at)).toEqual(
        requests
          .map(({ last_at }) => last_at)
          .toSorted()
          .toReversed(),
      );
    }
  });

  it("RQ2: are not shown any more a day later", () => {
    const { world, refused, answer } = open();
    answer();
    world.nowMs += dayMs - 1;
    answer({ from: "192.0.2.2" });
    world.nowMs += 1;
    expect(refused.list(any).requests).toMatchObject([{ from: "192.0.2.2" }]);
    expect(refused.list(any).codes).toMatchObject([{ count: 2 }]);
  });

  it("of several nodes are one list", () => {
    const [one, other] = [open(), open()];
    one.answer();
    other.world.nowMs += 1_000;
    other.answer();
    other.answer({ key_id: null });
    const { codes, requests } = mergeRefused([one.refused.list(any), other.refused.list(any)]);
    expect(codes).toMatchObject([{ count: 3 }]);
    expect(requests.find(({ key_id }) => key_id === "k")).toMatchObject({
      count: 2,
      first_at: "2026-11-26T02:00:00.000Z",
      last_at: "2026-11-26T02:00:01.000Z",
    });
  });
});

import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Inspection } from "./inspection.ts";
import { watchersMax } from "./live.ts";
import { noInspection, openOps, report, since } from "./ops.fixture.ts";

type Server = ReturnType<typeof openOps>;
const opened: Server[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

const timing = { everyMs: 5, beatMs: 10_000, lastsMs: 60_000 };

async function listen(inspection: Partial<Inspection>, live = timing): Promise<string> {
  const hosts: string[] = [];
  const access = { hosts, token: "x".repeat(32), isLoopback: true };
  const server = openOps({ access, inspection: { ...noInspection, ...inspection }, live });
  opened.push(server);
  const base = await server.listen({ port: 0, host: "127.0.0.1" });
  hosts.push(new URL(base).host);
  return base;
}

interface View {
  next(): Promise<{ readonly event: string; readonly data: unknown } | null>;
  end(): Promise<void>;
}

async function watch(url: string): Promise<View> {
  const stop = new AbortController();
  const answer = await fetch(url, { signal: stop.signal });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  return {
    next: async () => {
      for (;;) {
        const at = rest.indexOf("\n\n");
        if (at >= 0) {
          const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/s.exec(rest.slice(0, at)) ?? [];
          rest = rest.slice(at + 2);
          if (event !== "") return { event, data: JSON.parse(data) };
          continue;
        }
        const { done, value } = await reader.read();
        if (done) return null;
        rest += decoder.decode(value, { stream: true });
      }
    },
    end: async () => {
      stop.abort();
      await reader.cancel().catch(() => {});
    },
  };
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds() && waited < 20_000; waited += 5) await pause(5);
  expect(holds()).toBe(true);
}

describe("a live view", () => {
  it("is read once for all who watch, is sent when it changed, and is not read while nobody watches (LV1)", async () => {
    let reads = 0;
    let total = 1;
    const base = await listen({
      counts: async () => {
        reads += 1;
        const kind = { kind: "push", active: total, known: 9, known_is_exact: true, states: [], nodes: [] };
        return {
          at: new Date(reads).toISOString(),
          kinds: [kind],
          attention: [],
          pushes_under_way: [],
          missing: [],
        };
      },
    });
    const [one, other] = [await watch(`${base}/ops/live/counts`), await watch(`${base}/ops/live/counts`)];
    for (const view of [one, other])
      expect(await view.next()).toMatchObject({ event: "counts", data: { kinds: [{ active: 1 }] } });
    const before = reads;
    await until(() => reads > before + 3);
    total = 2;
    for (const view of [one, other])
      expect(await view.next()).toMatchObject({ data: { kinds: [{ active: 2 }] } });
    await one.end();
    await other.end();
    // A reading takes place every five milliseconds while somebody watches.
    let [last, still] = [-1, 0];
    await until(() => {
      still = last === reads ? still + 1 : 0;
      last = reads;
      return still > 40;
    });
  });

  it("is sent at most as often as it is read, however often it changes (LV1)", async () => {
    let reads = 0;
    const everyMs = 40;
    const headOf = (view: { readonly data: unknown } | null) =>
      (view?.data as { head: number } | undefined)?.head;
    const detail: Inspection["detail"] = async () => {
      reads += 1;
      return { ...report, head: reads };
    };
    const base = await listen({ detail }, { ...timing, everyMs });
    const view = await watch(`${base}/ops/live/actors/push/bat_1`);
    const began = await view.next();
    const startedMs = performance.now();
    const heads = [headOf(began)];
    for (let at = 0; at < 10; at += 1) heads.push(headOf(await view.next()));
    // A busy machine only makes it rarer. A timer may end up to a millisecond early.
    expect(performance.now() - startedMs).toBeGreaterThan(9 * (everyMs - 1));
    // The first read showed that there is such an actor.
    expect(heads).toEqual(heads.map((_, at) => at + 2));
    await view.end();
  });

  it("keeps nothing of what nobody watches any more (LV1)", async () => {
    let [head, reads] = [1, 0];
    const detail: Inspection["detail"] = async () => {
      reads += 1;
      return { ...report, head };
    };
    const base = await listen({ detail });
    const url = `${base}/ops/live/actors/push/bat_1`;
    for (; head <= 5; head += 1) {
      const view = await watch(url);
      // The last view of those who left would be the first of those who come.
      expect(await view.next()).toMatchObject({ event: "actor", data: { head } });
      await view.end();
      let [last, still] = [-1, 0];
      await until(() => {
        still = last === reads ? still + 1 : 0;
        last = reads;
        return still > 5;
      });
    }
  });

  it("says that a node failed, and goes on by itself (LV4)", async () => {
    let isAway = true;
    const detail: Inspection["detail"] = async () => {
      asked += 1;
      if (isAway && asked > 1) throw new Error("the node does not answer");
      return report;
    };
    let asked = 0;
    const base = await listen({ detail });
    const view = await watch(`${base}/ops/live/actors/push/bat_1`);
    expect(await view.next()).toEqual({
      event: "fault",
      data: { code: "unavailable", detail: "the node does not answer" },
    });
    isAway = false;
    expect(await view.next()).toEqual({ event: "actor", data: report });
    await view.end();
  });

  it("says that an actor is gone, and is refused of one that never was", async () => {
    let isThere = true;
    const base = await listen({ detail: async () => (isThere ? report : null) });
    const view = await watch(`${base}/ops/live/actors/push/bat_1`);
    expect(await view.next()).toMatchObject({ event: "actor" });
    isThere = false;
    expect(await view.next()).toEqual({ event: "gone", data: null });
    await view.end();
    expect((await fetch(`${base}/ops/live/actors/push/bat_1`)).status).toBe(404);
  });

  it("is one of a bounded number, and ends after a while (LV3)", async () => {
    const base = await listen({}, { ...timing, lastsMs: 1_500 });
    const views = await Promise.all(
      Array.from({ length: watchersMax }, () => watch(`${base}/ops/live/counts`)),
    );
    const refused = await fetch(`${base}/ops/live/counts`);
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { code: "unavailable", reason: "watchers" },
    ]);
    for (const view of views) {
      expect(await view.next()).toMatchObject({ event: "counts", data: { at: since } });
      expect(await view.next()).toBeNull();
    }
    const again = await watch(`${base}/ops/live/counts`);
    await again.end();
  });

  it("does not count a watcher that left before its view began (LV3)", async () => {
    const begun: (() => void)[] = [];
    let left = 0;
    const detail: Inspection["detail"] = () =>
      new Promise((resolve) => void begun.push(() => resolve(report)));
    const base = await listen({ detail });
    opened.at(-1)?.server.on("connection", (socket) => {
      socket.once("close", () => {
        left += 1;
      });
    });
    const { host, port } = new URL(base);
    for (let at = 0; at < watchersMax; at += 1) {
      const socket = connect(Number(port), "127.0.0.1");
      await once(socket, "connect");
      socket.write(`GET /ops/live/actors/push/bat_1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await until(() => begun.length === at + 1);
      socket.destroy();
    }
    await until(() => left === watchersMax);
    for (const begin of begun) begin();
    const view = await watch(`${base}/ops/live/counts`);
    expect(await view.next()).toMatchObject({ event: "counts" });
    await view.end();
  });

  it("is over at once for a HEAD, which takes no view from anybody", async () => {
    const base = await listen({});
    for (let at = 0; at <= watchersMax; at += 1) {
      const answer = await fetch(`${base}/ops/live/counts`, { method: "HEAD" });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
      expect(await answer.text()).toBe("");
    }
    const { host, port } = new URL(base);
    const socket = connect(Number(port), "127.0.0.1");
    let text = "";
    socket.on("data", (part) => {
      text += String(part);
    });
    const head = `HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    socket.write(`HEAD /ops/live/counts ${head}GET /healthz ${head}`);
    await until(() => text.includes('{"status":"ok"}'));
    socket.destroy();
  });

  it("keeps only the newest for a watcher that takes nothing (LV2)", async () => {
    let number = 0;
    const text = "x".repeat(100_000);
    const detail: Inspection["detail"] = async () => {
      number += 1;
      return { ...report, head: number, context: text };
    };
    const base = await listen({ detail }, { ...timing, everyMs: 1 });
    const slow = await watch(`${base}/ops/live/actors/push/bat_1`);
    await until(() => number > 400);
    const heads: number[] = [];
    for (let at = 0; at < 200; at += 1) {
      const seen = await slow.next();
      heads.push((seen?.data as { readonly head: number } | undefined)?.head ?? 0);
      if ((heads.at(-1) ?? 0) > 400) break;
    }
    // What was buffered on the way came first; then, without all in between, the newest.
    expect(heads.at(-1)).toBeGreaterThan(400);
    expect(heads.length).toBeLessThan(200);
    await slow.end();
  });
});

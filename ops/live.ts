// Live views: Server-Sent Events of counts, and of one actor.
//   LV1. What is watched is read once for all who watch it, at most once a second, and not at all while nobody does.
//   LV2. A watcher that does not take what it is sent misses views, and gets the newest once it takes more: nothing piles up.
//   LV3. There are never more than a fixed number of watchers, and each view ends after a while, so that a watcher has to
//        show again that it may. One that left before its view began is none.
//   LV4. A failure is sent as an event, and the next view follows when there is one.

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { anyText } from "../protocol/shape.ts";
import { sendProblem } from "./acts.ts";
import { actorNames } from "./cluster.ts";
import type { Inspection } from "./inspection.ts";
import { type OpsRoute, read } from "./route.ts";

export interface LiveTiming {
  readonly everyMs: number;
  readonly beatMs: number;
  readonly lastsMs: number;
}

export const liveTimingDefault: LiveTiming = { everyMs: 1_000, beatMs: 15_000, lastsMs: 900_000 };
export const watchersMax = 32;

interface Watcher {
  readonly response: ServerResponse;
  isFull: boolean;
  /** The newest event that it has not been sent (LV2). */
  waiting: string | null;
}

interface Topic {
  readonly watchers: Set<Watcher>;
  /** The last event, for those who come later. */
  newest: string | null;
  /** What it was made from, to see whether anything changed. */
  seen: string;
}

/** Reads what is watched: the name of the event, its data, and what of it tells whether it changed. */
type ReadView = () => Promise<{ readonly event: string; readonly data: unknown; readonly compared: unknown }>;

export class LiveViews {
  readonly #timing: LiveTiming;
  readonly #topics = new Map<string, Topic>();
  #count = 0;
  #isClosed = false;

  constructor(timing: LiveTiming = liveTimingDefault) {
    this.#timing = timing;
  }

  /** Number of watchers. */
  get watchers(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#isClosed || this.#count >= watchersMax;
  }

  watch(name: string, read: ReadView, response: ServerResponse): void {
    // It would never say again that it is closed, and so be counted for ever.
    if (response.destroyed) return;
    const watcher: Watcher = { response, isFull: false, waiting: null };
    const topic = this.#topics.get(name) ?? { watchers: new Set(), newest: null, seen: "" };
    const isFirst = topic.watchers.size === 0;
    this.#topics.set(name, topic);
    topic.watchers.add(watcher);
    this.#count += 1;
    const beat = setInterval(() => send(watcher, ": \n\n", false), this.#timing.beatMs).unref();
    const end = setTimeout(() => response.end(), this.#timing.lastsMs).unref();
    response.on("drain", () => taken(watcher));
    response.once("close", () => {
      clearInterval(beat);
      clearTimeout(end);
      this.#count -= 1;
      topic.watchers.delete(watcher);
      if (topic.watchers.size === 0 && this.#topics.get(name) === topic) this.#topics.delete(name);
    });
    if (topic.newest !== null) send(watcher, topic.newest);
    if (isFirst) void this.#follow(topic, read);
  }

  close(): void {
    this.#isClosed = true;
    for (const topic of this.#topics.values()) for (const { response } of topic.watchers) response.end();
  }

  async #follow(topic: Topic, read: ReadView): Promise<void> {
    while (topic.watchers.size > 0 && !this.#isClosed) {
      const [text, seen] = await eventOf(read);
      if (seen !== topic.seen) {
        topic.seen = seen;
        topic.newest = text;
        for (const watcher of topic.watchers) send(watcher, text);
      }
      await new Promise<void>((resolve) => void setTimeout(resolve, this.#timing.everyMs).unref());
    }
  }
}

async function eventOf(read: ReadView): Promise<readonly [text: string, seen: string]> {
  try {
    const { event, data, compared } = await read();
    const text = JSON.stringify(data);
    return [`event: ${event}\ndata: ${text}\n\n`, compared === data ? text : JSON.stringify(compared)];
  } catch (error) {
    const detail = error instanceof Error ? error.message.slice(0, 300) : "unknown";
    const data = JSON.stringify({ code: "unavailable", detail });
    return [`event: fault\ndata: ${data}\n\n`, data];
  }
}

function send(watcher: Watcher, text: string, isKept = true): void {
  if (watcher.isFull) {
    if (isKept) watcher.waiting = text;
    return;
  }
  watcher.isFull = !watcher.response.write(text);
}

function taken(watcher: Watcher): void {
  const { waiting } = watcher;
  watcher.isFull = false;
  watcher.waiting = null;
  if (waiting !== null) send(watcher, waiting);
}

export function liveRoutes(inspection: Inspection, views: LiveViews): readonly OpsRoute[] {
  const stream = { answer: anyText, mediaType: "text/event-stream", problems: ["not_found"] as const };
  return [
    read(
      "/ops/live/counts",
      { ...stream, summary: "Server-Sent Events: `counts`, as /ops/counts, whenever they change" },
      async (_request, reply) =>
        begin(reply, views, "counts", async () => {
          const { at, ...compared } = await inspection.counts();
          return { event: "counts", data: { at, ...compared }, compared };
        }),
    ),
    read(
      "/ops/live/actors/:kind/:id",
      {
        ...stream,
        summary:
          "Server-Sent Events: `actor`, as /ops/actors/{kind}/{id}, whenever it changes; `gone`; `fault` while it cannot be read",
        parameters: actorNames,
      },
      async ({ params: ref }, reply) => {
        if ((await inspection.detail(ref)) === null)
          return sendProblem(reply, "not_found", "This actor does not exist.");
        return begin(reply, views, `actor ${ref.kind}/${ref.id}`, async () => {
          const detail = await inspection.detail(ref);
          return { event: detail === null ? "gone" : "actor", data: detail, compared: detail };
        });
      },
    ),
  ];
}

function begin(reply: FastifyReply, views: LiveViews, name: string, read: ReadView): FastifyReply {
  if (views.isFull) {
    const extras = { reason: "watchers", retry_after_seconds: 30 };
    return sendProblem(reply, "unavailable", `${watchersMax} views are open already.`, extras);
  }
  reply.hijack();
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "request-id": reply.request.id,
  };
  reply.raw.writeHead(200, headers);
  if (reply.request.method === "HEAD") {
    reply.raw.end();
    return reply;
  }
  views.watch(name, read, reply.raw);
  return reply;
}

// What is live on a page: the newest value that the node sent by server-sent events or was asked for, and whether it still answers.
//   LV1. A browser connects again by itself after a network error, and this connects again after anything else, so a page recovers
//        from a node that restarts without being loaded again.
//   LV2. A page that nobody sees is not live: a browser opens only a few connections to a host, and a node few streams.
//   LV3. What is asked for again and again is asked for once at a time, and a question that is not answered ends: a node that
//        stands still is lost like one that is gone.

import { type ComponentChild, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { badge } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import { readJson } from "./frame.ts";

/** `failed`: the node answers, and says that it cannot read what is asked for. */
export type LiveState = "starting" | "on" | "failed" | "lost";

export interface Live<T> {
  readonly data: T;
  readonly state: LiveState;
}

const againMs = 3_000;
const closed = 2;

/** The document of the browser; views are type-checked for the server as well, which has none. */
declare const document: {
  readonly hidden: boolean;
  addEventListener(event: string, listener: () => void): void;
  removeEventListener(event: string, listener: () => void): void;
};

/** Each event of this name has the whole value as JSON. */
export function useLive<T>(address: string, event: string, first: T): Live<T> {
  const [live, setLive] = useState<Live<T>>({ data: first, state: "starting" });
  useEffect(() => {
    let again: ReturnType<typeof setTimeout> | undefined;
    let source: EventSource | null = null;
    const stop = (): void => {
      clearTimeout(again);
      source?.close();
      source = null;
    };
    const start = (): void => {
      stop();
      source = connect();
    };
    const connect = (): EventSource => {
      const made = new EventSource(address);
      made.addEventListener(event, ({ data }) =>
        setLive({ data: JSON.parse(String(data)) as T, state: "on" }),
      );
      made.addEventListener("fault", () => setLive(({ data }) => ({ data, state: "failed" })));
      made.addEventListener("error", () => {
        setLive(({ data }) => ({ data, state: "lost" }));
        if (made.readyState === closed) again = setTimeout(start, againMs);
      });
      return made;
    };
    const follow = (): void => (document.hidden ? stop() : start());
    document.addEventListener("visibilitychange", follow);
    follow();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      stop();
    };
  }, [address, event]);
  return live;
}

const pollMs = 3_000;
/** For lists that wake every actor on them. */
export const slowPollMs = 30_000;
const answerMaxMs = 10_000;

/** What the API answers at an address, asked for every few seconds, and at once whenever `again` changes (LV3). */
export function usePolled<T>(
  address: string,
  first: T,
  again: unknown = null,
  everyMs: number = pollMs,
): Live<T> {
  const [polled, setPolled] = useState<Live<T>>({ data: first, state: "starting" });
  useEffect(() => {
    const stop = new AbortController();
    let next: ReturnType<typeof setTimeout> | undefined;
    let isAsked = false;
    const read = (): void => {
      if (isAsked) return;
      isAsked = true;
      clearTimeout(next);
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(answerMaxMs)]);
      readJson<T>(address, { signal }).then(
        (data) => settle({ data, state: "on" }),
        () => settle({ state: "lost" }),
      );
    };
    const settle = (part: Partial<Live<T>>): void => {
      if (stop.signal.aborted) return;
      isAsked = false;
      setPolled((before) => ({ ...before, ...part }));
      if (!document.hidden) next = setTimeout(read, everyMs);
    };
    const follow = (): void => {
      clearTimeout(next);
      if (!document.hidden) read();
    };
    document.addEventListener("visibilitychange", follow);
    follow();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      clearTimeout(next);
      stop.abort();
    };
  }, [address, again, everyMs]);
  return polled;
}

export function liveBadge(state: LiveState, { live }: Texts["operations"]): ComponentChild {
  const [tone, words] = (
    {
      starting: ["", live.paused],
      on: ["good", live.on],
      failed: ["bad", live.failed],
      lost: ["bad", live.lost],
    } as const
  )[state];
  return h("span", { role: "status", "data-live": state }, badge(tone, words));
}

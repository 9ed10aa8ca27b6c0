// Which actors to check, and when. A hint is a row of `actor_wake`; the actor's own partition is the source of truth.
//   H1. A hint exists before the commit whose wake-up time it serves, for that time or earlier: a commit whose time is
//       covered by an earlier hint writes none.
//   H2. A hint goes into the slot (ten seconds) of its time, but never into one that is over: so everything behind the floor,
//       the first slot that may contain any, stays empty.
//   H3. A hint is removed only when it is over and older than any commit that may still be on its way, a serial read of
//       the actor says that it is not due, and a hint for the time that the actor then names has been written.
//       A slot that has been read stays a partition of deleted rows until the floor has passed it, and every read walks over them:
//       so a slot is short, and as many hints as Cassandra walks over are ten thousand a second of a region.
//   H4. A hint that is not removed is checked again: a superfluous hint costs a read, a missing one loses work.

import { BoundedMap } from "../../std/bounded-map.ts";
import type { ActorRef } from "../actor-store.ts";
import { readWake } from "./actor-rows.ts";
import type { CassandraSession, Consistency, CqlRow } from "./session.ts";

export interface WakeHintsOptions {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Consistency level of hints, the same as that of the commits that they serve. */
  readonly consistency: Consistency;
}

export interface DueActor {
  readonly ref: ActorRef;
  readonly wakeAtMs: number;
}

interface Hint extends DueActor {
  readonly region: string;
  readonly slot: number;
  /** When the hint was written, by its writer's clock. */
  readonly hintedAtMs: number;
}

export const slotMs = 10_000;
/** Number of slots that another node, whose clock is behind or which is writing, may not consider over yet: above `writeMs` and `skewMs`. */
const openSlots = 6;
/** How far back a new region's floor is: before anything that another node may be writing at the same time. */
const firstSlots = 12;
/** A hint is written within this time after its slot was chosen, or else written again. */
const writeMs = 20_000;
/** A hint this close may be removed before the commit that relies on it is applied (H1, H3). */
const relianceMs = 15_000;
/** A commit that took longer than this may have arrived after its hint was removed. */
const commitMs = 10_000;
/** Maximum clock skew between nodes, with a margin. */
const skewMs = 3_000;
/** No commit is on its way for longer than this (H3). */
const graceMs = 60_000;
/** How soon a hint that was found not due is checked again. */
const lookAgainMs = 10_000;
const staleMax = 20_000;
const pageRows = 500;
const lanes = 8;

const cql = {
  hint: `INSERT INTO actor_wake (region, slot, wake_at, kind, id, hinted_at) VALUES (?, ?, ?, ?, ?, ?)`,
  remove: "DELETE FROM actor_wake WHERE region = ? AND slot = ? AND wake_at = ? AND kind = ? AND id = ?",
  slot: "SELECT wake_at, kind, id, hinted_at FROM actor_wake WHERE region = ? AND slot = ? AND wake_at <= ?",
  any: "SELECT wake_at FROM actor_wake WHERE region = ? AND slot = ? LIMIT 1",
  floor: "SELECT slot FROM actor_wake_floor WHERE region = ?",
  // The slot number is used as the write timestamp: the higher of two floors wins, in whatever order they are written.
  raise: "INSERT INTO actor_wake_floor (region, slot) VALUES (?, ?) USING TIMESTAMP ?",
} as const;

/** Whether a commit that wakes its actor at `wakeAtMs` must write a hint, when one at `hintAtMs` is kept (H1). */
export function needsHint(wakeAtMs: number | null, hintAtMs: number | null, nowMs: number): boolean {
  if (wakeAtMs === null) return false;
  return hintAtMs === null || wakeAtMs < hintAtMs || hintAtMs <= nowMs + relianceMs;
}

/** Whether a commit that began at `sinceMs` must have its hint written again, now that it is applied. */
export function wasSlow(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs > commitMs;
}

export class WakeHints {
  readonly #session: CassandraSession;
  readonly #options: WakeHintsOptions;
  readonly #floors = new Map<string, number>();
  /** Hints that were not due, and when to check them again. */
  readonly #stale = new BoundedMap<string, number>(staleMax);

  constructor(session: CassandraSession, options: WakeHintsOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Throws StoreError; the hint is certain to exist only once this has returned. */
  async write(region: string, ref: ActorRef, wakeAtMs: number, consistency?: Consistency): Promise<void> {
    for (;;) {
      const nowMs = this.#options.now();
      const slot = Math.max(slotOf(wakeAtMs), slotOf(nowMs));
      await this.#floor(region);
      await this.#session.execute(cql.hint, [region, slot, wakeAtMs, ref.kind, ref.id, nowMs], {
        consistency: consistency ?? this.#options.consistency,
        idempotent: true,
      });
      // A process that was paused meanwhile may have written into a slot that is over (H2).
      if (this.#options.now() - nowMs <= writeMs) return;
    }
  }

  /** Actors of the regions that are due at `nowMs`; earliest first among those found, which are all up to `limit`. */
  async due(regions: readonly string[], nowMs: number, limit: number): Promise<readonly DueActor[]> {
    const found = new Map<string, DueActor>();
    for (const region of regions) {
      await this.#walk(region, nowMs, async (hints) => {
        for (const due of await this.#check(hints, regions, nowMs)) {
          found.set(`${due.ref.kind}\n${due.ref.id}`, due);
        }
        return found.size < limit;
      });
      if (found.size >= limit) break;
    }
    return [...found.values()].sort((a, b) => a.wakeAtMs - b.wakeAtMs).slice(0, limit);
  }

  /** Passes the region's hints up to `nowMs`, page by page, to `take` until it wants no more. */
  async #walk(
    region: string,
    nowMs: number,
    take: (hints: readonly Hint[]) => Promise<boolean>,
  ): Promise<void> {
    const first = await this.#floor(region);
    const last = slotOf(Math.max(nowMs, this.#options.now() + skewMs));
    let isFloor = true;
    for (let from = first; from <= last; from += lanes) {
      const slots = Array.from({ length: Math.min(lanes, last - from + 1) }, (_, lane) => from + lane);
      const pages = await Promise.all(slots.map((slot) => this.#page(region, slot, nowMs)));
      const full = pages.findIndex(({ hints }) => hints.length > 0);
      const empty = full < 0 ? slots : slots.slice(0, full);
      if (isFloor) isFloor = await this.#close(region, empty, slots.length);
      for (const [lane, slot] of slots.entries()) {
        let page = pages[lane];
        while (page !== undefined) {
          if (page.hints.length > 0 && !(await take(page.hints))) return;
          page = page.next === null ? undefined : await this.#page(region, slot, nowMs, page.next);
        }
      }
    }
  }

  async #page(region: string, slot: number, nowMs: number, pageState?: string) {
    const page = await this.#session.execute(cql.slot, [region, slot, nowMs], {
      idempotent: true,
      fetchSize: pageRows,
      ...(pageState === undefined ? {} : { pageState }),
    });
    return { hints: page.rows.map((row) => toHint(region, slot, row)), next: page.pageState };
  }

  /** Returns those of `hints` that are really due; the others are corrected (H3). */
  async #check(
    hints: readonly Hint[],
    regions: readonly string[],
    nowMs: number,
  ): Promise<readonly DueActor[]> {
    const due: DueActor[] = [];
    const realMs = this.#options.now();
    const open = hints.filter((hint) => (this.#stale.get(keyOf(hint)) ?? 0) <= realMs);
    await eachOf(open, async (hint) => {
      const truth = await readWake(this.#session, hint.ref, "LOCAL_QUORUM");
      const isOurs = truth !== null && regions.includes(truth.home);
      if (isOurs && truth.wakeAtMs !== null && truth.wakeAtMs <= nowMs) {
        due.push({ ref: hint.ref, wakeAtMs: truth.wakeAtMs });
      } else await this.#settle(hint, realMs, truth?.wakeAtMs ?? null);
    });
    return due;
  }

  /** H3, H4: removes a hint that is over and not due. */
  async #settle(hint: Hint, nowMs: number, wakeAtMs: number | null): Promise<void> {
    const againMs = nowMs + lookAgainMs;
    this.#stale.set(
      keyOf(hint),
      wakeAtMs === null || wakeAtMs <= nowMs ? againMs : Math.min(againMs, wakeAtMs),
    );
    if (hint.wakeAtMs > nowMs - skewMs || hint.hintedAtMs > nowMs - graceMs) return;
    const truth = await readWake(this.#session, hint.ref, "LOCAL_SERIAL");
    if (truth !== null && truth.wakeAtMs !== null) {
      await this.write(truth.home, hint.ref, truth.wakeAtMs);
    }
    const { region, slot, ref } = hint;
    const key = [region, slot, hint.wakeAtMs, ref.kind, ref.id];
    await this.#session.execute(cql.remove, key, { idempotent: true });
  }

  /** Raises the floor past those of the next slots that are empty and over for every node (H2); whether these are `wanted` slots. */
  async #close(region: string, slots: readonly number[], wanted: number): Promise<boolean> {
    const lastOver = slotOf(this.#options.now()) - openSlots;
    const over = slots.filter((slot) => slot <= lastOver);
    const found = await Promise.all(
      over.map((slot) => this.#session.execute(cql.any, [region, slot], { idempotent: true })),
    );
    const full = found.findIndex(({ rows }) => rows.length > 0);
    const last = over.at(full < 0 ? -1 : full - 1);
    if (full === 0 || last === undefined) return false;
    this.#floors.set(region, last + 1);
    await this.#session.execute(cql.raise, [region, last + 1, last + 1], { idempotent: true });
    return full < 0 && over.length === wanted;
  }

  /** Reads the region's floor once, or creates it if the region has none; only {@link #close} moves it. */
  async #floor(region: string): Promise<number> {
    const known = this.#floors.get(region);
    if (known !== undefined) return known;
    const { rows } = await this.#session.execute(cql.floor, [region], { idempotent: true });
    const stored = rows[0]?.["slot"];
    const floor = typeof stored === "number" ? stored : slotOf(this.#options.now()) - firstSlots;
    if (typeof stored !== "number") {
      await this.#session.execute(cql.raise, [region, floor, floor], { idempotent: true });
    }
    this.#floors.set(region, floor);
    return floor;
  }
}

function slotOf(ms: number): number {
  return Math.floor(ms / slotMs);
}

function keyOf(hint: Hint): string {
  const { region, slot, wakeAtMs, hintedAtMs, ref } = hint;
  return `${region}/${slot}/${wakeAtMs}/${hintedAtMs}/${ref.kind}/${ref.id}`;
}

function toHint(region: string, slot: number, row: CqlRow): Hint {
  return {
    region,
    slot,
    ref: { kind: String(row["kind"]), id: String(row["id"]) },
    wakeAtMs: Number(row["wake_at"]),
    hintedAtMs: Number(row["hinted_at"]),
  };
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: Math.min(lanes, items.length) }, async (_, lane) => {
      for (let at = lane; at < items.length; at += lanes) await work(items[at] as T);
    }),
  );
}

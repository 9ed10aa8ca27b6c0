// Which actors to look at, and when. A hint is a row of `actor_wake`; the actor's own partition is the truth.
//   H1. A hint is there before the commit whose wake-up time it serves, at that time or earlier: a commit whose time
//       is covered by an earlier hint writes none.
//   H2. A hint lies in the slot (a minute) of its time, but never in one that is over: so what lies behind the floor,
//       the first slot that may hold any, stays empty.
//   H3. A hint is removed only when it is over, older than any commit that may still be on its way, a serial read of
//       the actor says that it is not due, and a hint for the time that the actor then names is written.
//   H4. What is not removed is looked at again: a hint too many costs a read, a hint too few loses work.

import { BoundedMap } from "../../std/bounded-map.ts";
import type { ActorRef } from "../actor-store.ts";
import { readWake } from "./actor-rows.ts";
import type { CassandraSession, Consistency, CqlRow } from "./session.ts";

export interface WakeHintsOptions {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Of hints, as of the commits that they serve. */
  readonly consistency: Consistency;
}

export interface DueActor {
  readonly ref: ActorRef;
  readonly wakeAtMs: number;
}

interface Hint extends DueActor {
  readonly region: string;
  readonly slot: number;
  /** When it was written, by its writer's clock. */
  readonly hintedAtMs: number;
}

const slotMs = 60_000;
/** Slots of which another node, whose clock is behind, may think that they are not over. */
const openSlots = 3;
/** A new region's floor: before anything that another node may be writing at the same time. */
const firstSlots = 10;
/** A hint is written within this much of choosing its slot, or again. */
const writeMs = 20_000;
/** A hint this close may be removed before the commit that relies on it is applied (H1, H3). */
const relianceMs = 15_000;
/** A commit that took longer than this may have come after its hint was removed. */
const commitMs = 10_000;
/** How far clocks of nodes are apart at most, with room to spare. */
const skewMs = 3_000;
/** No commit is on its way for longer (H3). */
const graceMs = 60_000;
/** How soon a hint that was found not due is looked at again. */
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
  // Its own number as its time: of two floors the higher one stands, in whatever order they are written.
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
  /** Hints that were not due, and when to look at them again. */
  readonly #stale = new BoundedMap<string, number>(staleMax);

  constructor(session: CassandraSession, options: WakeHintsOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Throws StoreError; until it returns the hint is not certain to be there. */
  async write(region: string, ref: ActorRef, wakeAtMs: number, consistency?: Consistency): Promise<void> {
    for (;;) {
      const nowMs = this.#options.now();
      const slot = Math.max(slotOf(wakeAtMs), slotOf(nowMs));
      await this.#floor(region);
      await this.#session.execute(cql.hint, [region, slot, wakeAtMs, ref.kind, ref.id, nowMs], {
        consistency: consistency ?? this.#options.consistency,
        idempotent: true,
      });
      // A process that stood still meanwhile may have written into a slot that is over (H2).
      if (this.#options.now() - nowMs <= writeMs) return;
    }
  }

  /** Actors of the regions that are due at `nowMs`; earliest first among those found, which is all up to `limit`. */
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

  /** Gives the region's hints up to `nowMs`, page by page, until `take` wants no more. */
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
      for (const [lane, slot] of slots.entries()) {
        let page = pages[lane];
        if (isFloor && page?.hints.length === 0) isFloor = await this.#close(region, slot);
        else isFloor = false;
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

  /** Those of `hints` that are due in truth; the others are put in order (H3). */
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

  /** Raises the floor over an empty slot that is over for every node (H2); false when it must stay. */
  async #close(region: string, slot: number): Promise<boolean> {
    if (slot > slotOf(this.#options.now()) - openSlots) return false;
    const { rows } = await this.#session.execute(cql.any, [region, slot], { idempotent: true });
    if (rows.length > 0) return false;
    this.#floors.set(region, slot + 1);
    await this.#session.execute(cql.raise, [region, slot + 1, slot + 1], { idempotent: true });
    return true;
  }

  /** Reads the region's floor once, or lays it when the region has none; nothing but {@link #close} moves it. */
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

// Which actors to check, and when. A hint is a row of `actor_wake`; the actor's own partition is the source of truth.
//   H1. A hint exists before the commit whose wake-up time it serves, for that time or earlier: a commit whose time is
//       covered by an earlier hint writes none.
//   H2. A hint goes into the slot (ten seconds) of its time, but never into one that is over: so everything behind the floor,
//       the first slot that may contain any, stays empty.
//   H3. A hint is settled once its slot is over, when no commit that relies on it can be on its way any more: a serial read of the actor
//       says when it has to be woken, and a hint for that time is written, unless one in a later slot is known.
//   H4. A hint that is not settled is checked again: a superfluous hint costs a read, a missing one loses work.
//   H5. Hints are deleted by whole slots: a slot goes when it is over and all of its hints are settled. So no read passes over rows
//       that were deleted, however many hints there are.

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

interface SlotPart {
  readonly region: string;
  readonly slot: number;
  /** Hints for later times are not read. */
  readonly untilMs: number;
}

interface HintPage extends SlotPart {
  readonly hints: readonly Hint[];
  readonly next: string | null;
}

/** Whether more hints are wanted. */
type Take = (hints: readonly Hint[], isOver: boolean) => Promise<boolean>;
type ActorWake = NonNullable<Awaited<ReturnType<typeof readWake>>>;

const everMs = Number.MAX_SAFE_INTEGER;
export const slotMs = 10_000;
/**
 * Number of slots that may not be over yet: another node, whose clock is behind, may be writing into them, or a commit that relies on
 * a hint in them may be on its way. Above `writeMs`, and a minute, and `skewMs`.
 */
const openSlots = 8;
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
/** How soon a hint that was found not due is checked again, at first; after that, when it has become twice as old. */
const lookAgainMs = 10_000;
/** Hints that are remembered: those of a minute and a half, at a thousand a second. */
const staleMax = 100_000;
const settled = Number.POSITIVE_INFINITY;
const pageRows = 500;
const lanes = 8;

const cql = {
  hint: `INSERT INTO actor_wake (region, slot, wake_at, kind, id, hinted_at) VALUES (?, ?, ?, ?, ?, ?)`,
  remove: "DELETE FROM actor_wake WHERE region = ? AND slot = ?",
  slot: "SELECT wake_at, kind, id, hinted_at FROM actor_wake WHERE region = ? AND slot = ? AND wake_at <= ?",
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
  /** Hints that were not due, and when to check them again; never those that are settled. */
  readonly #stale = new BoundedMap<string, number>(staleMax);
  /** The hint in the highest slot of each actor that was found due (H3). */
  readonly #newest = new BoundedMap<string, Hint>(staleMax);

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
      await this.#walk(region, nowMs, async (hints, isOver) => {
        for (const due of await this.#check(hints, { regions, nowMs, isOver })) {
          found.set(actorOf(due.ref), due);
        }
        return found.size < limit;
      });
      if (found.size >= limit) break;
    }
    return [...found.values()].sort((a, b) => a.wakeAtMs - b.wakeAtMs).slice(0, limit);
  }

  /** Passes the region's hints up to `nowMs`, and all of slots that are over, page by page, to `take` until it wants no more. */
  async #walk(region: string, nowMs: number, take: Take): Promise<void> {
    const first = await this.#floor(region);
    const realMs = this.#options.now();
    const last = slotOf(Math.max(nowMs, realMs + skewMs));
    const lastOver = slotOf(realMs) - openSlots;
    for (let from = first; from <= last; from += lanes) {
      const slots = Array.from({ length: Math.min(lanes, last - from + 1) }, (_, lane) => from + lane);
      const pages = await Promise.all(
        slots.map((slot) => this.#page({ region, slot, untilMs: slot <= lastOver ? everMs : nowMs })),
      );
      let isWanted = true;
      let floor = from;
      for (const page of pages) {
        const isOver = page.slot <= lastOver;
        isWanted = await this.#takeSlot(page, (hints) => take(hints, isOver));
        if (!isWanted) break;
        if (isOver) floor = page.slot + 1;
        if (isOver && page.hints.length > 0)
          await this.#session.execute(cql.remove, [region, page.slot], { idempotent: true });
      }
      if (floor > from) await this.#raise(region, floor);
      if (!isWanted) return;
    }
  }

  /** Passes on the hints of a slot, of which this is the first page; whether `take` wanted them all. */
  async #takeSlot(first: HintPage, take: (hints: readonly Hint[]) => Promise<boolean>): Promise<boolean> {
    let page = first;
    for (;;) {
      if (page.hints.length > 0 && !(await take(page.hints))) return false;
      if (page.next === null) return true;
      page = await this.#page(page, page.next);
    }
  }

  async #page({ region, slot, untilMs }: SlotPart, pageState?: string): Promise<HintPage> {
    const page = await this.#session.execute(cql.slot, [region, slot, untilMs], {
      idempotent: true,
      fetchSize: pageRows,
      ...(pageState === undefined ? {} : { pageState }),
    });
    const hints = page.rows.map((row) => toHint(region, slot, row));
    return { region, slot, untilMs, hints, next: page.pageState };
  }

  /** Returns those of `hints` that are really due; if their slot is over, all of them are settled (H3). */
  async #check(
    hints: readonly Hint[],
    about: { readonly regions: readonly string[]; readonly nowMs: number; readonly isOver: boolean },
  ): Promise<readonly DueActor[]> {
    const { regions, nowMs, isOver } = about;
    const due: DueActor[] = [];
    const realMs = this.#options.now();
    const open = hints.filter((hint) => {
      const againMs = this.#stale.get(keyOf(hint)) ?? 0;
      return isOver ? againMs !== settled : againMs <= realMs;
    });
    await eachOf(open, async (hint) => {
      const truth = await readWake(this.#session, hint.ref, isOver ? "LOCAL_SERIAL" : "LOCAL_QUORUM");
      const wakeAtMs = truth?.wakeAtMs ?? null;
      const isDue = truth !== null && regions.includes(truth.home) && wakeAtMs !== null && wakeAtMs <= nowMs;
      if (isDue) due.push({ ref: hint.ref, wakeAtMs });
      if (isOver) await this.#settle(hint, truth);
      else if (isDue) this.#noteDue(hint);
      else this.#stale.set(keyOf(hint), againAt(hint, { realMs, wakeAtMs }));
    });
    return due;
  }

  #noteDue(hint: Hint): void {
    const actor = actorOf(hint.ref);
    const known = this.#newest.get(actor);
    if (known === undefined || known.region !== hint.region || known.slot < hint.slot)
      this.#newest.set(actor, hint);
  }

  /** See H3. Of an actor that stays due, one hint goes on, in whatever slots several nodes wrote theirs. */
  async #settle(hint: Hint, truth: ActorWake | null): Promise<void> {
    if (truth !== null && truth.wakeAtMs !== null) {
      const { home, wakeAtMs } = truth;
      const newest = this.#newest.get(actorOf(hint.ref));
      const isKnown =
        newest !== undefined &&
        newest.region === home &&
        newest.wakeAtMs <= wakeAtMs &&
        (newest.slot > hint.slot || newest.region !== hint.region);
      if (!isKnown) await this.write(home, hint.ref, wakeAtMs);
    }
    this.#stale.set(keyOf(hint), settled);
  }

  /** Everything before `floor` is over for every node and gone (H2, H5). */
  async #raise(region: string, floor: number): Promise<void> {
    this.#floors.set(region, floor);
    await this.#session.execute(cql.raise, [region, floor, floor], { idempotent: true });
  }

  /** Reads the region's floor once, or creates it if the region has none; only {@link #walk} moves it. */
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

/** When to check a hint again that is not due: twice as old as now, or when its actor is to be woken. */
function againAt(
  hint: Hint,
  { realMs, wakeAtMs }: { readonly realMs: number; readonly wakeAtMs: number | null },
) {
  const ageMs = realMs - Math.max(hint.wakeAtMs, hint.hintedAtMs);
  const againMs = realMs + Math.max(lookAgainMs, ageMs);
  return wakeAtMs === null || wakeAtMs <= realMs ? againMs : Math.min(againMs, wakeAtMs);
}

function actorOf({ kind, id }: ActorRef): string {
  return `${kind}\n${id}`;
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

// Scheduled events, earliest first: a binary heap ordered by (time, order).

/** The owner of events: a crash ends it, and a pause suspends it (K3 in kernel.ts). */
export interface EventOwner {
  readonly isOver: boolean;
  readonly isAsleep: boolean;
  /** For a suspended owner: the events that came due in the meantime. */
  readonly missed: SimEvent[];
}

export interface SimEvent {
  /** The world's time in Unix milliseconds. */
  readonly atMs: number;
  readonly order: number;
  readonly label: string;
  /** Null once cancelled. */
  run: (() => void) | null;
  /** Null for the world's own events. */
  readonly life: EventOwner | null;
}

export class EventHeap {
  readonly #events: SimEvent[] = [];

  push(event: SimEvent): void {
    const events = this.#events;
    let index = events.length;
    events.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = events[parent] as SimEvent;
      if (isBefore(above, event)) break;
      events[index] = above;
      index = parent;
    }
    events[index] = event;
  }

  pop(): SimEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= events.length) break;
      const right = events[child + 1];
      if (right !== undefined && isBefore(right, events[child] as SimEvent)) child += 1;
      const below = events[child] as SimEvent;
      if (isBefore(last, below)) break;
      events[index] = below;
      index = child;
    }
    events[index] = last;
    return first;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

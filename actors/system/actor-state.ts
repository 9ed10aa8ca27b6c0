// What an activation knows of its actor: what its journal says, and so what a turn is decided over.

import type { AnyMachineSnapshot } from "xstate";
import type { Message } from "./definition.ts";

export interface Timer {
  readonly id: string;
  /** Unix milliseconds. */
  readonly dueMs: number;
  readonly event: Message;
}

/** How far a sender was heard, and until when that is remembered. */
export interface Heard {
  readonly seq: number;
  readonly expiresAtMs: number;
}

export interface ActorState {
  epoch: number;
  head: number;
  op: string;
  /** Sequence of the last event. */
  seq: number;
  snapshotSeq: number;
  snapshot: AnyMachineSnapshot;
  timers: Map<string, Timer>;
  inbox: Map<string, Heard>;
  /** Newest events, oldest first, for operators. */
  recent: unknown[];
}

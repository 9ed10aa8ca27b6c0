// What an activation knows about its actor: the state that its journal contains, over which a turn is decided.

import type { AnyMachineSnapshot } from "xstate";
import type { ClaimedNames } from "./claimed-names.ts";
import type { Message } from "./definition.ts";
import type { KeptRows } from "./kept-rows.ts";

export interface Timer {
  readonly id: string;
  /** Unix milliseconds. */
  readonly dueMs: number;
  readonly event: Message;
}

/** The highest sequence received from a sender, and until when that is remembered. */
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
  /** Null until the first command that needs them. */
  names: ClaimedNames | null;
  /** Null for a kind that keeps none. */
  readonly kept: KeptRows | null;
  /** The newest events, oldest first, for operators. */
  recent: unknown[];
}

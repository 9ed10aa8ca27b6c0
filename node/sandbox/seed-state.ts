// The progress of seeding a sandbox, in `sandbox-seed.json`. Seals carry the instants stored here, so that a seeding that
// was interrupted seals the same documents again and the service recognises them.

import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import type { Clock } from "../../crypto/port.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";

export interface SeedState {
  readonly v: 1;
  /** Timestamps. */
  readonly first_started_at: string;
  /** The instant from which registered items are in force. */
  readonly since: string;
  /** When everything that a seal names was registered; null before that. */
  readonly sealing_at: string | null;
  /**
   * Later sealing instants, for seedings that resumed when seals with the first one were too old to be accepted; oldest
   * first.
   */
  readonly sealed_again_at?: readonly string[];
  /** Whether everything is published. */
  readonly is_complete: boolean;
  /** A record to try things with; null until it is known. */
  readonly example_record_id: string | null;
}

export interface SeedJournal {
  readonly state: SeedState;
  /** Stores the state durably before it returns. */
  advance(change: Partial<Omit<SeedState, "v" | "first_started_at">>): Promise<void>;
}

/** Opens the state in `path`, or creates one with these instants (timestamps) if there is none. */
export async function openSeedJournal(
  path: string,
  { now, since }: { readonly now: string; readonly since: string },
): Promise<SeedJournal> {
  const text = await readFileIfThere(path);
  let state: SeedState =
    text === null
      ? { v: 1, first_started_at: now, since, sealing_at: null, is_complete: false, example_record_id: null }
      : parseSeedState(path, text);
  if (text === null) await save(path, state);
  return {
    get state() {
      return state;
    },
    advance: async (change) => {
      const next = { ...state, ...change };
      await save(path, next);
      state = next;
    },
  };
}

/** The instants at which records are sealed: the stored ones and, once these are too old, one more. */
export interface SealingInstants {
  kept(): readonly string[];
  /** One per seeding, stored before it is used. */
  another(): Promise<void>;
}

export function sealingInstants(journal: SeedJournal, clock: Clock): SealingInstants {
  let another: Promise<void> | null = null;
  return {
    kept: () => {
      const { sealing_at, sealed_again_at = [] } = journal.state;
      return [...(sealing_at === null ? [] : [sealing_at]), ...sealed_again_at];
    },
    another: () => {
      const { sealed_again_at = [] } = journal.state;
      another ??= journal.advance({
        sealed_again_at: [...sealed_again_at, formatTimestamp(clock.now())],
      });
      return another;
    },
  };
}

function save(path: string, state: SeedState): Promise<void> {
  return replaceFile(path, `${JSON.stringify(state, null, 2)}\n`);
}

function parseSeedState(path: string, text: string): SeedState {
  const state = JSON.parse(text) as SeedState;
  if (state.v !== 1 || parseTimestamp(state.first_started_at) === null) {
    throw new Error(`${path} was not written by this program. Move the home folder and start again.`);
  }
  return state;
}

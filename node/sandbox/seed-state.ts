// How far the filling of a sandbox came, in `sandbox-seed.json`. What is sealed carries the instants kept here, so that
// a filling that was interrupted seals the same documents again, and the service recognises them.

import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import type { Clock } from "../../crypto/port.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";

export interface SeedState {
  readonly v: 1;
  /** Timestamps. */
  readonly first_started_at: string;
  /** From when what is registered is in force; sandboxes of an earlier release have it from their first start. */
  readonly since?: string;
  /** When everything that a seal names was registered; null before. */
  readonly sealing_at: string | null;
  /** Later instants of sealing, of fillings that went on when seals of the first were too old to be taken; oldest first. */
  readonly sealed_again_at?: readonly string[];
  /** Everything is published. */
  readonly is_complete: boolean;
  /** A record to try things with; null before it is known. */
  readonly example_record_id: string | null;
}

export interface SeedJournal {
  readonly state: SeedState;
  /** Kept durably before it returns. */
  advance(change: Partial<Omit<SeedState, "v" | "first_started_at">>): Promise<void>;
}

/** Opens the state in `path`, beginning a new one with these instants (timestamps) when there is none. */
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

/** When records are sealed: at the instants that were kept, and once these are too long ago, at one more. */
export interface SealingInstants {
  kept(): readonly string[];
  /** One for each filling, kept before it is used. */
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

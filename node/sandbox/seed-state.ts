// How far the filling of a sandbox came, in `sandbox-seed.json`. What is sealed carries the instants kept here, so that
// a filling that was interrupted seals the same documents again, and the service recognises them.

import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import { parseTimestamp } from "../../protocol/identifiers.ts";

export interface SeedState {
  readonly v: 1;
  /** Timestamps. */
  readonly first_started_at: string;
  /** From when what is registered is in force; sandboxes of an earlier release have it from their first start. */
  readonly since?: string;
  /** When everything that a seal names was registered; null before. */
  readonly sealing_at: string | null;
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

function save(path: string, state: SeedState): Promise<void> {
  return replaceFile(path, `${JSON.stringify(state, null, 2)}\n`);
}

function parseSeedState(path: string, text: string): SeedState {
  const state = JSON.parse(text) as SeedState;
  if (state.v !== 1 || parseTimestamp(state.first_started_at) === null) {
    throw new Error(`${path} was not written by this program. Move the home folder away and start again.`);
  }
  return state;
}

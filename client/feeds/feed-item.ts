// What reading a feed yields: for each item the exact bytes to seal, and notes on what the record does not say.

import { detailLengthMax } from "../../protocol/result.ts";

/** What a note means for its item. */
export type NoteEffect = "item_left_out" | "attribute_left_out" | "value_changed" | "value_kept";

/** Why something of an item is not in the record. Codes never change their meaning (client/README.md lists them). */
export type NoteCode =
  | "attribute_not_in_schema"
  | "value_invalid"
  | "value_missing"
  | "value_shortened"
  | "value_doubtful"
  | "value_rewritten"
  | "markup_removed"
  | "given_twice"
  | "duplicate_in_file"
  | "feeds_differ"
  | "category_unknown"
  | "expired"
  | "syntax_invalid"
  | "record_invalid"
  | "record_too_large";

export interface FeedNote {
  readonly effect: NoteEffect;
  /** Name of the attribute or column, as the feed spells it; empty for the item as a whole. */
  readonly attribute: string;
  /** The value, cut to a bounded length. */
  readonly value: string;
  readonly code: NoteCode;
  readonly detail: string;
}

export interface FeedItem {
  /** Line on which the item starts, or its index in a JSON array; counted from 1. */
  readonly place: number;
  /** The business's own id of the item, where it could be read. */
  readonly id: string | null;
  /** The exact bytes to seal; null for an item that cannot be published. */
  readonly bytes: Uint8Array | null;
  readonly notes: readonly FeedNote[];
}

/** The file cannot be read on from some place, so nothing of it can be relied on. */
export class FeedError extends Error {
  /** Line or item; 0 for the file as a whole. */
  readonly place: number;

  constructor(place: number, detail: string) {
    super(detail);
    this.name = "FeedError";
    this.place = place;
  }
}

const valueLengthMax = 120;

/** A note of a feed's item; the value and the detail are cut to what a report shows. */
export function note(
  effect: NoteEffect,
  code: NoteCode,
  about: { readonly attribute: string; readonly value?: string; readonly detail: string },
): FeedNote {
  const { attribute, value = "", detail } = about;
  const shown = value.length > valueLengthMax ? `${value.slice(0, valueLengthMax - 1)}…` : value;
  return { effect, attribute, value: shown, code, detail: detail.slice(0, detailLengthMax) };
}

/** The item at a place of which nothing is published, not even its id, for a reason. */
export function leftOut(place: number, why: FeedNote): FeedItem {
  return { place, id: null, bytes: null, notes: [why] };
}

/** A value was written in the form that records use. */
export function valueRewritten(attribute: string, value: string, detail: string): FeedNote {
  return note("value_changed", "value_rewritten", { attribute, value, detail });
}

/** A text was longer than the `max` characters that records allow. */
export function valueShortened(attribute: string, value: string, max: number): FeedNote {
  const detail = `Shortened to at most ${max} characters.`;
  return note("value_changed", "value_shortened", { attribute, value, detail });
}

/** Markup in a text was turned into the text that it shows. */
export function markupRemoved(attribute: string, value: string): FeedNote {
  const detail = "Markup became the text that it shows.";
  return note("value_changed", "markup_removed", { attribute, value, detail });
}

/** What looks like markup in a record is sealed as it is. */
export function markupKept(attribute: string, value: string): FeedNote {
  const detail = "A record is sealed as it is: readers see this markup.";
  return note("value_kept", "value_doubtful", { attribute, value, detail });
}

/** A price of nothing is published as it is. */
export function forNothing(attribute: string, value: string): FeedNote {
  const detail = "It is published as given away; leave such an item out of the file if it is not.";
  return note("value_kept", "value_doubtful", { attribute, value, detail });
}

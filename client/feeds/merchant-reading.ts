// What an item of a merchant feed says, attribute by attribute, with notes on what it cannot mean.

import { type FeedNote, type NoteCode, type NoteEffect, note } from "./feed-item.ts";
import type { ReadValue } from "./feed-values.ts";
import type { MerchantItem } from "./merchant-item.ts";

/** A shop's own words for what an attribute says, by attribute; null for an attribute that is left out. */
export type Words = ReadonlyMap<string, Readonly<Record<string, string>> | null>;

/** The parts of `shipping` besides its country, without which it holds wherever the product is offered. */
const shippingPart = /^(?:region|service|price|postal_code|location_|(?:min|max)_|handling_)/;

/** What an item says, read once: an attribute that is asked for counts as used. */
export class Reading {
  readonly notes: FeedNote[];
  readonly #item: MerchantItem;
  readonly #words: Words;
  readonly #used = new Set<string>();

  constructor(item: MerchantItem, words: Words) {
    this.#item = item;
    this.#words = words;
    this.notes = [...item.notes];
  }

  /** The value of an attribute that has one. */
  first(name: string): string | null {
    const isFirst = !this.#used.has(name);
    if (isFirst && this.#item.groups.has(name))
      this.#unreadable(
        name,
        [...(this.#item.groups.get(name)?.[0] ?? [])].join(" "),
        "Has elements in it: write text alone.",
      );
    const [value = null, ...others] = new Set(this.all(name));
    if (isFirst && value !== null && others.length > 0)
      this.tell(
        "item_left_out",
        "given_twice",
        name,
        `Has other values as well: ${others.join(", ")}. Give one.`,
      );
    return value;
  }

  all(name: string): readonly string[] {
    this.#use(name);
    if (this.#words.get(name) === null) return [];
    return (this.#item.attributes.get(name) ?? []).map((value) => this.#meant(name, value));
  }

  parts(name: string): readonly ReadonlyMap<string, string>[] {
    this.#use(name);
    return this.#words.get(name) === null ? [] : (this.#item.groups.get(name) ?? []);
  }

  /** A country is given as a shop's own word where the mapping translates those of `shipping`. */
  countries(name: string): readonly string[] {
    return this.parts(name).flatMap((parts) => {
      const country = parts.get("country");
      if (country !== undefined) return [this.#meant(name, country).toUpperCase()];
      const odd = [...parts].find(([part]) => !shippingPart.test(part));
      if (odd !== undefined)
        this.#unreadable(name, odd.join(" "), "Has no country, and a part that nobody knows.");
      return [];
    });
  }

  #use(name: string): void {
    const broken = this.#item.unreadable.get(name);
    if (broken !== undefined && !this.#used.has(name)) this.#unreadable(name, broken.value, broken.detail);
    this.#used.add(name);
  }

  #unreadable(name: string, value: string, detail: string): void {
    if (this.#words.get(name) !== null) this.tell("item_left_out", "syntax_invalid", name, detail, value);
  }

  #meant(name: string, value: string): string {
    const words = this.#words.get(name) ?? {};
    return Object.hasOwn(words, value) ? (words[value] ?? value) : value;
  }

  unused(): ReadonlyMap<string, string> {
    const { attributes, groups, unreadable } = this.#item;
    const broken = [...unreadable].map(([name, { value }]) => [name, value] as const);
    const values = [...attributes].map(([name, [value = ""]]) => [name, value] as const);
    const grouped = [...groups].map(([name, [parts]]) => [name, [...(parts ?? [])].join(" ")] as const);
    const isUnused = (name: string): boolean => !this.#used.has(name) && this.#words.get(name) !== null;
    return new Map([...broken, ...values, ...grouped].filter(([name]) => isUnused(name)));
  }

  tell(effect: NoteEffect, code: NoteCode, attribute: string, detail: string, value?: string): void {
    const said = value ?? this.#item.attributes.get(attribute)?.[0] ?? "";
    this.notes.push(note(effect, code, { attribute, value: said, detail }));
  }

  /** The attribute's value as it is read; a fault leaves the item out. */
  read(name: string, as: (value: string) => ReadValue): string | null {
    const written = this.first(name);
    if (written === null) return null;
    const read = as(written);
    if (read.fault !== null) this.tell("item_left_out", "value_invalid", name, read.fault);
    else if (read.change !== null) this.tell("value_changed", "value_rewritten", name, read.change);
    return read.fault === null ? read.value : null;
  }
}

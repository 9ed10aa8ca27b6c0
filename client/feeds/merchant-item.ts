// One item of a Google Merchant product feed, as its attributes by name, whichever form the feed has.

import { type FeedNote, note } from "./feed-item.ts";

/** Attributes of attributes, such as `country` of `shipping`. */
export type Parts = ReadonlyMap<string, string>;

export interface MerchantItem {
  readonly place: number;
  /** Values by attribute name; an attribute may be given several times. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** Attributes that have parts, in the order given. */
  readonly groups: ReadonlyMap<string, readonly Parts[]>;
  /** Attributes whose form cannot be read, with what is wrong. */
  readonly unreadable: ReadonlyMap<string, { readonly value: string; readonly detail: string }>;
  /** What was passed over. */
  readonly notes: readonly FeedNote[];
}

/** The attributes with parts that matter here, with the default order of their parts. */
const defaultParts: Readonly<Record<string, readonly string[]>> = {
  shipping: ["country", "region", "service", "price"],
};

/** A header is one of a merchant feed when it names the item, and one more attribute that every item must have. */
export function isMerchantHeader(names: readonly string[]): boolean {
  const found = new Set(names.map((name) => attributeName(name.replace(/\(.*\)$/, ""))));
  return found.has("id") && found.has("title") && (found.has("link") || found.has("price"));
}

/** The name of an attribute as the feed specification spells it: `google product category` is `google_product_category`. */
export function attributeName(text: string): string {
  return text.trim().toLowerCase().replace(/^g:/, "").replaceAll(/[ -]+/g, "_");
}

export class MerchantItemBuilder {
  readonly #attributes = new Map<string, string[]>();
  readonly #groups = new Map<string, Parts[]>();
  readonly #plain = new Set<string>();
  readonly #unreadable = new Map<string, { readonly value: string; readonly detail: string }>();
  readonly #notes: FeedNote[] = [];
  readonly #place: number;

  constructor(place: number) {
    this.#place = place;
  }

  /** An attribute with parts may be written in one value, as in tab-separated text: `US:CA:Ground:4.00 USD,DE`. */
  attribute(name: string, value: string, names: readonly string[] | undefined = defaultParts[name]): void {
    const text = value.trim();
    if (text === "") return;
    if (names !== undefined) for (const each of text.split(",")) this.group(name, partsOf(each, names));
    else this.#attributes.set(name, [...(this.#attributes.get(name) ?? []), text]);
  }

  group(name: string, parts: Parts): void {
    if (parts.size > 0) this.#groups.set(name, [...(this.#groups.get(name) ?? []), parts]);
  }

  /** An attribute that counts where the item has none of that name. */
  fallback(name: string, value: string): void {
    if (!this.#attributes.has(name)) this.attribute(name, value);
  }

  /** An element of RSS or Atom, once the item's own attributes are known: those come before it. */
  plain(name: string, value: string): void {
    const text = value.trim();
    const known = this.#attributes.get(name);
    if (known === undefined || this.#plain.has(name)) {
      this.#plain.add(name);
      this.attribute(name, text);
    } else if (text !== "" && !known.includes(text)) {
      const detail = `The item's g:${name} counts.`;
      this.#notes.push(note("attribute_left_out", "given_twice", { attribute: name, value: text, detail }));
    }
  }

  /** The attribute is there, but nobody can tell what it says: an item that needs it is left out. */
  unreadable(name: string, value: string, detail: string): void {
    if (!this.#unreadable.has(name)) this.#unreadable.set(name, { value, detail });
  }

  item(): MerchantItem {
    return {
      place: this.#place,
      attributes: this.#attributes,
      groups: this.#groups,
      unreadable: this.#unreadable,
      notes: this.#notes,
    };
  }
}

function partsOf(value: string, names: readonly string[]): Parts {
  const cells = value.split(":").map((cell) => cell.trim());
  return new Map(
    names.flatMap((name, at) => {
      const cell = cells[at] ?? "";
      return cell === "" ? [] : [[name, cell] as const];
    }),
  );
}

// One item of a Google Merchant product feed, as its attributes by name, whichever form the feed has.

/** Attributes of attributes, such as `country` of `shipping`. */
export type Parts = ReadonlyMap<string, string>;

export interface MerchantItem {
  readonly place: number;
  /** Values by attribute name; an attribute may be given several times. */
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** Attributes that have parts, in the order given. */
  readonly groups: ReadonlyMap<string, readonly Parts[]>;
}

/** The name of an attribute as the feed specification spells it: `google product category` is `google_product_category`. */
export function attributeName(text: string): string {
  return text.trim().toLowerCase().replace(/^g:/, "").replaceAll(/[ -]+/g, "_");
}

export class MerchantItemBuilder {
  readonly #attributes = new Map<string, string[]>();
  readonly #groups = new Map<string, Parts[]>();
  readonly #place: number;

  constructor(place: number) {
    this.#place = place;
  }

  attribute(name: string, value: string): void {
    const text = value.trim();
    if (text === "") return;
    this.#attributes.set(name, [...(this.#attributes.get(name) ?? []), text]);
  }

  group(name: string, parts: Parts): void {
    if (parts.size > 0) this.#groups.set(name, [...(this.#groups.get(name) ?? []), parts]);
  }

  item(): MerchantItem {
    return { place: this.#place, attributes: this.#attributes, groups: this.#groups };
  }
}

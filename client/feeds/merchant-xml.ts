// A Google Merchant feed as RSS 2.0 or Atom 1.0 with the namespace of its attributes. It is read as it arrives.
//   X1. No document type declaration is accepted, so no entity exists besides the five of XML itself: nothing is expanded
//       and nothing else is fetched.
//   X2. Bounded: nesting, and the characters of one item or of anything else between two items.
//   X3. What an item says of an attribute in Google's namespace comes before an element of RSS or Atom of the same name, which
//       is noted if it says something else.

import { SaxesParser, type SaxesTagNS } from "saxes";
import { FeedError } from "./feed-item.ts";
import { attributeName, type MerchantItem, MerchantItemBuilder } from "./merchant-item.ts";

/** Feeds also write it with https, or a slash at the end; nothing else is meant by that. */
const merchantNamespace = /^https?:\/\/base\.google\.com\/ns\/1\.0\/?$/;
const atomNamespace = "http://www.w3.org/2005/Atom";
/** Elements without a namespace in RSS, and Atom's own, that stand for attributes. */
const plainNames: Readonly<Record<string, string>> = {
  title: "title",
  link: "link",
  description: "description",
  summary: "description",
};
const mixed = "Has text and elements in it, or elements within those: write text alone.";
const depthMax = 8;
const pieceLength = 65_536;

/** The items of a feed. Rejects with {@link FeedError}. */
export async function* merchantXmlItems(
  text: AsyncIterable<string>,
  itemLengthMax: number,
): AsyncGenerator<MerchantItem> {
  const reader = new XmlReader(itemLengthMax);
  for await (const piece of text) {
    for (let at = 0; at < piece.length; at += pieceLength) {
      yield* reader.write(piece.slice(at, at + pieceLength));
    }
  }
  yield* reader.close();
}

class XmlReader {
  readonly #parser = new SaxesParser({ xmlns: true, position: true });
  readonly #itemLengthMax: number;
  readonly #done: MerchantItem[] = [];
  /** The elements that are open, outermost first. */
  readonly #open: SaxesTagNS[] = [];
  readonly #ampersands = new BareAmpersands();
  #item: MerchantItemBuilder | null = null;
  /** Elements of RSS or Atom that stand for attributes of the item. */
  #plain: [name: string, text: string][] = [];
  #parts = new Map<string, string>();
  /** Whether the attribute that is open has elements in it. */
  #hasParts = false;
  #text = "";
  #language: string | null = null;
  #lengthSinceItem = 0;

  constructor(itemLengthMax: number) {
    this.#itemLengthMax = itemLengthMax;
    const parser = this.#parser;
    parser.on("error", (error) => this.#refuse(error.message.replace(/^[0-9:]+ ?/, "")));
    parser.on("doctype", () => this.#refuse("A document type declaration is not allowed in a feed."));
    parser.on("opentag", (tag) => this.#opened(tag));
    parser.on("closetag", (tag) => this.#closed(tag));
    parser.on("text", (text) => this.#said(text));
    parser.on("cdata", (text) => this.#said(text));
  }

  write(piece: string): readonly MerchantItem[] {
    this.#lengthSinceItem += piece.length;
    this.#parser.write(this.#checked(this.#ampersands.take(piece)));
    if (this.#lengthSinceItem > this.#itemLengthMax + pieceLength)
      this.#refuse(`More than ${this.#itemLengthMax} characters stand between the ends of two items.`);
    return this.#done.splice(0);
  }

  close(): readonly MerchantItem[] {
    this.#parser.write(this.#checked(this.#ampersands.end()));
    this.#parser.close();
    return this.#done.splice(0);
  }

  #checked({ text, bare }: ReturnType<BareAmpersands["take"]>): string {
    if (bare === null) return text;
    throw new FeedError(bare.line, `An & stands for itself at ${JSON.stringify(bare.text)}: write &amp;.`);
  }

  #refuse(detail: string): never {
    throw new FeedError(this.#parser.line, detail);
  }

  #opened(tag: SaxesTagNS): void {
    const { local } = tag;
    const depth = this.#open.length;
    if (depth === 0 && local !== "rss" && local !== "feed")
      this.#refuse(`The outermost element is <${tag.name}>; a merchant feed is <rss> or <feed>.`);
    if (depth >= depthMax) this.#refuse(`Elements are nested more than ${depthMax} deep.`);
    if (depth === 0) this.#language = tag.attributes["xml:lang"]?.value ?? null;
    if (tag.prefix === "g" && !merchantNamespace.test(tag.uri))
      this.#refuse(
        `The namespace of g: is ${JSON.stringify(tag.uri)}; it must be http://base.google.com/ns/1.0.`,
      );
    this.#open.push(tag);
    if (this.#item !== null) this.#openedWithin(this.#item);
    this.#text = "";
    if (this.#item === null && (local === "item" || local === "entry") && depth >= 1) {
      this.#item = new MerchantItemBuilder(this.#parser.line);
      this.#plain = [];
    }
  }

  /** Text beside the elements of an attribute, and elements within those, have no meaning that we know. */
  #openedWithin(item: MerchantItemBuilder): void {
    const depth = this.#depthInItem();
    if (depth === 1) {
      this.#parts = new Map();
      this.#hasParts = false;
    } else this.#hasParts = true;
    const text = this.#text.trim();
    if (depth > 2 || (depth === 2 && text !== ""))
      item.unreadable(nameOf(this.#open[this.#open.length - depth]), text, mixed);
  }

  #said(text: string): void {
    if (this.#item !== null || this.#isLanguage()) this.#text += text;
  }

  #closed(tag: SaxesTagNS): void {
    if (this.#isLanguage()) this.#language = this.#text.trim();
    const depth = this.#depthInItem();
    this.#open.pop();
    if (this.#item === null) return;
    const text = this.#text.trim();
    this.#text = "";
    if (depth === 0) {
      for (const [name, each] of this.#plain) this.#item.plain(name, each);
      if (this.#language !== null) this.#item.fallback("content_language", this.#language);
      this.#done.push(this.#item.item());
      this.#item = null;
      this.#lengthSinceItem = 0;
    } else if (depth === 1) this.#attribute(this.#item, tag, text);
    else if (depth === 2 && text !== "") this.#part(this.#item, nameOf(tag), text);
  }

  #part(item: MerchantItemBuilder, name: string, text: string): void {
    const known = this.#parts.get(name);
    const attribute = nameOf(this.#open.at(-1));
    if (known !== undefined && known !== text)
      item.unreadable(attribute, text, `One ${attribute} has two of ${name}: write two of ${attribute}.`);
    this.#parts.set(name, text);
  }

  #attribute(item: MerchantItemBuilder, tag: SaxesTagNS, text: string): void {
    const name = nameOf(tag);
    const { href, rel } = tag.attributes;
    const value = text === "" && name === "link" && href !== undefined ? href.value : text;
    if (this.#hasParts && text !== "") item.unreadable(name, text, mixed);
    else if (this.#parts.size > 0) item.group(name, this.#parts);
    else if (merchantNamespace.test(tag.uri)) item.attribute(name, value);
    // Atom's other links are the feed's own address, or a picture.
    else if (name !== "link" || rel === undefined || rel.value === "alternate")
      this.#plain.push([name, value]);
    this.#parts = new Map();
  }

  /** 0 for the item itself, 1 for its attributes, 2 for their parts; -1 outside an item. */
  #depthInItem(): number {
    const at = this.#open.findIndex(({ local }) => local === "item" || local === "entry");
    return at < 0 ? -1 : this.#open.length - 1 - at;
  }

  #isLanguage(): boolean {
    const [, channel, language] = this.#open;
    return this.#open.length === 3 && channel?.local === "channel" && language?.name === "language";
  }
}

function nameOf(tag: SaxesTagNS | undefined): string {
  const { uri = "", local = "", name = "" } = tag ?? {};
  if (merchantNamespace.test(uri)) return attributeName(local);
  const plain = uri === "" || uri === atomNamespace ? plainNames[local] : undefined;
  return plain ?? name;
}

interface Bare {
  readonly line: number;
  /** The beginning of the text there. */
  readonly text: string;
}

const markers = /<!--|<!\[CDATA\[|<\?|&/g;
const ends: Readonly<Record<string, string>> = { "<!--": "-->", "<![CDATA[": "]]>", "<?": "?>" };
const whole = /^&(?:#[0-9]+|#x[0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);/;
/** Longer than any marker, and than an entity with its semicolon. */
const lookAhead = 40;

/**
 * Finds an `&` that begins no entity, where it stands; the parser would read on to the next semicolon, maybe lines below. It
 * holds back the end of the text until it knows how that goes on.
 */
class BareAmpersands {
  #text = "";
  #line = 1;
  /** What ends the comment, section or instruction that is open. */
  #until: string | null = null;

  /** The text up to which everything is known. */
  take(piece: string): { readonly text: string; readonly bare: Bare | null } {
    this.#text += piece;
    return this.#scan(this.#text.length - lookAhead);
  }

  end(): { readonly text: string; readonly bare: Bare | null } {
    return this.#scan(this.#text.length);
  }

  /** Looks at what begins before `limit`. */
  #scan(limit: number): { readonly text: string; readonly bare: Bare | null } {
    let at = 0;
    let bare: Bare | null = null;
    while (bare === null && at < limit) {
      const [found, marker] = this.#next(at);
      if (found < 0 || found >= limit) break;
      const here = this.#text.slice(found, found + lookAhead);
      if (this.#until !== null) this.#until = null;
      else if (marker !== "&") this.#until = ends[marker] ?? null;
      else if (!whole.test(here)) {
        const line = this.#line + linesIn(this.#text.slice(0, found));
        bare = { line, text: /^&[^\s<]*/.exec(here)?.[0] ?? "&" };
      }
      at = found + marker.length;
    }
    const text = this.#text.slice(0, Math.max(at, limit, 0));
    this.#text = this.#text.slice(text.length);
    this.#line += linesIn(text);
    return { text, bare };
  }

  #next(from: number): readonly [at: number, marker: string] {
    if (this.#until !== null) return [this.#text.indexOf(this.#until, from), this.#until];
    markers.lastIndex = from;
    const found = markers.exec(this.#text);
    return [found?.index ?? -1, found?.[0] ?? ""];
  }
}

function linesIn(text: string): number {
  return text.split("\n").length - 1;
}

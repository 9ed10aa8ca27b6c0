// A Google Merchant feed as RSS 2.0 or Atom 1.0 with the namespace of its attributes. It is read as it arrives.
//   X1. No document type declaration is accepted, so no entity exists besides the five of XML itself: nothing is expanded
//       and nothing else is fetched.
//   X2. Bounded: nesting, and the characters of one item or of anything else between two items.

import { SaxesParser, type SaxesTagNS } from "saxes";
import { FeedError } from "./feed-item.ts";
import { type MerchantItem, MerchantItemBuilder } from "./merchant-item.ts";

const merchantNamespace = "http://base.google.com/ns/1.0";
const atomNamespace = "http://www.w3.org/2005/Atom";
/** Elements without a namespace in RSS, and Atom's own, that stand for attributes. */
const plainNames: Readonly<Record<string, string>> = {
  title: "title",
  link: "link",
  description: "description",
  summary: "description",
};
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
  #item: MerchantItemBuilder | null = null;
  #parts = new Map<string, string>();
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
    this.#parser.write(piece);
    if (this.#lengthSinceItem > this.#itemLengthMax + pieceLength)
      this.#refuse(`More than ${this.#itemLengthMax} characters stand between the ends of two items.`);
    return this.#done.splice(0);
  }

  close(): readonly MerchantItem[] {
    this.#parser.close();
    return this.#done.splice(0);
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
    this.#open.push(tag);
    this.#text = "";
    if (this.#item === null && (local === "item" || local === "entry") && depth >= 1) {
      this.#item = new MerchantItemBuilder(this.#parser.line);
      if (this.#language !== null) this.#item.attribute("content_language", this.#language);
    } else if (this.#item !== null && this.#depthInItem() === 1) this.#parts = new Map();
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
      this.#done.push(this.#item.item());
      this.#item = null;
      this.#lengthSinceItem = 0;
    } else if (depth === 1) this.#attribute(this.#item, tag, text);
    else if (depth === 2 && text !== "") this.#parts.set(nameOf(tag), text);
  }

  #attribute(item: MerchantItemBuilder, tag: SaxesTagNS, text: string): void {
    const name = nameOf(tag);
    const href = tag.attributes["href"]?.value;
    if (this.#parts.size > 0) item.group(name, this.#parts);
    else item.attribute(name, text === "" && name === "link" && href !== undefined ? href : text);
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

function nameOf({ uri, local, name }: SaxesTagNS): string {
  if (uri === merchantNamespace) return local;
  const plain = uri === "" || uri === atomNamespace ? plainNames[local] : undefined;
  return plain ?? name;
}

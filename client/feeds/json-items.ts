// The items of a JSON array, one after another, so that an array of any length is read in little memory. The texts between
// the brackets and commas are parsed strictly by the caller.

import { FeedError } from "./feed-item.ts";

interface Scan {
  /** Brackets and braces that are open within the item. */
  depth: number;
  inString: boolean;
  escaped: boolean;
  item: string;
  count: number;
  state: "before" | "within" | "after";
}

/** Texts of the items with their index from 1. Rejects with {@link FeedError} for what is not an array. */
export async function* arrayItems(
  text: AsyncIterable<string>,
  lengthMax: number,
): AsyncGenerator<{ readonly place: number; readonly text: string }> {
  const scan: Scan = { depth: 0, inString: false, escaped: false, item: "", count: 0, state: "before" };
  for await (const piece of text) {
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece[at] ?? "";
      if (scan.state !== "within") {
        openOrRefuse(scan, character);
        from = at + 1;
        continue;
      }
      const ends = step(scan, character);
      if (!ends) continue;
      const item = (scan.item + piece.slice(from, at)).trim();
      scan.item = "";
      from = at + 1;
      if (character === "]") scan.state = "after";
      if (item === "" && character === "]" && scan.count === 0) continue;
      scan.count += 1;
      if (item === "") throw new FeedError(scan.count, "A comma of the array separates nothing.");
      yield { place: scan.count, text: item };
    }
    if (scan.state === "within") scan.item += piece.slice(from);
    if (scan.item.length > lengthMax)
      throw new FeedError(scan.count + 1, `The item is longer than ${lengthMax} characters.`);
  }
  if (scan.state !== "after") throw new FeedError(0, "The file is not a JSON array, or not whole.");
}

function openOrRefuse(scan: Scan, character: string): void {
  if (/\s/.test(character)) return;
  if (scan.state === "before" && character === "[") scan.state = "within";
  else throw new FeedError(0, "The file is not a JSON array.");
}

/** Follows one character of the array; true where it ends an item. */
function step(scan: Scan, character: string): boolean {
  if (scan.inString) {
    if (scan.escaped) scan.escaped = false;
    else if (character === "\\") scan.escaped = true;
    else if (character === '"') scan.inString = false;
    return false;
  }
  if (character === '"') scan.inString = true;
  else if (character === "{" || character === "[") scan.depth += 1;
  else if (scan.depth > 0 && (character === "}" || character === "]")) scan.depth -= 1;
  else return scan.depth === 0 && (character === "," || character === "]");
  return false;
}

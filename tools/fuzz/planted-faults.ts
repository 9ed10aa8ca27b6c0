// Faults that are planted into the code that is fuzzed, one at a time and only in the process that fuzzes it, to see that each is found.
// A fault whose text is not in its file any more, or whose file is not used, is an error by its name: it would change nothing.

import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../process.ts";

export interface PlantedFault {
  readonly name: string;
  /** The target that has to find it. */
  readonly target: string;
  readonly path: string;
  /** What stands in the file exactly once, and what stands there instead. */
  readonly was: string;
  readonly becomes: string;
}

/** One of the readers of feeds, after which something is published that the file did not state. */
const ofReader = (file: string, name: string, was: string, becomes: string): PlantedFault => ({
  name,
  target: "feed-facts",
  path: `client/feeds/${file}`,
  was,
  becomes,
});

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "duplicateMembersPass",
    target: "strict-json",
    path: "protocol/json/strict-json.ts",
    was: "countMembers(value) === colons",
    becomes: "countMembers(value) <= colons",
  },
  {
    name: "membersAreNotSorted",
    target: "strict-json",
    path: "protocol/json/canonical-json.ts",
    was: "Object.keys(object).sort()",
    becomes: "Object.keys(object)",
  },
  {
    name: "signatureOfAnotherLabel",
    target: "signature-headers",
    path: "protocol/http-signature.ts",
    was: "if (!input || !value || input[1] !== value[1]) return null;",
    becomes: "if (!input || !value) return null;",
  },
  {
    name: "rangeOfAnyWidth",
    target: "source-address",
    path: "std/ip-address.ts",
    was: "prefix < 0 || prefix > network.width ? null",
    becomes: "prefix < 0 ? null",
  },
  {
    name: "itemsWithoutCommas",
    target: "publish-body",
    path: "protocol/json/json-records.ts",
    was: 'if (!reader.take(comma)) return { kind: "malformed", at: reader.at };',
    becomes: "reader.take(comma);",
  },
  {
    name: "lineEndInTwoPieces",
    target: "feed",
    path: "client/feeds/csv.ts",
    was: 'next === undefined || (next === "\\r" && reader.at + 1 === reader.text.length)',
    becomes: "next === undefined",
  },
  {
    name: "beginningOfALineIsLost",
    target: "record-lines",
    path: "service/publishing/bulk-file.ts",
    was: "concatBytes(...this.#begun, rest)",
    becomes: "concatBytes(...this.#begun.slice(-1), rest)",
  },
  {
    name: "delimiterInTwoPieces",
    target: "multipart",
    path: "api/multipart.ts",
    was: "this.#rest.length - (this.#delimiter.length - 1)",
    becomes: "this.#rest.length - (this.#delimiter.length - 2)",
  },
  {
    name: "repeatedRecordIsNotCompared",
    target: "evidence",
    path: "verifier/fetched-record.ts",
    was: 'exactly(exact.record, shown, "/record")',
    becomes: 'exactly(undefined, shown, "/record")',
  },
  {
    name: "noteWithoutItsEnd",
    target: "log-notes",
    path: "protocol/log/note.ts",
    was: 'split < 0 || !note.endsWith("\\n")',
    becomes: "split < 0",
  },
  {
    name: "imageWithoutItsEnd",
    target: "image",
    path: "service/ads/ad-images.ts",
    was: 'if (end > bytes.length) return "cut_off";',
    becomes: "",
  },
  {
    name: "textOfAnyLength",
    target: "work-between-looks",
    path: "protocol/records/judge-record.ts",
    was: " && value.length <= 2 * place.lengthMax",
    becomes: "",
  },
  ofReader("table-rows.ts", "strayQuoteJoinsRows", "if (joined !== null)", "if (joined === false)"),
  ofReader(
    "table-rows.ts",
    "rowThatIsCutOffIsWhole",
    "if (mayBeShort && isCut)",
    "if (mayBeShort && isCut && !isCut)",
  ),
  ofReader("table-rows.ts", "pieceOfARowIsARow", "if (isPiece)", "if (isPiece && !isShort)"),
  ofReader("feed-values.ts", "threeDecimalsAreDecimals", "fraction?.length === 3", "fraction?.length === 9"),
  ofReader(
    "feed-values.ts",
    "decimalCommaIsAnyComma",
    'decimalComma ? ungrouped(whole ?? "")',
    'decimalComma ? (whole ?? "").replaceAll(".", "")',
  ),
  ofReader("product-columns.ts", "lastOfTwoColumnsCounts", "if (twice !== null)", "if (twice === undefined)"),
  ofReader("product-row.ts", "defaultReplacesAGtin", "delete this.record[name]", "void 0"),
  ofReader(
    "merchant-product.ts",
    "unknownAvailabilityIsTheDefault",
    'reading.tell("item_left_out", "value_invalid", "availability", availabilityForm)',
    "void 0",
  ),
  ofReader(
    "merchant-product.ts",
    "salePriceOfNothingIsAPrice",
    "if (isNothing(sale))",
    "if (isNothing(sale) && sale.currency === '')",
  ),
  ofReader("merchant-product.ts", "saleNeverEnds", "nowMs < period.untilMs", "nowMs > 0"),
  ofReader(
    "merchant-product.ts",
    "anyConditionIsNew",
    'reading.tell("item_left_out", "value_invalid", "condition", detail)',
    "void detail",
  ),
  ofReader("merchant-reading.ts", "firstOfTwoValuesCounts", "others.length > 0", "others.length > 99"),
  ofReader(
    "merchant-reading.ts",
    "elementsWithinAValueArePassedOver",
    "if (isFirst && this.#item.groups.has(name))",
    "if (!isFirst && this.#item.groups.has(name))",
  ),
  ofReader(
    "published-text.ts",
    "leftOversAreTexts",
    "if (found !== undefined) return detail(found)",
    "void found",
  ),
  ofReader(
    "published-text.ts",
    "markupIsText",
    "if (!/[<&]/.test(text)) return text",
    "if (text) return text",
  ),
  ofReader(
    "published-text.ts",
    "textsInAnotherEncodingAreTexts",
    "return isMisread(text)",
    "return text === '' && isMisread(text)",
  ),
  ofReader(
    "read-feed.ts",
    "secondOfTwoProductsCountsToo",
    "if (id === null || earlier === undefined || item.bytes === null)",
    "if (id === null || item.bytes === null || places.size > 0)",
  ),
  ofReader(
    "shop-programs.ts",
    "unknownPolicyIsOutOfStock",
    '? "out_of_stock" : policy',
    '? "out_of_stock" : "out_of_stock"',
  ),
  ofReader(
    "product-row.ts",
    "oddPriceBeforeIsNoSale",
    'cell === "" ? null : this.#amount(column, cell, how)',
    'cell === "" || readAmount(cell, how).fault ? null : this.#amount(column, cell, how)',
  ),
  ofReader(
    "shop-programs.ts",
    "variantWithoutItsFirstRow",
    'title === "" ? [untitled, ...faults] : faults',
    "faults",
  ),
  ofReader("shop-programs.ts", "escapedCommaSeparates", "split(/(?<!\\\\),/)", 'split(",")'),
  ofReader("shop-programs.ts", "variationOfAHiddenProduct", "[cells, parent].map", "[cells].map"),
  ofReader("shop-programs.ts", "storeViewIsAProduct", '|| cell(cells, "store_view_code") !== ""', ""),
  ofReader(
    "shop-programs.ts",
    "saleOfAnotherTime",
    "fromMs <= nowMs && nowMs < untilMs ? sale",
    "sale ? sale",
  ),
  ofReader("json-ld.ts", "variantsInheritNothing", "{ ...ofAll, ...variant }", "{ ...variant }"),
  ofReader(
    "json-ld.ts",
    "priceOf100GramsIsThePrice",
    "conditions.find((name) => name in each)",
    "conditions.find((name) => name === '')",
  ),
];

/** Plants a fault; call it before the code is loaded. Returns a check, for when it is, that the fault is there. */
export function plantFault(fault: PlantedFault): () => void {
  const { name, path, was, becomes } = fault;
  const wanted = pathToFileURL(join(root, path)).href;
  let isPlanted = false;
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (url !== wanted) return loaded;
      const parts = String(loaded.source).split(was);
      if (parts.length !== 2)
        throw new Error(`The fault ${name} changes nothing: its text is not once in ${path}.`);
      isPlanted = true;
      return { ...loaded, source: parts.join(becomes) };
    },
  });
  return () => {
    if (!isPlanted) throw new Error(`The fault ${name} changes nothing: ${path} is not used.`);
  };
}

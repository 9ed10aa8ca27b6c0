// The reader of feeds with a fault planted in its source, to see that the fuzzer would find it.
//   P1. A planted fault changes exactly one place. One whose place is not found, because the code has been rewritten, fails by
//       name.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type { readFeed } from "../../client/feeds/read-feed.ts";

export interface PlantedFault {
  readonly name: string;
  /** File of `client/feeds`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const folder = new URL("../../client/feeds/", import.meta.url).href;

/** A reader of its own with the fault (P1). Throws for one that changes nothing. */
export async function readerWith(fault: PlantedFault): Promise<typeof readFeed> {
  const source = readFileSync(new URL(fault.file, folder), "utf8");
  if (source.split(fault.from).length !== 2)
    throw new Error(
      `${fault.name}: ${fault.file} does not have its place once; what it removes has been rewritten.`,
    );
  const mark = `?planted=${encodeURIComponent(fault.name)}`;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      const isInside = context.parentURL?.endsWith(mark) === true && found.url.startsWith(folder);
      return isInside && !found.url.includes("?") ? { ...found, url: found.url + mark } : found;
    },
    load: (url, context, next) => {
      if (url !== `${folder}${fault.file}${mark}`) return next(url, context);
      const text = readFileSync(fileURLToPath(url.slice(0, -mark.length)), "utf8");
      return {
        format: "module-typescript",
        source: text.replace(fault.from, () => fault.to),
        shortCircuit: true,
      };
    },
  });
  try {
    const planted = (await import(`${folder}read-feed.ts${mark}`)) as { readFeed: typeof readFeed };
    return planted.readFeed;
  } finally {
    hooks.deregister();
  }
}

const planted = (file: string, name: string, from: string, to: string): PlantedFault => ({
  name,
  file,
  from,
  to,
});

export const plantedFaults: readonly PlantedFault[] = [
  planted("table-rows.ts", "a stray quote joins rows", "if (joined !== null)", "if (joined === false)"),
  planted(
    "table-rows.ts",
    "a row that is cut off is whole",
    "if (mayBeShort && isCut)",
    "if (mayBeShort && isCut && !isCut)",
  ),
  planted("table-rows.ts", "a piece of a row is a row", "if (isPiece)", "if (isPiece && !isShort)"),
  planted(
    "feed-values.ts",
    "three decimals are decimals",
    "fraction?.length === 3",
    "fraction?.length === 9",
  ),
  planted(
    "feed-values.ts",
    "a decimal comma is any comma",
    'decimalComma ? ungrouped(whole ?? "")',
    'decimalComma ? (whole ?? "").replaceAll(".", "")',
  ),
  planted(
    "product-columns.ts",
    "the last of two columns counts",
    "if (twice !== null)",
    "if (twice === undefined)",
  ),
  planted("product-columns.ts", "a default replaces a GTIN", "delete this.record[name]", "void 0"),
  planted(
    "merchant-product.ts",
    "an unknown availability is the default",
    'reading.tell("item_left_out", "value_invalid", "availability", detail)',
    "void detail",
  ),
  planted(
    "merchant-product.ts",
    "a sale price of nothing is a price",
    "if (isNothing(sale))",
    "if (isNothing(sale) && sale.currency === '')",
  ),
  planted("merchant-product.ts", "a sale never ends", "nowMs < period.untilMs", "nowMs > 0"),
  planted(
    "merchant-product.ts",
    "any condition is new",
    'reading.tell("item_left_out", "value_invalid", "condition", detail)',
    "void detail",
  ),
  planted("merchant-reading.ts", "the first of two values counts", "others.length > 0", "others.length > 99"),
  planted(
    "merchant-reading.ts",
    "elements within a value are passed over",
    "if (isFirst && this.#item.groups.has(name))",
    "if (!isFirst && this.#item.groups.has(name))",
  ),
  planted(
    "published-text.ts",
    "left-overs are texts",
    "if (found !== undefined) return detail(found)",
    "void found",
  ),
  planted(
    "published-text.ts",
    "markup is text",
    "if (!/[<&]/.test(text)) return text",
    "if (text) return text",
  ),
  planted(
    "published-text.ts",
    "texts in another encoding are texts",
    "return isMisread(text)",
    "return text === '' && isMisread(text)",
  ),
  planted(
    "read-feed.ts",
    "the second of two products counts too",
    "if (id === null || earlier === undefined || item.bytes === null)",
    "if (id === null || item.bytes === null || places.size > 0)",
  ),
];

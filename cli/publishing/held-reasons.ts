// Why a push is held, as lines for a person: each reason, and the listings that it names.

import type { PushReason } from "../../client/push-state.ts";
import { type Terminal, visible } from "../terminal.ts";

type Price = { readonly amount: string; readonly currency: string } | null;

export function showHeldReasons(terminal: Terminal, reasons: readonly PushReason[]): void {
  for (const { code, detail, largest = [], count = largest.length } of reasons) {
    terminal.print(`held: ${code} ${visible(detail)}`);
    for (const { record_id, business_product_id, country, before, after, change } of largest) {
      const by = change === null ? "" : ` (${change.startsWith("-") ? "" : "+"}${change})`;
      const name = business_product_id ?? record_id;
      terminal.print(`  ${visible(name)} ${country}: ${textOf(before)} -> ${textOf(after)}${by}`);
    }
    if (count > largest.length && largest.length > 0)
      terminal.print(`  … and ${count - largest.length} smaller changes`);
  }
}

function textOf(price: Price): string {
  return price === null ? "removed" : `${price.amount} ${price.currency}`;
}

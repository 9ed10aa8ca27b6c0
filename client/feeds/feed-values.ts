// Values of a feed that are not texts, whichever format it has: what a cell or an attribute means, or why it cannot be used.

import { gtinForm, httpsUrlForm } from "../../protocol/records/fields.ts";
import { leftOver } from "./published-text.ts";

export type ReadValue =
  /** `change` says how the value differs from what is written; null if it does not. */
  | { readonly value: string; readonly change: string | null; readonly fault: null }
  | { readonly fault: string };

const same = (value: string): ReadValue => ({ value, change: null, fault: null });

/** Currencies with thousandths (ISO 4217); elsewhere three decimals are more likely thousands. */
const thousandths = new Set(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]);

/**
 * The amount of a price as a decimal string. With `decimalComma`, points, spaces and apostrophes may only separate thousands.
 * `1.299` is refused where it may be meant as 1299.
 */
export function readAmount(
  written: string,
  { decimalComma = false, currency }: { readonly decimalComma?: boolean; readonly currency: string },
): ReadValue {
  const [whole, fraction, ...more] = written.split(decimalComma ? "," : ".");
  const digits = decimalComma ? ungrouped(whole ?? "") : (whole ?? "");
  if (
    digits === null ||
    !/^-?[0-9]{1,12}$/.test(digits) ||
    more.length > 0 ||
    !/^[0-9]{0,6}$/.test(fraction ?? "")
  )
    return { fault: amountForm(decimalComma) };
  if (fraction === "") return { fault: amountForm(decimalComma) };
  if (fraction?.length === 3 && /^[1-9][0-9]{0,2}$/.test(digits) && !thousandths.has(currency)) {
    const mark = decimalComma ? "comma" : "point";
    return {
      fault: `Three digits after the ${mark} may be thousands: write ${digits}${fraction}, or ${digits}${decimalComma ? "," : "."}${fraction}0 if they are decimals.`,
    };
  }
  return same(fraction === undefined ? digits : `${digits}.${fraction}`);
}

function amountForm(decimalComma: boolean): string {
  return decimalComma
    ? "Must be an amount such as 19,90 or 1.299,00."
    : "Must be an amount such as 19.90, without a mark for thousands; decimal_comma in the mapping reads 1.299,00.";
}

/** `1.299.000`, `1 299` and `1’299` without their marks; null where they do not stand for thousands. */
function ungrouped(whole: string): string | null {
  if (/^-?[0-9]+$/.test(whole)) return whole;
  return /^-?[1-9][0-9]{0,2}(?:([. \u00A0\u202F'’])[0-9]{3})(?:\1[0-9]{3})*$/.test(whole)
    ? whole.replaceAll(/[. \u00A0\u202F'’]/g, "")
    : null;
}

/** A GTIN without the hyphens and spaces in it. Zeros alone have a correct check digit, but name no product. */
export function readGtin(written: string): ReadValue {
  const cell = readCell(written, { isNumber: true });
  if (cell.fault !== null) return cell;
  const digits = cell.value.replaceAll(/[ -]/g, "");
  return gtinForm.accepts(digits) ? same(digits) : { fault: `Must be ${gtinForm.meaning}.` };
}

const unreserved = /[A-Za-z0-9._~!$&'()*+,;=:@/?-]/;

/** An https address; what it has outside of ASCII is encoded, which leads to the same place. */
export function readLink(given: string): ReadValue {
  const written = given.replaceAll(/&(?:amp|#0*38);/g, "&");
  const left = leftOver(written);
  if (left !== null) return { fault: left };
  if (httpsUrlForm.accepts(written))
    return {
      value: written,
      change: written === given ? null : `The & is not escaped: ${written}`,
      fault: null,
    };
  const [, scheme = "", authority = "", rest = ""] =
    /^([A-Za-z]+:)\/\/([^/?#]*)([\s\S]*)$/.exec(written) ?? [];
  if (scheme.toLowerCase() === "http:")
    return { fault: "Begins with http:; write https: if the page is found there." };
  if (scheme.toLowerCase() !== "https:") return { fault: "Must be a whole address, from https:// on." };
  const odd = /[\\\p{Cc}]/u.exec(written)?.[0] ?? /[@\s[\]]/.exec(authority)?.[0];
  if (odd !== undefined)
    return { fault: `Has the character ${shown(odd)}, which an address cannot have there.` };
  const broken = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(rest)?.[0];
  if (broken !== undefined)
    return { fault: `Has ${JSON.stringify(broken)}, which encodes no character; a % is written %25.` };
  const host = asciiHost(authority);
  const value = `https://${host ?? authority}${encoded(rest)}`;
  if (host !== null && httpsUrlForm.accepts(value))
    return { value, change: `Encoded as ${value}`, fault: null };
  return { fault: `Must be ${httpsUrlForm.meaning}.` };
}

function asciiHost(authority: string): string | null {
  return URL.canParse(`https://${authority}/`) ? new URL(`https://${authority}/`).host : null;
}

function encoded(rest: string): string {
  let hasFragment = false;
  return [...rest.toWellFormed()]
    .map((character) => {
      if (character === "#" && !hasFragment) {
        hasFragment = true;
        return character;
      }
      return character === "%" || unreserved.test(character) ? character : percent(character);
    })
    .join("");
}

function percent(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}

function shown(character: string): string {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `${JSON.stringify(character)} (U+${point})`;
}

/**
 * A cell without the mark by which a spreadsheet knows that it is text (`="000123"`). An apostrophe for the same purpose is a
 * fault before what a spreadsheet would calculate, and before a number or id: elsewhere it belongs to the text.
 */
export function readCell(written: string, { isNumber }: { readonly isNumber: boolean }): ReadValue {
  const marked = /^="([^"]*)"$/.exec(written)?.[1];
  if (marked !== undefined)
    return { value: marked.trim(), change: 'Without the mark ="…" of a spreadsheet.', fault: null };
  if (/^'[=+@-]/.test(written) || (isNumber && written.startsWith("'")))
    return {
      fault: "Begins with the apostrophe by which a spreadsheet marks text: take it out, and export again.",
    };
  if (isNumber && /^[0-9](?:[.,][0-9]+)?E\+[0-9]+$/i.test(written))
    return { fault: "A spreadsheet has rounded it: format the column as text and export again." };
  return same(written);
}

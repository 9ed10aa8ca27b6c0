// Texts of a feed as they may be sealed. An assistant quotes them under the business's signature, so what only a broken
// export writes is a fault, and markup becomes the text that a reader of a page would see.

/** What became of a text: `fault` says why it cannot be published, and what would be right. */
export type ReadText =
  | { readonly text: string; readonly hadMarkup: boolean; readonly fault: null }
  | { readonly fault: string };

/** Reads a text of one line, or of several. */
export function readText(written: string, { isMultiline }: { readonly isMultiline: boolean }): ReadText {
  const plain = withoutMarkup(withoutMarkup(written));
  const lines = isMultiline ? plain.split(/\r\n?|\n/) : [plain];
  const text = lines
    .map((line) => line.replaceAll(/\s+/g, " ").trim())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  const fault = endsWithinEntity(text)
    ? `It ends within ${text.slice(text.lastIndexOf("&"))}, an entity without its end: write the whole text.`
    : leftOver(text);
  return fault === null ? { text, hadMarkup: plain !== written, fault } : { fault };
}

const emptyWords = [
  "null",
  "NULL",
  "(null)",
  "undefined",
  "nan",
  "NaN",
  "None",
  "N/A",
  "n/a",
  "nil",
  "Array",
];

const misread = "is UTF-8 that was read as Windows-1252: export the file again as UTF-8.";

const leftOvers: readonly (readonly [RegExp, (found: string) => string])[] = [
  [
    /#(?:NAME\?|REF!|N\/A|VALUE!|DIV\/0!|NUM!|NULL!|SPILL!|CALC!|FIELD!|BLOCKED!)/,
    (found) => `${found} is an error of a spreadsheet: mend its formula and export again.`,
  ],
  [
    /\{\{|\}\}|\{%|%\}|<%|%>|<\?(?:php|=)|[$]\{|\{[$]|%%[a-z_]+%%|\[object Object\]/,
    (found) => `${found} is left over from a template that was not filled in.`,
  ],
  [
    /\[\/?[a-z][a-z0-9]*_[a-z0-9_]*(?:\s[^\]]*)?\]|\[\/[a-z]+\]|\[[a-z-]+ [a-z_]+=["'”][^\]]*\]/,
    (found) => `${found} is a shortcode that the shop did not carry out: export the text without it.`,
  ],
  [/\uFFFD/, () => "U+FFFD stands for a character that was lost: export the file again as UTF-8."],
  [
    /Ã[\u0080-\u00BFƒ‚„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\u0080-\u00BF™œ“”˜¢¦]|Â[\u00A0-\u00BF]/,
    (found) => `${found} ${misread}`,
  ],
  [
    /√[º§∂ü©®±≥]|├[╝ñÂí®]/,
    (found) => `${found} is UTF-8 that was read in another encoding: export the file again as UTF-8.`,
  ],
  [
    /(?<!\S)(?:[^\s/=&]{0,40}\p{L}\?{1,9}\p{Ll}[^\s/=&]{0,40}|\?{2,9})(?!\S)/u,
    (found) => `${found} has ? where a letter was lost: export the file again as UTF-8.`,
  ],
  [
    /&(?:quot|amp|lt|gt|nbsp|apos|#[0-9]{2,6}|#x[0-9a-f]{2,6});/i,
    (found) => `${found} is an entity that was escaped twice: write the character itself.`,
  ],
];

/** Why a text says nothing about the product, and what would be right; null for a text that may be published. */
export function leftOver(text: string): string | null {
  if (emptyWords.includes(text.trim()))
    return `${text.trim()} is what a program writes for nothing: leave it empty, or write the text.`;
  for (const [form, detail] of leftOvers) {
    const found = form.exec(text)?.[0];
    if (found !== undefined) return detail(found);
  }
  return isMisread(text) ? `It ${misread}` : null;
}

/** The bytes 0x80 to 0x9F of Windows-1252 that are other characters than in Latin-1. */
const windowsBytes = new Map(
  [...new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 32 }, (_, at) => 0x80 + at))].map(
    (character, at) => [character, 0x80 + at],
  ),
);

/** A text with letters outside of ASCII that is UTF-8 as a whole if its characters are taken for bytes; `CAFÉ®` is none. */
function isMisread(text: string): boolean {
  if (!/[\u0080-\u{10FFFF}](?![®™©»”’“…]|[\0-\u007F]|$)/u.test(text)) return false;
  const bytes = [...text].map((character) => windowsBytes.get(character) ?? character.codePointAt(0) ?? 0);
  if (bytes.some((byte) => byte > 255)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
    return true;
  } catch {
    return false;
  }
}

const blocks =
  "p|div|ul|ol|li|h[1-6]|table|tr|br|hr|section|article|blockquote|dl|dt|dd|pre|figure|tbody|thead|option";
const inlines =
  "a|abbr|b|big|center|cite|code|em|font|i|iframe|img|ins|label|mark|q|small|span|strong|sub|sup|time|tt|u|video|source|picture|button|input|form|figcaption|link|meta|style|script|body|html";
/** What a page does not show, and what it shows struck out: it no longer holds. */
const hiddenElement =
  /<(script|style|iframe|video|noscript|template|svg|del|s|strike)(?:\s[^<>]*)?>[\s\S]*?<\/\1\s*>/gi;
/** 10<sup>3</sup> is not 103. */
const raised = /<sup(?:\s[^<>]*)?>([0-9]+)<\/sup\s*>/gi;
const raisedDigits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const cellTag = /<\/?t[dh](?:\s[^<>]*)?\/?>/gi;
const comment = /<!--[\s\S]*?-->/g;
const blockTag = new RegExp(`<\\/?(?:${blocks})(?:\\s[^<>]*)?\\/?>`, "gi");
const inlineTag = new RegExp(`<\\/?(?:${inlines})(?:\\s[^<>]*)?\\/?>`, "gi");
const reference = /&(?:#([0-9]{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,31}));/gi;

/** Whether a text ends with an entity that lacks its `;`, as where that is taken for a separator. */
export function endsWithinEntity(text: string): boolean {
  const [, number, name = ""] = /&(?:(#[0-9]{2,7}|#x[0-9a-f]{2,6})|([a-z][a-z0-9]{1,31}))$/i.exec(text) ?? [];
  return number !== undefined || named.has(name) || /^(?:amp|lt|gt|quot)$/i.test(name);
}

/** Whether a text has elements or entities of HTML. */
export function hasMarkup(text: string): boolean {
  return withoutMarkup(text) !== text;
}

/** Only elements and entities of HTML count: `Cable <2 m>` is text. */
function withoutMarkup(text: string): string {
  if (!/[<&]/.test(text)) return text;
  return text
    .replaceAll(comment, "")
    .replaceAll(hiddenElement, " ")
    .replaceAll(raised, (_, digits: string) => [...digits].map((each) => raisedDigits[Number(each)]).join(""))
    .replaceAll(cellTag, " ")
    .replaceAll(blockTag, "\n")
    .replaceAll(inlineTag, "")
    .replaceAll(reference, (all, decimal?: string, hex?: string, name?: string) => {
      const point = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : null;
      if (point === null) return named.get(name ?? "") ?? all;
      if (unseen.has(point)) return "";
      return point < 32 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
        ? all
        : String.fromCodePoint(point);
    });
}

/** A soft hyphen and spaces without width: a page shows nothing of them. */
const unseen = new Set([0xad, 0x200b, 0x2060, 0xfeff]);

/** The entities of HTML that shops write: those of Latin-1 in the order of their characters, and some more. */
const latin =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";
const named: ReadonlyMap<string, string> = new Map([
  ...latin.split(" ").map((name, at) => [name, String.fromCodePoint(0xa0 + at)] as const),
  ["shy", ""],
  ...Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", euro: "€", trade: "™", hellip: "…" }),
  ...Object.entries({ ndash: "–", mdash: "—", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", bdquo: "„" }),
  ...Object.entries({
    sbquo: "‚",
    bull: "•",
    dagger: "†",
    permil: "‰",
    lsaquo: "‹",
    rsaquo: "›",
    minus: "−",
  }),
  ...Object.entries({ OElig: "Œ", oelig: "œ", Scaron: "Š", scaron: "š", Yuml: "Ÿ", ensp: " ", emsp: " " }),
  ...Object.entries({ zwj: "\u200d", zwnj: "\u200c", le: "≤", ge: "≥", ne: "≠", infin: "∞", check: "✓" }),
]);

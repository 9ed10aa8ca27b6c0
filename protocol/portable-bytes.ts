// Base64 and hexadecimal digits for runtimes without `Uint8Array.fromBase64` and its relatives (ECMAScript 2026), such as
// Node 20. Same results as those, in several times the time.

export type Alphabet = "base64" | "base64url";

const common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const alphabets = { base64: `${common}+/`, base64url: `${common}-_` };
const codesOf = (digits: string): ReadonlyMap<string, number> =>
  new Map([...digits].map((digit, code) => [digit, code]));
const codes = { base64: codesOf(alphabets.base64), base64url: codesOf(alphabets.base64url) };

/** Encodes with padding, or without it for base64url. */
export function encodeBase64(bytes: Uint8Array, alphabet: Alphabet): string {
  const digits = alphabets[alphabet];
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const length = Math.min(3, bytes.length - at) + 1;
    for (let place = 0; place < 4; place += 1) {
      if (place < length) text += digits[(bits >> (18 - 6 * place)) & 63];
      else if (alphabet === "base64") text += "=";
    }
  }
  return text;
}

/** Decodes padded text strictly: null for other digits, other padding, or trailing bits that are not zero. */
export function decodeBase64(text: string, alphabet: Alphabet): Uint8Array | null {
  const padding = /={0,2}$/.exec(text)?.[0].length ?? 0;
  if (text.length % 4 !== 0) return null;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  for (let at = 0, to = 0; at < text.length; at += 4, to += 3) {
    const isLast = at + 4 === text.length;
    let bits = 0;
    for (let place = 0; place < 4; place += 1) {
      const isPadding = isLast && place >= 4 - padding;
      const code = isPadding ? 0 : codes[alphabet].get(text[at + place] ?? "");
      if (code === undefined) return null;
      bits = (bits << 6) | code;
    }
    const left = isLast ? 3 - padding : 3;
    if ((bits & (0xffffff >> (8 * left))) !== 0) return null;
    for (let place = 0; place < left; place += 1) bytes[to + place] = (bits >> (16 - 8 * place)) & 255;
  }
  return bytes;
}

/** Encodes as lower-case hexadecimal digits. */
export function encodeHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Decodes an even number of hexadecimal digits. */
export function decodeHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

// The one form of a host, however an address writes it, so that a listed host is found in every spelling that leads to it:
//   H1. A name is in lower case, with its labels in ASCII (Punycode, RFC 3492), without a dot at its end.
//   H2. An IPv4 address is four decimal numbers, also where it is written as a single number, in hexadecimal or in octal
//       (URL Standard, «IPv4 parser»); an IPv6 address is its value.

import { parseAddress } from "../../std/ip-address.ts";

const dots = /[\u3002\uff0e\uff61]/g;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
const plainName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;
const hostLengthMax = 1_024;

/** The canonical form of a host as it stands in an address, brackets of IPv6 included; null for what is no host. */
export function canonicalHost(written: string): string | null {
  if (written.length === 0 || written.length > hostLengthMax) return null;
  if (written.startsWith("[")) return written.endsWith("]") ? canonicalAddress(written.slice(1, -1)) : null;
  const name = plainName.test(written) ? written : mapped(written);
  if (name === null || name === "") return null;
  return /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/.test(name) ? canonicalIpv4(name) : name;
}

/** Lower case, percent encoding undone, labels in ASCII. */
function mapped(written: string): string | null {
  const name = decoded(written).normalize("NFKC").replace(invisible, "").toLowerCase().replace(dots, ".");
  const labels = name.replace(/\.+$/, "").split(".");
  if (labels.some((label) => label === "" || /[\s/\\?#@:<>[\]%]/.test(label))) return null;
  return labels
    .map((label) => (/^[\u0021-\u007e]*$/.test(label) ? label : `xn--${punycode(label)}`))
    .join(".");
}

function decoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function canonicalAddress(text: string): string | null {
  const bits = parseAddress(text);
  if (bits === null) return null;
  return bits.width === 32 ? dotted(bits.value) : `[${bits.value.toString(16)}]`;
}

function canonicalIpv4(name: string): string | null {
  const parts = name.split(".").map(numberOf);
  const last = parts.at(-1) ?? null;
  if (parts.length > 4 || last === null || parts.slice(0, -1).some((part) => part === null || part > 255n))
    return null;
  const room = 8n * BigInt(5 - parts.length);
  if (last >= 1n << room) return null;
  let value = last;
  for (const [index, part] of parts.slice(0, -1).entries()) value += (part ?? 0n) << BigInt(8 * (3 - index));
  return dotted(value);
}

function numberOf(part: string): bigint | null {
  if (/^0x[0-9a-f]*$/.test(part)) return part === "0x" ? 0n : BigInt(part);
  if (/^0[0-7]*$/.test(part)) return BigInt(`0o${part}`);
  return /^[1-9][0-9]{0,20}$/.test(part) ? BigInt(part) : null;
}

function dotted(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join(".");
}

const [base, tMin, tMax, skew, damp] = [36, 1, 26, 38, 700];

/** The extended part and the ASCII letters of a label (RFC 3492 §6.3), without the prefix. */
export function punycode(label: string): string {
  const points = Array.from(label, (letter) => letter.codePointAt(0) as number);
  const basic = points.filter((point) => point < 128);
  let output = String.fromCharCode(...basic) + (basic.length > 0 ? "-" : "");
  let [code, delta, bias, handled] = [128, 0, 72, basic.length];
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= code));
    delta += (next - code) * (handled + 1);
    code = next;
    for (const point of points) {
      if (point < code) delta += 1;
      if (point !== code) continue;
      output += variableLength(delta, bias);
      bias = adapt(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled += 1;
    }
    delta += 1;
    code += 1;
  }
  return output;
}

function variableLength(delta: number, bias: number): string {
  let [rest, output] = [delta, ""];
  for (let k = base; ; k += base) {
    const threshold = Math.min(tMax, Math.max(tMin, k - bias));
    if (rest < threshold) return output + digit(rest);
    output += digit(threshold + ((rest - threshold) % (base - threshold)));
    rest = Math.floor((rest - threshold) / (base - threshold));
  }
}

function adapt(delta: number, points: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? damp : 2));
  rest += Math.floor(rest / points);
  let k = 0;
  for (; rest > ((base - tMin) * tMax) / 2; k += base) rest = Math.floor(rest / (base - tMin));
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + skew));
}

function digit(value: number): string {
  return String.fromCharCode(value < 26 ? value + 97 : value + 22);
}

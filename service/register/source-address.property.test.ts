import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { expect, it } from "vitest";
import { addressBlock, parseRange } from "../../std/ip-address.ts";
import { addressAllowed } from "./source-address.ts";

const octet = fc.oneof(fc.constantFrom(0, 1, 127, 128, 255), fc.integer({ min: 0, max: 255 }));
const octets = fc.array(octet, { minLength: 4, maxLength: 4 });
const group = fc.oneof(fc.constantFrom(0, 0, 1, 0x8000, 0xffff), fc.integer({ min: 0, max: 0xffff }));
const groups = fc
  .array(group, { minLength: 8, maxLength: 8 })
  // Mapped addresses have tests of their own below.
  .filter((all) => !(all.slice(0, 5).every((each) => each === 0) && all[5] === 0xffff));

/**
 * Every way to write the same IPv6 address: capitals, leading zeros, an omitted run of zero groups, an IPv4 address at
 * the end.
 */
const spelled = (all: readonly number[], how: readonly boolean[]): string => {
  const [capitals, padded, shortened, ending] = how;
  const words = all.map((each) => each.toString(16).padStart(padded ? 4 : 1, "0"));
  const tail = ending
    ? [[all[6] ?? 0, all[7] ?? 0].flatMap((each) => [each >> 8, each & 255]).join(".")]
    : [];
  const head = ending ? words.slice(0, 6) : words;
  const from = shortened ? all.slice(0, head.length).indexOf(0) : -1;
  let to = from;
  while (from >= 0 && to < head.length && all[to] === 0) to += 1;
  const text =
    from < 0
      ? [...head, ...tail].join(":")
      : `${head.slice(0, from).join(":")}::${[...head.slice(to), ...tail].join(":")}`;
  return capitals ? text.toUpperCase() : text;
};
const how = fc.array(fc.boolean(), { minLength: 4, maxLength: 4 });

/** An address and a network that has its first bits, or nearly. */
const v4 = fc.record({
  address: octets,
  other: octets,
  prefix: fc.integer({ min: 0, max: 32 }),
  shared: fc.integer({ min: 0, max: 32 }),
});
const v6 = fc.record({
  address: groups,
  other: groups,
  how,
  otherHow: how,
  prefix: fc.integer({ min: 0, max: 128 }),
  shared: fc.integer({ min: 0, max: 128 }),
});

/** The first `bits` bits of one, the rest of the other. */
function blend(
  one: readonly number[],
  other: readonly number[],
  { bits, size }: { bits: number; size: number },
) {
  return one.map((each, at) => {
    const mask = (2 ** Math.max(0, Math.min(size, (at + 1) * size - bits)) - 1) >>> 0;
    return (each & ~mask) | ((other[at] ?? 0) & mask);
  });
}

function platformAllows(address: string, base: string, prefix: number): boolean {
  const type = isIP(base) === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(base, prefix, type);
  return list.check(address, type);
}

it("lets the same IPv4 addresses in as Node's own list, also written as IPv6 addresses", () => {
  let allowed = 0;
  fc.assert(
    fc.property(v4, ({ address, other, prefix, shared }) => {
      const text = address.join(".");
      const base = blend(address, other, { bits: shared, size: 8 }).join(".");
      const expected = platformAllows(text, base, prefix);
      allowed += expected ? 1 : 0;
      expect(addressAllowed(text, [`${base}/${prefix}`])).toBe(expected);
      expect(addressAllowed(`::ffff:${text}`, [`${base}/${prefix}`])).toBe(expected);
      expect(addressAllowed(text, [base])).toBe(text === base);
    }),
    { numRuns: 2_000 },
  );
  expect(allowed).toBeGreaterThan(400);
});

it("lets the same IPv6 addresses in as Node's own list, however they are written", () => {
  let allowed = 0;
  fc.assert(
    fc.property(v6, ({ address, other, how: one, otherHow, prefix, shared }) => {
      const network = blend(address, other, { bits: shared, size: 16 });
      fc.pre(!(network.slice(0, 5).every((each) => each === 0) && network[5] === 0xffff));
      const [text, base] = [spelled(address, one), spelled(network, otherHow)];
      const expected = platformAllows(text, base, prefix);
      allowed += expected ? 1 : 0;
      expect(addressAllowed(text, [`${base}/${prefix}`])).toBe(expected);
      // An address and its block do not depend on how they are written.
      expect(addressBlock(text)).toBe(addressBlock(spelled(address, otherHow)));
    }),
    { numRuns: 2_000 },
  );
  expect(allowed).toBeGreaterThan(400);
});

it("takes for an address what Node does, but for one with a zone", () => {
  const word = fc.constantFrom(
    "0",
    "00",
    "1",
    "255",
    "256",
    "ffff",
    "FFFF",
    "fffff",
    ".",
    ":",
    "::",
    "::ffff:",
    "1.2.3.4",
    "%eth0",
    " ",
    "x",
  );
  const text = fc.array(word, { maxLength: 17 }).map((words) => words.join(""));
  const valid = fc.oneof(
    octets.map((all) => all.join(".")),
    fc.tuple(groups, how).map(([all, each]) => spelled(all, each)),
  );
  const nearly = fc
    .record({
      address: valid,
      at: fc.nat(),
      cut: fc.integer({ min: 0, max: 2 }),
      put: fc.oneof(fc.constant(""), word),
    })
    .map(({ address, at, cut, put }) => {
      const place = at % (address.length + 1);
      return address.slice(0, place) + put + address.slice(place + cut);
    });
  let addresses = 0;
  fc.assert(
    fc.property(fc.oneof(text, nearly), (candidate) => {
      const expected = isIP(candidate) !== 0 && !candidate.includes("%");
      addresses += expected ? 1 : 0;
      expect(parseRange(candidate) !== null).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
  expect(addresses).toBeGreaterThan(200);
});

it("keeps IPv4-mapped addresses out of IPv6 ranges, and takes no range that is written so", () => {
  expect(addressAllowed("::ffff:192.0.2.7", ["::/0", "::ffff:0:0/96"])).toBe(false);
  expect(addressAllowed("192.0.2.7", ["::ffff:192.0.2.0/120"])).toBe(false);
});

// Amounts of money are decimal strings with at most six decimals. Doubles cannot tell some of them apart: as doubles, half
// of 4.30 is less than 6.45 - 4.30, and 999999999999999.000001 equals 999999999999999.000002.

/** The exact number of millionths in a decimal string. Accepts only what `isDecimal` accepts. */
export function millionthsOf(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

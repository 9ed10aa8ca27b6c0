// Amounts of money are decimal strings of at most six decimals. Doubles do not keep them apart: they take half of 4.30
// for less than 6.45 - 4.30, and 999999999999999.000001 for 999999999999999.000002.

/** Millionths in a decimal string, exactly. Takes only what `isDecimal` accepts. */
export function millionthsOf(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

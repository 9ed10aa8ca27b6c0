// Amounts of money are decimal strings with at most six decimals. Doubles cannot tell some of them apart: as doubles, half
// of 4.30 is less than 6.45 - 4.30, and 999999999999999.000001 equals 999999999999999.000002.

/** The exact number of millionths in a decimal string. Accepts only what `isDecimal` accepts. */
export function millionthsOf(amount: string): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

/** The shortest decimal string of a number of millionths, with a minus sign if it is negative. */
export function decimalOf(millionths: bigint): string {
  const size = (millionths < 0n ? -millionths : millionths).toString().padStart(7, "0");
  const fraction = size.slice(-6).replace(/0+$/, "");
  return `${millionths < 0n ? "-" : ""}${size.slice(0, -6)}${fraction === "" ? "" : `.${fraction}`}`;
}

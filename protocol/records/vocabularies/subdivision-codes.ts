import listed from "./subdivision-codes.json" with { type: "json" };

/** The codes of the 5,070 subdivisions of ISO 3166-2, on all its levels. What judges a record needs no names, which are four times as long. */
export const subdivisionCodes: ReadonlySet<string> = new Set(
  Object.entries(listed).flatMap(([country, codes]) => codes.split(" ").map((own) => `${country}-${own}`)),
);

/** The pattern that every ISO 3166-2 code matches. */
export const subdivisionPattern = "^[A-Z]{2}-[A-Z0-9]{1,3}$";

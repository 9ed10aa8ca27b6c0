// The subjects that the ads of the benchmark name, and that its pools ask for.

const kinds = [
  "trail",
  "winter",
  "leather",
  "canvas",
  "summer",
  "cotton",
  "travel",
  "office",
  "garden",
  "city",
];
const things = ["shoes", "boots", "jackets", "bags", "gloves"];

/** Fifty; each ad names three of them. */
export const adKeywords: readonly string[] = kinds.flatMap((kind) =>
  things.map((thing) => `${kind} ${thing}`),
);

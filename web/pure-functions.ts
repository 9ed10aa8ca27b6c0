// What a bundler may leave out although it is called.

import * as shapes from "../protocol/shape.ts";

/** Functions that only make a value, so that what nobody uses of what they make is left out. */
export const pureFunctions: readonly string[] = [
  ...Object.entries(shapes).flatMap(([name, each]) => (typeof each === "function" ? [name] : [])),
  "codeList",
  "Object.entries",
  "Object.fromEntries",
  "Object.freeze",
  "Object.keys",
  "Map",
  "Set",
];

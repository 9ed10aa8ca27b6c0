// `--where`: one condition of a search as people type it, turned into a filter clause of the request.

import { UsageError } from "./exit-codes.ts";

type Clause = Readonly<Record<string, unknown>>;

const comparison = /^([a-z_][a-z_.]*)(:=|!=|<=|>=|=|<|>)(.*)$/s;
const listing = /^([a-z_][a-z_.]*)\s+(in|nin)\s+(.+)$/s;
const nearby = /^([a-z_][a-z_.]*)\s+near\s+(-?[0-9.]+),(-?[0-9.]+),([0-9.]+)$/;
const operators: Readonly<Record<string, string>> = {
  "!=": "ne",
  "<": "lt",
  "<=": "lte",
  ">": "gt",
  ">=": "gte",
};

/** Shown when a condition cannot be parsed. */
export const whereHelp = [
  "field=value   field!=value   field<n   field<=n   field>n   field>=n",
  "'field in a,b'   'field nin a,b'   'geo near LAT,LNG,KM'",
  "field:=JSON for a value that is not a text, for example year_established:=1987",
];

/** Throws {@link UsageError}. Fields and operators are checked by the service. */
export function parseWhere(text: string): Clause {
  const near = nearby.exec(text);
  if (near !== null) {
    const [, field = "", lat, lng, radius] = near;
    return { [field]: { near: { lat: Number(lat), lng: Number(lng), radius_km: Number(radius) } } };
  }
  const list = listing.exec(text);
  if (list !== null) {
    const [, field = "", operator = "", values = ""] = list;
    return { [field]: { [operator]: values.split(",").map((value) => value.trim()) } };
  }
  const match = comparison.exec(text);
  if (match === null)
    throw new UsageError(
      [`--where ${JSON.stringify(text)} is not a condition. Use:`, ...whereHelp].join("\n  "),
    );
  const [, field = "", operator = "", value = ""] = match;
  if (operator === ":=") return { [field]: jsonValue(text, value) };
  if (operator === "=") return { [field]: value === "true" || value === "false" ? value === "true" : value };
  const isOrder = operator.startsWith("<") || operator.startsWith(">");
  const operand = isOrder && /^-?[0-9]+(\.[0-9]+)?$/.test(value) ? Number(value) : value;
  return { [field]: { [operators[operator] ?? operator]: operand } };
}

function jsonValue(text: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new UsageError(`--where ${JSON.stringify(text)}: what follows := must be JSON.`);
  }
}

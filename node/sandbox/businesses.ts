// The sample parties, which samples.json describes: what they publish, and beside them those that are refused, each for trying one
// refusal (refusals/, docs/sandbox.md). In a record, `@9 09:30` is a time of day, UTC, nine days after the first start.
//   The diamond merchant's system pushes a catalogue of several hundred stones (path A). The service holds the key of the bakery, so
//   its records carry a hosted key's seal. The bookshop sealed its AI policy twice, and blocks the second company.

import type { TrialAllowance } from "../../service/money/allowance.ts";
import { isObject } from "../../std/json-pointer.ts";
import type { StoneShop } from "./diamonds.ts";
import {
  aiPolicy,
  type Calendar,
  type Permissions,
  type SampleBusiness,
  type SampleCompany,
  type SampleRecord,
} from "./sample.ts";
import samples from "./samples.json" with { type: "json" };

interface Written extends Omit<SampleBusiness, "policies" | "records"> {
  readonly policies: readonly Permissions[];
  readonly records: readonly SampleRecord[];
}

export const stoneShop: StoneShop = samples.stoneShop;

/** The sample businesses, in the order of `sandbox.json`; the first one's system pushes the catalogue. */
export const sampleBusinesses = (samples.businesses as unknown as readonly Written[]).map(read);

export const sampleCompanies = samples.companies as readonly SampleCompany[];

/** Their records are published where no other sample is, so that searches elsewhere find what they always found. */
export const trialBusinesses = (samples.trialBusinesses as unknown as readonly Written[]).map(read);

export const trialCompanies = samples.trialCompanies as readonly SampleCompany[];

/** The companies whose answers are refused as if they paid, by uuid. */
export const trialAllowances: ReadonlyMap<string, TrialAllowance> = new Map(
  trialCompanies.flatMap(({ uuid, allowance }) =>
    allowance === undefined ? [] : [[uuid, allowance] as const],
  ),
);

export function sampleBusiness(name: string): SampleBusiness {
  const found = sampleBusinesses.find((each) => each.name === name);
  if (found === undefined) throw new Error(`There is no sample business ${name}.`);
  return found;
}

function read({ policies, records, ...party }: Written): SampleBusiness {
  return {
    ...party,
    policies: policies.map(aiPolicy),
    records: (calendar) => records.map((each) => dated(each, calendar) as SampleRecord),
  };
}

function dated(value: unknown, calendar: Calendar): unknown {
  if (Array.isArray(value)) return value.map((each) => dated(each, calendar));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, dated(member, calendar)]));
  const [, days, hours, minutes] = (typeof value === "string" && /^@(\d+) (\d\d):(\d\d)$/.exec(value)) || [];
  return days === undefined ? value : calendar(Number(days), `${Number(hours)}:${Number(minutes)}`);
}

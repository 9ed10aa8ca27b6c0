// svc/jobs/1. The members follow from what the specification filters and sorts («Filter fields»). Whether the salary is
// disclosed is not stated separately; it is disclosed exactly when `salary` is present.

import { isObject } from "../../std/is-object.ts";
import type { JsonObject } from "../canonical-json.ts";
import { isDecimal } from "../identifiers.ts";
import { millionthsOf } from "../money.ts";
import {
  code,
  form,
  geopoint,
  longText,
  money,
  object,
  optional,
  subdivisionForm,
  text,
  timestamp,
} from "./fields.ts";
import { httpsUrlForm } from "./https-url.ts";
import type { FaultList } from "./record-fault.ts";
import { coreMembers, type RecordType } from "./record-type.ts";
import { currencies } from "./vocabularies/currencies.ts";
import { taxonomyList } from "./vocabularies/taxonomy.ts";

const salary = object(
  {
    min: money("Lowest salary offered."),
    max: money("Highest salary offered."),
    currency: code(currencies, "Currency of both."),
    period: code(taxonomyList("salary_periods"), "What the salary is paid for."),
  },
  "The salary, where it is disclosed.",
);

export const jobs: RecordType = {
  collection: "jobs",
  version: 1,
  title: "Job",
  members: {
    ...coreMembers("svc/jobs/1"),
    title: text(200, "Title of the job."),
    description: longText(2_000, "What the job is."),
    category: code(taxonomyList("job_categories"), "Field of work."),
    employment_type: code(taxonomyList("employment_types"), "Kind of employment."),
    work_arrangement: code(taxonomyList("work_arrangements"), "Where the work is done."),
    salary: optional(salary),
    closing_date: optional(timestamp("When applications close.")),
    city: optional(text(100, "City.", "place")),
    region: optional(form(subdivisionForm, "ISO 3166-2 subdivision.")),
    geo: optional(geopoint("Where the work place is.")),
    job_url: optional(form(httpsUrlForm, "Page of the job.")),
    apply_url: optional(form(httpsUrlForm, "Where to apply.")),
  },
  rules: [salaryInOrder],
};

function salaryInOrder({ salary: offered }: JsonObject, faults: FaultList): void {
  if (!isObject(offered)) return;
  const { min, max } = offered;
  if (typeof min !== "string" || typeof max !== "string" || !isDecimal(min) || !isDecimal(max)) return;
  if (millionthsOf(max) < millionthsOf(min))
    faults.add("value_invalid", "/salary/max", "Must not be less than min.");
}

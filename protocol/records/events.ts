// svc/events/1. The members follow from what the specification filters and sorts («Filter fields»).

import type { JsonObject } from "../canonical-json.ts";
import { isDecimal, parseTimestamp } from "../identifiers.ts";
import { millionthsOf } from "../money.ts";
import {
  boolean,
  code,
  form,
  geopoint,
  longText,
  money,
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
import { timeZones } from "./vocabularies/time-zones.ts";

export const events: RecordType = {
  collection: "events",
  version: 1,
  title: "Event",
  members: {
    ...coreMembers("svc/events/1"),
    title: text(200, "Name of the event."),
    description: longText(2_000, "What happens."),
    event_type: code(taxonomyList("event_types"), "Kind of event."),
    attendance_mode: code(taxonomyList("attendance_modes"), "How it is attended."),
    start_at: timestamp("When it begins."),
    end_at: timestamp("When it ends."),
    timezone: code(timeZones, "Time zone of the place, in which the times are to be shown."),
    venue: optional(text(200, "Name of the venue.", "place")),
    address: optional(text(200, "Street address.", "place")),
    city: optional(text(100, "City.", "place")),
    region: optional(form(subdivisionForm, "ISO 3166-2 subdivision.")),
    geo: optional(geopoint("Where it is.")),
    ticketed: boolean("Whether a ticket is needed."),
    price_min: optional(money("Lowest ticket price.")),
    price_max: optional(money("Highest ticket price.")),
    price_currency: optional(code(currencies, "Currency of both prices.")),
    age_restriction: optional(code(taxonomyList("age_restrictions"), "Who is admitted.")),
    event_url: optional(form(httpsUrlForm, "Page of the event.")),
  },
  rules: [
    endsAfterItStarts,
    pricesInOrder({ min: "price_min", max: "price_max", currency: "price_currency" }),
  ],
};

function endsAfterItStarts({ start_at: start, end_at: end }: JsonObject, faults: FaultList): void {
  if (typeof start !== "string" || typeof end !== "string") return;
  const [startMs, endMs] = [parseTimestamp(start), parseTimestamp(end)];
  if (startMs !== null && endMs !== null && endMs < startMs) {
    faults.add("value_invalid", "/end_at", "Must not be before start_at.");
  }
}

/** Requires both amounts or neither, the lower one first, together with a currency. */
function pricesInOrder(names: { readonly min: string; readonly max: string; readonly currency: string }) {
  return (record: JsonObject, faults: FaultList): void => {
    const [min, max, currency] = [record[names.min], record[names.max], record[names.currency]];
    if ((min === undefined) !== (max === undefined)) {
      const missing = min === undefined ? names.min : names.max;
      faults.add("member_missing", `/${missing}`, `${names.min} and ${names.max} go together.`);
    }
    if ((min !== undefined || max !== undefined) && currency === undefined) {
      faults.add("member_missing", `/${names.currency}`, `${names.currency} is required with a price.`);
    }
    if (
      typeof min === "string" &&
      typeof max === "string" &&
      isDecimal(min) &&
      isDecimal(max) &&
      millionthsOf(max) < millionthsOf(min)
    ) {
      faults.add("value_invalid", `/${names.max}`, `Must not be less than ${names.min}.`);
    }
  };
}

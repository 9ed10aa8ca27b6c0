// The reads of a business about how its records are found (specification, «B. Business machine API», analytics).

import { collectionNames } from "../../protocol/identifiers.ts";
import {
  askingCompaniesMax,
  dailyAnalytics,
  day,
  demand,
  demandCompaniesMin,
  demandRestMin,
  demandSearchesMin,
  whoIsAsking,
} from "../../protocol/wire/analytics.ts";
import type { Outcome } from "../../service/answer.ts";
import { type AnalyticsRequest, analyticsDaysMax, demandDaysMax } from "../../service/retrieval/analytics.ts";
import { answeredWith, inQuery, type Parameter, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessRead, type Callers } from "../signed.ts";

type Read = (request: AnalyticsRequest) => Promise<Outcome>;

/** What the routes call; each function checks its parameters. */
export interface AnalyticsReads {
  readonly daily: Read;
  readonly whoIsAsking: Read;
  readonly demand: Read;
}

/** `GET /v1/analytics/daily`, `/v1/analytics/who-is-asking` and `/v1/analytics/demand` of the caller's own business. */
export function analyticsRoutes(callers: Callers, reads: AnalyticsReads): readonly Route[] {
  const route = (name: string, doc: RouteDoc, read: Read): Route =>
    businessRead(
      callers,
      `/v1/analytics/${name}`,
      doc,
      ["from", "to", "country", "type"],
      ({ authenticated, query }) => read({ caller: authenticated.caller, query }),
    );
  return [
    route("daily", dailyDoc, reads.daily),
    route("who-is-asking", whoDoc, reads.whoIsAsking),
    route("demand", demandDoc, reads.demand),
  ];
}

function parameters(daysMax: number, isRequired: boolean): readonly Parameter[] {
  const only = isRequired ? "The" : "Only this";
  const presence = isRequired ? "required" : "optional";
  const lastDay = `The day after the last one; by default tomorrow. At most ${daysMax} days after \`from\`.`;
  return [
    inQuery("from", "The first day, in UTC; by default thirty days before `to`.", day.schema),
    inQuery("to", lastDay, day.schema),
    inQuery(
      "country",
      `${only} country of the searches.`,
      { type: "string", pattern: "^[A-Z]{2}$" },
      presence,
    ),
    inQuery("type", `${only} type of records.`, { enum: collectionNames }, presence),
    sandboxKey,
  ];
}

const dailyDoc: RouteDoc = {
  summary: "How often the business was shown and fetched, by day, country and type",
  description: "Counts are complete a few seconds after an answer, and are kept for about a year.",
  parameters: parameters(analyticsDaysMax, false),
  answers: answeredWith("The figures of the days on which there were any", dailyAnalytics),
  problems: ["request_invalid"],
};

const whoDoc: RouteDoc = {
  summary: "Which AI companies were shown or fetched records of the business",
  description: `Those that asked most come first, ${askingCompaniesMax} at most.`,
  parameters: parameters(analyticsDaysMax, false),
  answers: answeredWith("The companies, each with its figures by day", whoIsAsking),
  problems: ["request_invalid"],
};

const demandDoc: RouteDoc = {
  summary: "What was asked for in a country and type in which the business publishes",
  description: `Subject terms that AI companies named in searches (\`topic_keywords\`), screened for anything personal. A day counts for a subject if at least ${demandCompaniesMin} companies named it in at least ${demandSearchesMin} searches, of which at least ${demandRestMin} came from others than the two that asked most.`,
  parameters: parameters(demandDaysMax, true),
  answers: answeredWith("The subjects; those that were asked for most come first", demand),
  problems: ["request_invalid", "not_found"],
};

// What an expression of PromQL asks for and a node does not show.

import { problemCodes } from "../../protocol/problem.ts";
import { type Matcher, namedIn } from "./promql.fixture.ts";
import type { ShownMetric } from "./shown-metrics.fixture.ts";

/** The labels that Prometheus adds to every series, and the only metric that is its own. */
const targetLabels = ["instance", "job"];
const ofPrometheus: ShownMetric = { kind: "gauge", help: "", series: [{}] };

/** Throws for an expression that is not PromQL. */
export function expressionFaults(expr: string, shown: ReadonlyMap<string, ShownMetric>): readonly string[] {
  const { selectors, labels } = namedIn(expr);
  const known = new Set(targetLabels);
  const faults: string[] = [];
  for (const { metric, matchers, over } of selectors) {
    const found = metric === "up" ? ofPrometheus : shown.get(metric);
    if (found === undefined) {
      faults.push(`${metric} is not shown`);
      continue;
    }
    for (const series of found.series) for (const label of Object.keys(series)) known.add(label);
    for (const matcher of matchers) faults.push(...matcherFaults(metric, found, matcher));
    const isCounter = found.kind === "counter" || found.kind === "histogram";
    if (over !== null && (over === "rate" || over === "increase") !== isCounter)
      faults.push(`${over} of ${metric}, which is a ${found.kind}`);
  }
  if (selectors.length === 0) faults.push("names no metric");
  return [
    ...faults,
    ...labels.filter((label) => !known.has(label)).map((label) => `no metric has the label ${label}`),
  ];
}

function matcherFaults(metric: string, { series }: ShownMetric, matcher: Matcher): readonly string[] {
  const { label, operator, value } = matcher;
  if (targetLabels.includes(label)) return [];
  if (!series.some((each) => label in each)) return [`${metric} has no label ${label}`];
  const values = operator.endsWith("~") ? value.split("|") : [value];
  return values.filter((each) => !isPossible(label, each, series)).map((each) => `no ${label} is ${each}`);
}

/** A value that a series has, or one of a list that the code has. */
function isPossible(label: string, value: string, series: ShownMetric["series"]): boolean {
  if (label === "code") return value in problemCodes;
  if (label === "environment") return value === "production" || value === "sandbox";
  if (label === "status") return /^[1-5](\d\d|\.\.)$/.test(value);
  return series.some((each) => each[label] === value);
}

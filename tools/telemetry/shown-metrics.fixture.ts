// What a node shows on /metrics: the kind of each metric, and its series with their labels.

import { accountReadings } from "../../node/telemetry/actor-readings.ts";

export interface ShownMetric {
  readonly kind: string;
  readonly help: string;
  readonly series: readonly Readonly<Record<string, string>>[];
}

/** By the name that an expression uses: a histogram has its three names. */
export function shownIn(text: string): ReadonlyMap<string, ShownMetric> {
  const kinds = new Map<string, string>();
  const helps = new Map<string, string>();
  const series = new Map<string, Record<string, string>[]>();
  for (const line of text.split("\n")) {
    const [, about, name = "", rest = ""] = /^# (TYPE|HELP) (\S+) (.*)$/.exec(line) ?? [];
    if (about === "TYPE") kinds.set(name, rest);
    else if (about === "HELP") helps.set(name, rest);
    const sample = /^([a-z_]+)(?:\{(.*)\})? \S+$/.exec(line);
    if (sample === null) continue;
    const [, metric = "", labels = ""] = sample;
    series.set(metric, [...(series.get(metric) ?? []), labelsOf(labels)]);
  }
  return new Map(
    [...kinds].flatMap(([name, kind]) =>
      (kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]).map(
        (each) => [each, { kind, help: helps.get(name) ?? "", series: series.get(each) ?? [] }] as const,
      ),
    ),
  );
}

/** What a node shows only while an account runs low. */
export function shownOfLowAccounts(): readonly (readonly [string, ShownMetric])[] {
  const low = { ref: { kind: "ledger", id: "c" }, context: { currency: "EUR", balance: 0, hours: {} } };
  return accountReadings([low], 0).map(({ name, kind, help, labels = {} }) => [
    name,
    { kind, help, series: [labels] },
  ]);
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

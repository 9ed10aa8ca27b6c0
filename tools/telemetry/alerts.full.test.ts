// Prometheus's own promtool judges the alerts: whether they are rules, and whether each fires for a series that it is meant for
// and is silent for a similar one. Without promtool this says loudly that it was skipped; in CI it fails.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type AlertCase, alertCases } from "./alert-cases.fixture.ts";
import { type Alert, alertsFile, readAlerts } from "./telemetry-files.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-alerts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const promtool = spawnSync("promtool", ["--version"]).status === 0;
const isSkipped = !promtool && process.env["CI"] === undefined;
if (isSkipped) console.warn("SKIPPED: promtool is not installed (Debian has it in the package prometheus).");

function judge(...args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { encoding: "utf8" });
  return { status, said: error?.message ?? `${stdout}${stderr}` };
}

const alerts = new Map(readAlerts().map((alert) => [alert.alert, alert]));
const minutes = 180;

interface Expected {
  readonly exp_labels: Readonly<Record<string, string>>;
  readonly exp_annotations: Readonly<Record<string, string>>;
}

function firing({ labels, annotations }: Alert, { about }: AlertCase): Expected {
  const fill = (text: string): string =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => about[name] ?? "");
  const { summary, runbook } = annotations;
  return {
    exp_labels: { ...about, severity: labels.severity },
    exp_annotations: { summary: fill(summary), runbook },
  };
}

function staged(series: readonly string[], each: AlertCase, expected: readonly Expected[]): object {
  return {
    interval: "1m",
    input_series: series.map((line) => {
      const [, name, values] = /^(.*) (\S+)$/.exec(line) ?? [];
      return { series: name, values: `${values}x${minutes}` };
    }),
    alert_rule_test: [{ eval_time: each.at, alertname: each.alert, exp_alerts: expected }],
  };
}

/** The file in which promtool reads its tests; JSON is YAML. */
function casesFile(cases: readonly AlertCase[], expected: (each: AlertCase) => readonly Expected[]): string {
  const tests = cases.flatMap((each) => [
    staged(each.fires, each, expected(each)),
    staged(each.calm, each, []),
  ]);
  const path = join(folder, `cases-${cases.length}.json`);
  writeFileSync(path, JSON.stringify({ rule_files: [alertsFile], evaluation_interval: "30s", tests }));
  return path;
}

it("has a case for every alert", () => {
  expect(alertCases.map(({ alert }) => alert).sort()).toEqual([...alerts.keys()].sort());
});

it.skipIf(isSkipped)("is a rule, by Prometheus's own judgement", () => {
  expect(judge("check", "rules", alertsFile)).toMatchObject({ status: 0 });
});

it.skipIf(isSkipped)("fires for what it is meant for, and for nothing else", () => {
  const path = casesFile(alertCases, (each) => [firing(alerts.get(each.alert) as Alert, each)]);
  expect(judge("test", "rules", path)).toMatchObject({ status: 0 });
});

it.skipIf(isSkipped)("is found not to fire where it should have", () => {
  const [first] = alertCases;
  if (first === undefined) throw new Error("There are no cases.");
  const path = casesFile([{ ...first, fires: first.calm }], (each) => [
    firing(alerts.get(each.alert) as Alert, each),
  ]);
  expect(judge("test", "rules", path)).toMatchObject({ status: 1 });
});

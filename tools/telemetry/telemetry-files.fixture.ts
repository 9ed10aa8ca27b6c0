// The alerts and the dashboard as files have them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "../process.ts";

export const alertsFile = join(root, "deploy/prometheus/alerts.yaml");

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

export function readAlerts(): readonly Alert[] {
  const file = parse(readFileSync(alertsFile, "utf8")) as { groups: readonly { rules: readonly Alert[] }[] };
  return file.groups.flatMap(({ rules }) => rules);
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** The expressions of the dashboard, with Grafana's own variables replaced as Grafana does. */
export function readDashboard(): readonly { readonly title: string; readonly expr: string }[] {
  const path = join(root, "deploy/grafana/svc.json");
  const { panels } = JSON.parse(readFileSync(path, "utf8")) as { panels: readonly Panel[] };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr: expr.replaceAll("$__rate_interval", "5m") })),
  );
}

// What the node's connected peers use and how often a limit was hit, for /metrics.

import { type Edge, type EdgeRefusal, edgeRefusals } from "../api/edge.ts";
import type { Reading } from "../ops/metrics.ts";

export function edgeReadings(edge: Edge): readonly Reading[] {
  const { connections, bodyBytes, answerBytes } = edge.usage();
  const { waiting, answering } = edge.checks.usage();
  const gauge = (name: string, help: string, value: number): Reading => ({
    name,
    help,
    kind: "gauge",
    value,
  });
  return [
    gauge("svc_http_connections", "Connections of callers.", connections),
    gauge("svc_http_body_bytes", "Bytes of bodies that are being read or answered.", bodyBytes),
    gauge("svc_http_answer_bytes", "Bytes of answers that peers have not read.", answerBytes),
    gauge("svc_http_checks_waiting", "Checks that anyone may make and that wait for their turn.", waiting),
    gauge("svc_http_checks_answering", "Checks that anyone may make and that are being answered.", answering),
    ...Object.entries(edge.refusals).map(
      ([kind, value]): Reading => ({
        ...{ name: `svc_http_refused_${kind}_total`, help: edgeRefusals[kind as EdgeRefusal] },
        ...{ kind: "counter", value },
      }),
    ),
  ];
}

// A running node, probed at its operations surface: whether it is ready, and whether it refuses the callers that it must
// refuse.

import { request } from "node:http";
import { clockOff } from "./engines.ts";
import { type Finding, findingsOf } from "./finding.ts";

const answerMaxMs = 5_000;
const bytesMax = 1_048_576;
/** HTTP dates have a resolution of one second. */
const clockMaxMs = 2_000;

interface Answer {
  readonly status: number;
  readonly date: string;
  readonly text: string;
}

export function runningFindings(url: URL, now: () => number): Promise<readonly Finding[]> {
  const where = url.origin;
  return findingsOf("node_unreachable", where, async () => [
    ...(await readyFindings(url, now)),
    ...(await guardFindings(url)),
  ]);
}

async function readyFindings(url: URL, now: () => number): Promise<readonly Finding[]> {
  const where = url.origin;
  const answer = await ask(url, { path: "/readyz" });
  const findings: Finding[] = [];
  const offMs = Math.abs(Date.parse(answer.date) - now());
  if (offMs > clockMaxMs) findings.push(clockOff(where, offMs));
  const report = parsed(answer.text);
  if (report === null) throw new Error(`answers /readyz with ${answer.status}, but not with a node's report`);
  for (const [name, said] of Object.entries(report.checks)) {
    if (said === "ok") continue;
    const fix = "See docs/production.md, «What each failure does».";
    findings.push({ code: "node_not_ready", where, problem: `reports about ${name}: ${said}`, fix });
  }
  for (const channel of report.plain_text) {
    findings.push({
      ...{ code: "plain_text_allowed", where },
      problem: `speaks to ${channel} in the clear`,
      fix: "Set up TLS on that channel (docs/production.md), unset its …_INSECURE, and restart the node.",
    });
  }
  return findings;
}

function parsed(
  text: string,
): { readonly checks: Readonly<Record<string, string>>; readonly plain_text: readonly string[] } | null {
  try {
    const value = JSON.parse(text);
    return typeof value?.checks === "object" && Array.isArray(value.plain_text) ? value : null;
  } catch {
    return null;
  }
}

/** The probe would change nothing even if it were answered. */
async function guardFindings(url: URL): Promise<readonly Finding[]> {
  const where = url.origin;
  const findings: Finding[] = [];
  const foreign = await ask(url, { path: "/ops/actors/business", host: "attacker.example" });
  if (foreign.status !== 421) {
    findings.push({
      ...{ code: "ops_unguarded", where },
      problem: `answers ${foreign.status} to a request for another host, as a page in an operator's browser could send it`,
      fix: "Run this release on the node; put nothing in front of the surface that rewrites Host.",
    });
  }
  const unsigned = await ask(url, { path: "/ops/cluster/moves", method: "POST" });
  if (unsigned.status !== 401) {
    findings.push({
      ...{ code: "ops_unguarded", where },
      problem: `answers ${unsigned.status} to an act without a token`,
      fix: "Run this release on the node; put nothing in front of the surface that adds the token.",
    });
  }
  return findings;
}

function ask(
  url: URL,
  asked: { readonly path: string; readonly method?: string; readonly host?: string },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = {
    method: asked.method ?? "GET",
    headers: { host: asked.host ?? url.host, "content-length": "0" },
    timeout: answerMaxMs,
    agent: false as const,
  };
  const sent = request(new URL(asked.path, url), options, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > bytesMax) sent.destroy(new Error("sends a longer answer than a node would"));
    });
    answer.on("end", () =>
      resolve({ status: answer.statusCode ?? 0, date: answer.headers.date ?? "", text }),
    );
  });
  sent.on("timeout", () => sent.destroy(new Error("does not answer in time")));
  sent.on("error", reject);
  sent.end();
  return promise;
}

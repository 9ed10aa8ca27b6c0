// Looks what the owner of a domain publishes: TXT records over DNS, and a file over HTTPS (P1 to P4 of the port).

import type { IncomingMessage } from "node:http";
import { counter, type Reading } from "../../ops/metrics.ts";
import { challengeName, challengeUrl, hasLine } from "../../protocol/keys/certificate.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { DomainProbe, ProbeOutcome } from "../../transport/domain-probe.ts";
import {
  codeOf,
  isTheirs,
  NoPublicAddress,
  noRecordCodes,
  type Outside,
  openOutside,
  type Resolving,
  requestPublic,
} from "./public-request.ts";

export interface DomainProbeOptions extends Resolving {
  readonly limits?: Partial<ProbeLimits>;
}

export interface ProbeLimits {
  /** The time of a probe. */
  readonly wholeMs: number;
  /** The time of one question to one resolver. */
  readonly questionMs: number;
  readonly fileBytesMax: number;
  /** Probes at once; others wait. */
  readonly atOnce: number;
}

const defaults: ProbeLimits = { wholeMs: 10_000, questionMs: 2_500, fileBytesMax: 16_384, atOnce: 16 };

/** What one place was found to have. */
type Finding = { readonly kind: "found" | "absent" | "unanswered"; readonly detail: string };

interface Sight extends Outside {
  readonly limits: ProbeLimits;
}

export function createDomainProbe(options: DomainProbeOptions): DomainProbe {
  const limits = { ...defaults, ...options.limits };
  const lanes = new Semaphore(limits.atOnce);
  return { probe: (domain, text) => lanes.run(() => probe(domain, text, options, limits)) };
}

async function probe(
  domain: string,
  text: string,
  options: DomainProbeOptions,
  limits: ProbeLimits,
): Promise<ProbeOutcome> {
  const sight = { ...openOutside(options, limits), limits };
  const [txt, file] = await Promise.all([lookUpText(sight, domain, text), fetchText(sight, domain, text)]);
  if (txt.kind === "found") return { kind: "confirmed", by: "txt" };
  if (file.kind === "found") return { kind: "confirmed", by: "file" };
  const kind = txt.kind === "unanswered" || file.kind === "unanswered" ? "unanswered" : "absent";
  return { kind, detail: `TXT record: ${txt.detail}; file: ${file.detail}.` };
}

async function lookUpText({ resolver }: Sight, domain: string, text: string): Promise<Finding> {
  try {
    const records = await resolver.resolveTxt(challengeName(domain));
    return records.some((chunks) => chunks.join("") === text)
      ? { kind: "found", detail: "found" }
      : { kind: "absent", detail: "the records of this name are others" };
  } catch (error) {
    const code = codeOf(error);
    return noRecordCodes.has(code)
      ? { kind: "absent", detail: "there is none" }
      : { kind: "unanswered", detail: `no answer (${code})` };
  }
}

async function fetchText(sight: Sight, domain: string, text: string): Promise<Finding> {
  try {
    const response = await get(sight, domain);
    const { statusCode: status = 0 } = response;
    if (status === 200) return await readFile(sight, response, text);
    response.destroy();
    const isTheirs = status < 500 && status !== 429 && status !== 408;
    return { kind: isTheirs ? "absent" : "unanswered", detail: `status ${status}` };
  } catch (error) {
    return refusedBy(error);
  }
}

async function readFile(
  { limits }: Pick<Sight, "limits">,
  response: IncomingMessage,
  text: string,
): Promise<Finding> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop ends the connection.
    if (length > limits.fileBytesMax) return { kind: "absent", detail: "the file is too long" };
    chunks.push(chunk);
  }
  return hasLine(Buffer.concat(chunks).toString("utf8"), text)
    ? { kind: "found", detail: "found" }
    : { kind: "absent", detail: "the file has no such line" };
}

function get(sight: Sight, domain: string): Promise<IncomingMessage> {
  const headers = { accept: "text/plain", "user-agent": "svc-domain-probe" };
  return requestPublic(sight, new URL(challengeUrl(domain)), { headers });
}

function refusedBy(error: unknown): Finding {
  if (error instanceof NoPublicAddress) return { kind: "absent", detail: "the domain has no public address" };
  const code = codeOf(error);
  if (noRecordCodes.has(code)) return { kind: "absent", detail: "the domain has no address" };
  return isTheirs(code)
    ? { kind: "absent", detail: `its server does not answer by valid TLS (${code})` }
    : { kind: "unanswered", detail: `no answer (${code})` };
}

// How many domains a node looked at, and how many of these looks told nothing: operators see that its DNS or its network is away.

export interface CountedProbe extends DomainProbe {
  readings(): readonly Reading[];
}

export function countProbes(domains: DomainProbe): CountedProbe {
  let [probes, unanswered] = [0, 0];
  return {
    probe: async (domain, text) => {
      const outcome = await domains.probe(domain, text);
      probes += 1;
      if (outcome.kind === "unanswered") unanswered += 1;
      return outcome;
    },
    readings: () => [
      counter("svc_domain_probes_total", "Looks at the domains of endpoints.", probes),
      counter(
        "svc_domain_probes_unanswered_total",
        "Looks at the domains of endpoints that could not tell who controls them.",
        unanswered,
      ),
    ],
  };
}

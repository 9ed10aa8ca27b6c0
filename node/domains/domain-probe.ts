// Looks what the owner of a domain publishes: TXT records over DNS, and a file over HTTPS (P1 to P4 of the port).
//   C1. Every name is resolved by the resolvers that were set, for the file as well: names that only this machine or its network
//       knows lead nowhere.
//   C2. What a name resolves to is judged when it is connected to, so no second answer leads to another address. What a URL takes for
//       an address, such as 127.1, is no name: it would be connected to without being resolved.

import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { counter, type Reading } from "../../ops/metrics.ts";
import { challengeName, challengeUrl, hasLine } from "../../protocol/keys/certificate.ts";
import { isPublicAddress } from "../../std/ip-address.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { DomainProbe, ProbeOutcome } from "../../transport/domain-probe.ts";

export interface DomainProbeOptions {
  /** Addresses of resolvers, with ports if they are not 53; empty for those of the machine. */
  readonly resolvers: readonly string[];
  /** For tests: where the servers of all domains listen, and who certifies them. */
  readonly local?: { readonly port: number; readonly ca: string };
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

interface Sight {
  readonly resolver: Resolver;
  readonly signal: AbortSignal;
  readonly options: DomainProbeOptions;
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
  const resolver = new Resolver({ timeout: limits.questionMs, tries: 2 });
  if (options.resolvers.length > 0) resolver.setServers([...options.resolvers]);
  const signal = AbortSignal.timeout(limits.wholeMs);
  signal.addEventListener("abort", () => resolver.cancel());
  const sight = { resolver, signal, options, limits };
  const [txt, file] = await Promise.all([lookUpText(sight, domain, text), fetchText(sight, domain, text)]);
  if (txt.kind === "found") return { kind: "confirmed", by: "txt" };
  if (file.kind === "found") return { kind: "confirmed", by: "file" };
  const kind = txt.kind === "unanswered" || file.kind === "unanswered" ? "unanswered" : "absent";
  return { kind, detail: `TXT record: ${txt.detail}; file: ${file.detail}.` };
}

/** What resolvers answer about names that do not exist, have no such record or cannot exist. */
const noRecordCodes = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

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
  const { local } = sight.options;
  const url = new URL(challengeUrl(domain));
  if (isIP(url.hostname.replaceAll(/[[\]]/g, "")) !== 0) return Promise.reject(new NoPublicAddress());
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(url, {
    // A connection of its own: which one is used must not depend on what was resolved before.
    agent: false,
    signal: sight.signal,
    lookup: lookupOf(sight),
    headers: { accept: "text/plain", "user-agent": "svc-domain-probe" },
    ...(local === undefined ? {} : { port: local.port, ca: local.ca }),
  });
  sent.once("response", resolve);
  sent.on("error", reject);
  sent.end();
  return promise;
}

class NoPublicAddress extends Error {}

/** Resolves a name for a connection (C1, C2). */
function lookupOf(sight: Sight): LookupFunction {
  return (host, { all }, found) => {
    publicAddresses(sight, host).then(
      (addresses) => {
        const [first] = addresses as readonly [LookupAddress];
        if (all === true) found(null, [...addresses]);
        else found(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => found(error, "", 0),
    );
  };
}

/** At least one address. Throws {@link NoPublicAddress}, or what the resolver answered. */
async function publicAddresses(
  { resolver, options }: Sight,
  host: string,
): Promise<readonly LookupAddress[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = answers.flatMap((answer, at) =>
    answer.status === "rejected"
      ? []
      : answer.value.map((address) => ({ address, family: at === 0 ? 4 : 6 })),
  );
  const allowed = options.local
    ? addresses
    : addresses.filter(({ address }) => isPublicAddress(address) === true);
  if (allowed.length > 0) return allowed;
  if (addresses.length > 0) throw new NoPublicAddress();
  const failures = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  throw failures.find((error) => !noRecordCodes.has(codeOf(error))) ?? failures[0];
}

/** What the domain's own server, or another one at its address, does instead of answering. */
const theirCodes = /^(?:ECONNREFUSED|EPROTO|CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HPE_)/;

function refusedBy(error: unknown): Finding {
  if (error instanceof NoPublicAddress) return { kind: "absent", detail: "the domain has no public address" };
  const code = codeOf(error);
  if (noRecordCodes.has(code)) return { kind: "absent", detail: "the domain has no address" };
  return theirCodes.test(code)
    ? { kind: "absent", detail: `its server does not answer by valid TLS (${code})` }
    : { kind: "unanswered", detail: `no answer (${code})` };
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  // Several addresses were tried.
  const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  if (first !== undefined) return codeOf(first);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" ? code : error.name;
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

// Requests to servers that businesses name: by HTTPS alone, and to public addresses alone.
//   C1. Every name is resolved by the resolvers that were set: names that only this machine or its network knows lead nowhere.
//   C2. What a name resolves to is judged when it is connected to, so no second answer leads to another address. What a URL takes for
//       an address, such as 127.1, is no name: it would be connected to without being resolved.
//   C3. No redirect is followed, and no connection is used twice.
//   C4. What ends without an answer is a failure, as is what switches protocols or sends many interim answers.

import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import type { IncomingMessage, RequestOptions } from "node:http";
import { request } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "../../std/ip-address.ts";

export interface Resolving {
  /** Addresses of resolvers, with ports if they are not 53; empty for those of the machine. */
  readonly resolvers: readonly string[];
  /** For tests: where the servers of all domains listen, and who certifies them. */
  readonly local?: { readonly port: number; readonly ca: string };
}

export interface Outside {
  readonly resolver: Resolver;
  /** Ends the questions and the requests. */
  readonly signal: AbortSignal;
  readonly options: Resolving;
}

/** `wholeMs` is the time of everything, `questionMs` of one question to one resolver. */
export function openOutside(
  options: Resolving,
  { wholeMs, questionMs }: { readonly wholeMs: number; readonly questionMs: number },
): Outside {
  const resolver = new Resolver({ timeout: questionMs, tries: 2 });
  if (options.resolvers.length > 0) resolver.setServers([...options.resolvers]);
  const signal = AbortSignal.timeout(wholeMs);
  signal.addEventListener("abort", () => resolver.cancel());
  return { resolver, signal, options };
}

const interimMax = 8;

/** The head of the answer. Rejects with {@link NoPublicAddress}, or with what the resolver or the connection says. */
export function requestPublic(
  outside: Outside,
  url: URL,
  { body, ...given }: Pick<RequestOptions, "method" | "headers"> & { readonly body?: Uint8Array } = {},
): Promise<IncomingMessage> {
  const { options, signal } = outside;
  const { local } = options;
  if (isIP(url.hostname.replaceAll(/[[\]]/g, "")) !== 0) return Promise.reject(new NoPublicAddress());
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(url, {
    ...given,
    agent: false,
    signal,
    lookup: lookupOf(outside),
    ...(local === undefined ? {} : { port: local.port, ca: local.ca }),
  });
  sent.once("response", resolve);
  sent.on("error", reject);
  const unanswered = () => reject(new Error("The connection ended without an answer."));
  sent.once("close", unanswered);
  let interim = 0;
  sent.on("information", () => {
    interim += 1;
    if (interim <= interimMax) return;
    // The answer may be in the same bytes, and `close` would come after it.
    unanswered();
    sent.destroy();
  });
  sent.end(body);
  return promise;
}

export class NoPublicAddress extends Error {}

/** Resolves a name for a connection (C1, C2). */
function lookupOf(outside: Outside): LookupFunction {
  return (host, { all }, found) => {
    publicAddresses(outside, host).then(
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
  { resolver, options }: Outside,
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

/** What resolvers answer about names that do not exist, have no such record or cannot exist. */
export const noRecordCodes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

/** What the domain's own server, or another one at its address, does instead of answering. */
const theirCodes = /^(?:ECONNREFUSED|EPROTO|CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HPE_)/;

export function isTheirs(code: string): boolean {
  return theirCodes.test(code);
}

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  // Several addresses were tried.
  const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  if (first !== undefined) return codeOf(first);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" ? code : error.name;
}

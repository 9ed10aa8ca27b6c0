// The load balancer in front of a node, as docs/production.md describes it: it passes method, target, `Host` and body on exactly
// as they arrived. For tests.

import { request } from "node:http";
import type { Fetch } from "../../client/sender.ts";

const surfaces = ["SVC_RETRIEVAL_URL", "SVC_BUSINESS_URL", "SVC_VERIFY_URL"] as const;

/** The public addresses of a node's surfaces, by its settings. */
export function publicUrls(settings: Readonly<Record<string, string>>) {
  const [baseUrl = null, businessUrl = null, verifyUrl = null] = surfaces.map((name) => settings[name]);
  return { baseUrl, businessUrl, verifyUrl };
}

/** Sends what is addressed to the public addresses of a node to the node. */
export function balancedFetch(settings: Readonly<Record<string, string>>, portBase = 7_300): Fetch {
  const hosts = surfaces.map((name) => new URL(settings[name] ?? "").host);
  return (url, { method, headers, body, signal }) => {
    const { host, pathname, search } = new URL(url);
    const surface = hosts.indexOf(host);
    if (surface < 0) throw new Error(`${host} is no public address of the node`);
    if (body instanceof Blob) throw new Error("no form is sent here");
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Fetch>>>();
    const sent = request(
      {
        host: settings["SVC_HOST"],
        port: portBase + surface,
        path: `${pathname}${search}`,
        method,
        signal,
        agent: false,
        headers: { ...headers, host },
      },
      async (answer) => {
        const chunks: Buffer[] = [];
        for await (const chunk of answer) chunks.push(chunk as Buffer);
        resolve({
          status: answer.statusCode ?? 0,
          headers: { get: (name) => answer.headers[name.toLowerCase()]?.toString() ?? null },
          arrayBuffer: async () => Uint8Array.from(Buffer.concat(chunks)).buffer,
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
    return promise;
  };
}

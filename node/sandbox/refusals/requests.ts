// Refusals of requests: because of their signatures, or because of what they ask.

import { connect } from "node:net";
import type { JsonObject } from "../../../protocol/json/canonical-json.ts";
import {
  type Attempts,
  freshText,
  type Refused,
  refusedBy,
  type SentRequest,
  type Trial,
  trialSearch,
} from "./trial.ts";

const search = async (trial: Trial, request: Partial<SentRequest> = {}): Promise<Refused> => {
  const { searcher } = await trial.everyday;
  const url = `${trial.sandbox.base_url}/v1/search`;
  return refusedBy(await trial.send({ url, caller: searcher, body: trialSearch(), ...request }));
};

export const searchWith =
  (changes: Readonly<Record<string, unknown>>) =>
  (trial: Trial): Promise<Refused> =>
    search(trial, { body: trialSearch(changes) });

const signatures: Attempts = {
  signature_missing: (trial) => search(trial, { caller: null }),
  signature_invalid: async (trial) => {
    const { searcher } = await trial.everyday;
    const body = trialSearch();
    const key = { ...searcher.key, sign: () => searcher.key.sign(new Uint8Array(1)) };
    return search(trial, { caller: { ...searcher, key }, body });
  },
  signature_expired: (trial) => search(trial, { created: Math.floor(Date.now() / 1_000) - 600 }),
  key_unknown: async (trial) =>
    search(trial, { caller: await trial.searcher("for a reason of its own", "Revoked") }),
  "key_unknown/without_grant": async (trial) => {
    const { key } = await trial.searcher("for a reason of its own", "No request has brought");
    return search(trial, { caller: { key, grant: null } });
  },
  digest_mismatch: (trial) => search(trial, { sentBody: trialSearch({ limit: 2 }) }),
  nonce_reused: async (trial) => {
    const nonce = freshText();
    await search(trial, { nonce });
    return search(trial, { nonce });
  },
  allowance_exhausted: async (trial) =>
    search(trial, { caller: await trial.searcher("allowance is spent", "for everyday use") }),
  unavailable: async (trial) =>
    search(trial, { caller: await trial.searcher("cannot be checked", "for everyday use") }),
  role_not_allowed: async (trial) => search(trial, { caller: (await trial.everyday).publisher }),
};

const questions: Attempts = {
  record_too_large: searchWith({ q: "x".repeat(20_000) }),
  request_invalid: (trial) => search(trial, { body: "{" }),
  sort_required: searchWith({ sort_by: undefined }),
  media_type_unsupported: (trial) => search(trial, { headers: { "content-type": "text/plain" } }),
  not_found: async (trial) => {
    const { searcher } = await trial.everyday;
    const url = `${trial.sandbox.base_url}/v1/records/svc_${"a".repeat(26)}`;
    return refusedBy(await trial.send({ url, caller: searcher }));
  },
  method_not_allowed: async ({ send, sandbox }) =>
    refusedBy(await send({ url: `${sandbox.base_url}/v1/search`, method: "DELETE" })),
  header_too_large: async ({ send, sandbox }) =>
    refusedBy(
      await send({
        url: `${sandbox.verify_url}/.well-known/keys`,
        headers: { "x-long": "x".repeat(40_000) },
      }),
    ),
  request_timeout: ({ sandbox }) => sendText(sandbox.verify_url, "GET / HTTP/1.1\r\nhost: a"),
  http_version_unsupported: ({ sandbox }) => sendText(sandbox.verify_url, "GET / HTTP/3\r\nhost: a\r\n\r\n"),
  expectation_failed: async ({ send, sandbox }) =>
    refusedBy(await send({ url: `${sandbox.verify_url}/.well-known/keys`, headers: { expect: "tea" } })),
  not_acceptable: async ({ send, sandbox }) => {
    const headers = { accept: "application/json" };
    const answer = await send({ url: `${sandbox.mcp_url}/v1/mcp/public`, body: "{}", headers });
    // There a problem is the data of the protocol's own error.
    const { data = {} } = (answer.json["error"] ?? {}) as { readonly data?: JsonObject };
    return refusedBy({ ...answer, json: data });
  },
  token_invalid: async ({ send, sandbox }) =>
    refusedBy(await send({ url: `${sandbox.ops_url}/ops/cluster/rejoin`, body: '{"region":"local-node1"}' })),
  origin_not_allowed: async ({ send, sandbox }) =>
    refusedBy(
      await send({ url: `${sandbox.ops_url}/healthz`, headers: { origin: "https://elsewhere.example" } }),
    ),
  host_not_allowed: async ({ send, sandbox }) =>
    refusedBy(await send({ url: `${sandbox.ops_url}/healthz`, headers: { host: "elsewhere.example" } })),
};

/** Sends exactly this text, which no client would send. */
function sendText(url: string, sent: string): Promise<Refused> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(sent));
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += String(chunk);
    });
    socket.on("error", reject);
    socket.on("close", () => {
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
      const { code = "", detail = "" } = JSON.parse(text.slice(text.indexOf("\r\n\r\n")) || "{}");
      resolve({ status, code, detail });
    });
  });
}

export const requestRefusals: Attempts = {
  ...signatures,
  ...questions,
};

// Refusals of requests: because of their signatures, or because of what they ask.

import { connect } from "node:net";
import type { JsonObject } from "../../../protocol/canonical-json.ts";
import {
  freshText,
  type Refusal,
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

const searchWith =
  (changes: Readonly<Record<string, unknown>>) =>
  (trial: Trial): Promise<Refused> =>
    search(trial, { body: trialSearch(changes) });

const signatures: readonly Refusal[] = [
  {
    name: "signature_missing",
    how: "A search without a signature.",
    attempt: (trial) => search(trial, { caller: null }),
  },
  {
    name: "signature_invalid",
    how: "A search whose signature covers something else.",
    attempt: async (trial) => {
      const { searcher } = await trial.everyday;
      const body = trialSearch();
      const key = { ...searcher.key, sign: () => searcher.key.sign(new Uint8Array(1)) };
      return search(trial, { caller: { ...searcher, key }, body });
    },
  },
  {
    name: "signature_expired",
    how: "A search that was signed ten minutes ago.",
    attempt: (trial) => search(trial, { created: Math.floor(Date.now() / 1_000) - 600 }),
  },
  {
    name: "key_unknown",
    how: "A search with the revoked key of the third AI company.",
    attempt: async (trial) =>
      search(trial, { caller: await trial.searcher("for a reason of its own", "Revoked") }),
  },
  {
    name: "key_unknown/without_grant",
    how: "A search with a key of the third AI company that no request has registered, without its grant.",
    attempt: async (trial) => {
      const { key } = await trial.searcher("for a reason of its own", "No request has brought");
      return search(trial, { caller: { key, grant: null } });
    },
  },
  {
    name: "digest_mismatch",
    how: "A search whose body is not the one that was signed.",
    attempt: (trial) => search(trial, { sentBody: trialSearch({ limit: 2 }) }),
  },
  {
    name: "nonce_reused",
    how: "The same search twice, with one nonce.",
    attempt: async (trial) => {
      const nonce = freshText();
      await search(trial, { nonce });
      return search(trial, { nonce });
    },
  },
  {
    name: "role_not_allowed",
    how: "A search with the key of a business.",
    attempt: async (trial) => search(trial, { caller: (await trial.everyday).publisher }),
  },
];

const questions: readonly Refusal[] = [
  {
    name: "request_invalid",
    how: "A search whose body is not JSON.",
    attempt: (trial) => search(trial, { body: "{" }),
  },
  {
    name: "sort_required",
    how: "A search without a sort order.",
    attempt: searchWith({ sort_by: undefined }),
  },
  {
    name: "unknown_field",
    how: "A search by a field that products do not have.",
    attempt: searchWith({ filter: { all: [{ country: "US" }, { colour: "red" }] } }),
  },
  {
    name: "operator_not_allowed",
    how: "A search that compares brands with `gt`.",
    attempt: searchWith({ filter: { all: [{ country: "US" }, { brand: { gt: "M" } }] } }),
  },
  {
    name: "sort_not_allowed",
    how: "A search sorted by brand.",
    attempt: searchWith({ sort_by: "brand:asc" }),
  },
  {
    name: "record_too_large",
    how: "A search of 20,000 bytes.",
    attempt: searchWith({ q: "x".repeat(20_000) }),
  },
  {
    name: "media_type_unsupported",
    how: "A search whose body is said to be plain text.",
    attempt: (trial) => search(trial, { headers: { "content-type": "text/plain" } }),
  },
  {
    name: "not_found",
    how: "A fetch of a record that does not exist; a record of a business that blocks the caller gets the same answer.",
    attempt: async (trial) => {
      const { searcher } = await trial.everyday;
      const url = `${trial.sandbox.base_url}/v1/records/svc_${"a".repeat(26)}`;
      return refusedBy(await trial.send({ url, caller: searcher }));
    },
  },
  {
    name: "method_not_allowed",
    how: "DELETE at the address of a search.",
    attempt: async ({ send, sandbox }) =>
      refusedBy(await send({ url: `${sandbox.base_url}/v1/search`, method: "DELETE" })),
  },
  {
    name: "header_too_large",
    how: "A header of 40,000 bytes.",
    attempt: async ({ send, sandbox }) =>
      refusedBy(
        await send({
          url: `${sandbox.verify_url}/.well-known/keys`,
          headers: { "x-long": "x".repeat(40_000) },
        }),
      ),
  },
  {
    name: "request_timeout",
    how: "Half a request head, and then nothing for fifteen seconds.",
    attempt: ({ sandbox }) => sendText(sandbox.verify_url, "GET / HTTP/1.1\r\nhost: a"),
  },
  {
    name: "http_version_unsupported",
    how: "A request of HTTP/3 over a plain connection.",
    attempt: ({ sandbox }) => sendText(sandbox.verify_url, "GET / HTTP/3\r\nhost: a\r\n\r\n"),
  },
  {
    name: "expectation_failed",
    how: "A read whose Expect is not 100-continue.",
    attempt: async ({ send, sandbox }) =>
      refusedBy(await send({ url: `${sandbox.verify_url}/.well-known/keys`, headers: { expect: "tea" } })),
  },
  {
    name: "not_acceptable",
    how: "A message to the tool server by a client that accepts JSON alone.",
    attempt: async ({ send, sandbox }) => {
      const headers = { accept: "application/json" };
      const answer = await send({ url: `${sandbox.mcp_url}/v1/mcp/public`, body: "{}", headers });
      // There a problem is the data of the protocol's own error.
      const { data = {} } = (answer.json["error"] ?? {}) as { readonly data?: JsonObject };
      return refusedBy({ ...answer, json: data });
    },
  },
  {
    name: "token_invalid",
    how: "A change at the operators' address without the operators' token.",
    attempt: async ({ send, sandbox }) =>
      refusedBy(
        await send({ url: `${sandbox.ops_url}/ops/cluster/rejoin`, body: '{"region":"local-node1"}' }),
      ),
  },
  {
    name: "origin_not_allowed",
    how: "A request to the operators' address that a page of another origin caused.",
    attempt: async ({ send, sandbox }) =>
      refusedBy(
        await send({ url: `${sandbox.ops_url}/healthz`, headers: { origin: "https://elsewhere.example" } }),
      ),
  },
  {
    name: "host_not_allowed",
    how: "A request to the operators' address under another host name.",
    attempt: async ({ send, sandbox }) =>
      refusedBy(await send({ url: `${sandbox.ops_url}/healthz`, headers: { host: "elsewhere.example" } })),
  },
];

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

export const requestRefusals: readonly Refusal[] = [...signatures, ...questions];

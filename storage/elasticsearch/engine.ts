// Requests to an Elasticsearch cluster: keep-alive connections, a time limit on each request, and classified failures.
//   N1. A transient failure (no connection, time-out, overload, a part missing) is `IndexUnavailable`; a refusal by the
//       cluster is `EngineRefusal`, for the caller to judge. Nothing else is thrown.
//   N2. Only a read that never reached a node is retried here: a write's outcome may be unknown, and its sender knows what
//       a second one means.

import { Client, errors } from "@elastic/elasticsearch";
import { type IndexTrouble, type IndexUnavailable, indexUnavailable } from "../row-index.ts";

export interface EngineOptions {
  /** URLs of the cluster's nodes, for example `http://127.0.0.1:9200`. */
  readonly nodes: readonly string[];
  readonly auth?: { readonly username: string; readonly password: string } | { readonly apiKey: string };
  /** PEM of the authority that issued the nodes' certificates, for https. */
  readonly ca?: string;
  /** Time-out of a search in milliseconds; 3,000 by default. */
  readonly searchTimeoutMs?: number;
  /** Time-out of anything else in milliseconds; 30,000 by default. */
  readonly writeTimeoutMs?: number;
}

export interface EngineRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Lines of a bulk request, each terminated by a line feed; used instead of `body`. */
  readonly lines?: string;
}

/** The cluster understood the request and refused it. */
export class EngineRefusal extends Error {
  readonly status: number;
  /** Elasticsearch's name for the error, for example `resource_already_exists_exception`. */
  readonly type: string;
  constructor(status: number, type: string, reason: string, options?: ErrorOptions) {
    super(`Elasticsearch answered ${status} ${type}: ${reason}`, options);
    this.name = "EngineRefusal";
    this.status = status;
    this.type = type;
  }
}

const searchTimeoutMsDefault = 3_000;
const writeTimeoutMsDefault = 30_000;
/** Connections kept open to each node; a request above that number waits for one. */
const connectionsPerNode = 64;
/** Larger than any answer that is requested: 50 rows. */
const responseBytesMax = 128 * 1024 * 1024;

export class Engine implements AsyncDisposable {
  readonly #client: Client;
  readonly #searchTimeoutMs: number;
  readonly #writeTimeoutMs: number;
  readonly #readRetries: number;

  constructor(options: EngineOptions) {
    const { nodes, auth, ca } = options;
    this.#client = new Client({
      nodes: [...nodes],
      ...(auth === undefined ? {} : { auth }),
      ...(ca === undefined ? {} : { tls: { ca } }),
      agent: { connections: connectionsPerNode, keepAliveTimeout: 60_000, pipelining: 1 },
      maxRetries: 0,
      maxResponseSize: responseBytesMax,
      enableMetaHeader: false,
    });
    this.#searchTimeoutMs = options.searchTimeoutMs ?? searchTimeoutMsDefault;
    this.#writeTimeoutMs = options.writeTimeoutMs ?? writeTimeoutMsDefault;
    // Another node may be up, and a kept connection that its node has closed is replaced.
    this.#readRetries = nodes.length;
  }

  /** Sends a search or a count: it has the time-out of a search, and is retried if no node was reached. */
  read(request: EngineRequest): Promise<unknown> {
    return this.#send(request, this.#searchTimeoutMs, this.#readRetries);
  }

  /** Sends anything else. It is not retried: after `IndexUnavailable` it may have been carried out. */
  write(request: EngineRequest): Promise<unknown> {
    return this.#send(request, this.#writeTimeoutMs, 0);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #send(request: EngineRequest, requestTimeout: number, maxRetries: number): Promise<unknown> {
    const { method, path, body, lines } = request;
    try {
      return await this.#client.transport.request(
        {
          method,
          path,
          ...(body === undefined ? {} : { body }),
          ...(lines === undefined ? {} : { bulkBody: lines }),
        },
        { requestTimeout, maxRetries, retryBackoff: () => 0 },
      );
    } catch (error) {
      throw failureOf(error);
    }
  }
}

function failureOf(cause: unknown): IndexUnavailable | EngineRefusal {
  if (cause instanceof errors.ResponseError) return refusalOf(cause);
  const message = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof errors.TimeoutError || cause instanceof errors.RequestAbortedError)
    return indexUnavailable("timeout", `The index did not answer in time: ${message}`, { cause });
  const isUnread =
    cause instanceof errors.DeserializationError || cause instanceof errors.ProductNotSupportedError;
  return indexUnavailable(isUnread ? "malformed" : "unreachable", `The index cannot be reached: ${message}`, {
    cause,
  });
}

function refusalOf(cause: InstanceType<typeof errors.ResponseError>): IndexUnavailable | EngineRefusal {
  const status = cause.statusCode ?? 0;
  const error = memberOf(cause.body, "error");
  const type = textOf(memberOf(error, "type"));
  const reason = textOf(memberOf(error, "reason"));
  const unavailable = unavailableReason(status, type);
  return unavailable === null
    ? new EngineRefusal(status, type, reason, { cause })
    : indexUnavailable(unavailable, `Elasticsearch answered ${status} ${type}: ${reason}`, { cause });
}

/**
 * Why a status, of an answer or of one item of a bulk answer, means that a retry may succeed; null if it does not. A block
 * on an index (403 `cluster_block_exception`, for a full disk 429) is lifted by an operator, not by us.
 */
export function unavailableReason(status: number, type: string): IndexTrouble | null {
  if (status === 429) return "overloaded";
  if (type === "search_phase_execution_exception" && status >= 500) return "incomplete";
  // Comes with status 500, although the request can never succeed.
  if (type === "illegal_state_exception") return null;
  const isLater = status >= 500 || type === "cluster_block_exception" || status === 401 || status === 403;
  return isLater ? "unreachable" : null;
}

/** A member of an untrusted value; undefined if there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The answer does not have the expected shape. */
export function malformed(what: string): IndexUnavailable {
  return indexUnavailable("malformed", `Elasticsearch answered without ${what}.`);
}

/** Throws unless every shard took part: a failed shard is a failure, not fewer rows. */
export function assertAllShards(answer: unknown): void {
  const failed = memberOf(memberOf(answer, "_shards"), "failed");
  if (typeof failed !== "number") throw malformed("saying whether shards failed");
  if (failed > 0) throw indexUnavailable("incomplete", `${failed} shards of the index failed.`);
}

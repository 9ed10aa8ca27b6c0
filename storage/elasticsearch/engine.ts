// Requests to an Elasticsearch cluster: kept connections, a time limit on each, and failures told apart.
//   N1. What passes (no connection, no time, too much to do, a part missing) is `IndexUnavailable`; what the cluster refuses
//       is `EngineRefusal`, for the caller to judge. Nothing else is thrown.
//   N2. Nothing is sent again here but a read that never reached a node: a write's outcome may be unknown, and its sender
//       knows what a second one means.

import { Client, errors } from "@elastic/elasticsearch";
import { type IndexTrouble, type IndexUnavailable, indexUnavailable } from "../row-index.ts";

export interface EngineOptions {
  /** URLs of the cluster's nodes, for example `http://127.0.0.1:9200`. */
  readonly nodes: readonly string[];
  readonly auth?: { readonly username: string; readonly password: string } | { readonly apiKey: string };
  /** PEM of the authority that the nodes' certificates chain to, for https. */
  readonly ca?: string;
  /** Milliseconds that a search may take; 3,000 unless told. */
  readonly searchTimeoutMs?: number;
  /** Milliseconds that anything else may take; 30,000 unless told. */
  readonly writeTimeoutMs?: number;
}

export interface EngineRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Path with its query string. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Lines of a bulk request, each ended by a line feed; in place of `body`. */
  readonly lines?: string;
}

/** The cluster understood and refused. */
export class EngineRefusal extends Error {
  readonly status: number;
  /** Elasticsearch's name for it, for example `resource_already_exists_exception`. */
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
/** Connections kept to each node; a request above them waits for one. */
const connectionsPerNode = 64;
/** Larger than any answer that is asked for: 50 rows. */
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

  /** A search or a count: limited in time as a search, sent again where no node was reached. */
  read(request: EngineRequest): Promise<unknown> {
    return this.#send(request, this.#searchTimeoutMs, this.#readRetries);
  }

  /** Anything else. Not sent again: after `IndexUnavailable` it may have been carried out. */
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
 * Why a status, of an answer or of one item of a bulk answer, says that it may work later; null where it does not.
 * A block of an index (403 `cluster_block_exception`, of a full disk 429) is lifted by an operator, not by us.
 */
export function unavailableReason(status: number, type: string): IndexTrouble | null {
  if (status === 429) return "overloaded";
  if (type === "search_phase_execution_exception" && status >= 500) return "incomplete";
  // Said with 500, and of a request that will never do.
  if (type === "illegal_state_exception") return null;
  const isLater = status >= 500 || type === "cluster_block_exception" || status === 401 || status === 403;
  return isLater ? "unreachable" : null;
}

/** A member of an untrusted value; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The answer has not the shape that it should have. */
export function malformed(what: string): IndexUnavailable {
  return indexUnavailable("malformed", `Elasticsearch answered without ${what}.`);
}

/** Throws unless every shard took part: a failed shard is a failure, not fewer rows. */
export function assertAllShards(answer: unknown): void {
  const failed = memberOf(memberOf(answer, "_shards"), "failed");
  if (typeof failed !== "number") throw malformed("saying whether shards failed");
  if (failed > 0) throw indexUnavailable("incomplete", `${failed} shards of the index failed.`);
}

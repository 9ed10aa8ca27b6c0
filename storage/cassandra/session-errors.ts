// What a driver failure means for the statement (C2 in session.ts), and what the driver may retry (C1).

import cassandra from "cassandra-driver";
import { StoreError } from "../actor-store.ts";

const codes = cassandra.types.responseErrorCodes;
const { consistencies } = cassandra.types;

/** Refused before anything was done: the statement is wrong, not allowed or too large, or its node is starting up. */
const refusals: ReadonlySet<number> = new Set([
  codes.isBootstrapping,
  codes.badCredentials,
  codes.protocolError,
  codes.syntaxError,
  codes.unauthorized,
  codes.invalid,
  codes.configError,
  codes.alreadyExists,
  codes.unprepared,
]);

/** The hosts that a session uses: where an operator has to look when the driver names no host. */
export interface SessionHosts {
  readonly contactPoints: readonly string[];
  readonly localDc: string;
}

/** The store error for a driver failure. Programming errors (a value of a wrong type) are rethrown unchanged. */
export function toStoreError(
  error: unknown,
  { isRead, hosts }: { readonly isRead: boolean; readonly hosts: SessionHosts },
): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof StoreError) return error;
  const effect = isRead || isUntouched(error) ? "not_applied" : "unknown";
  return new StoreError(effect, `Cassandra: ${wordsOf(error, hosts)}`, { cause: error });
}

/**
 * Whether a statement failed because a node does not know the table: either the node that was queried, in the wording of
 * Cassandra 4 or 3, or one to which the read was forwarded. A node that is just activating the table knows its name before it can
 * read from it, and calls that an error of its own.
 */
export function isUnknownTable(error: unknown, table: string): boolean {
  const cause = error instanceof StoreError ? error.cause : error;
  if (!(cause instanceof cassandra.errors.ResponseError)) return false;
  if (cause.code === codes.readFailure) return reasonsOf(cause).includes(incompatibleSchema);
  if (cause.code === codes.serverError) return activating.test(cause.message);
  const said = [`table ${table} does not exist`, `unconfigured table ${table}`];
  return cause.code === codes.invalid && said.includes(cause.message);
}

const activating = /^java\.lang\.IllegalArgumentException: Unknown CF [0-9a-f-]{36}$/;

/** Reason for a replica's failure, as numbered in version 5 of the native protocol («reasonmap» of Read_failure). */
const incompatibleSchema = 3;

function reasonsOf(error: Error): readonly number[] {
  return Object.values((error as Error & { reasons?: Readonly<Record<string, number>> }).reasons ?? {});
}

/**
 * The message of an error; for several hosts what each of them reported, where the driver would point into its own code.
 */
export function wordsOf(error: unknown, hosts: SessionHosts): string {
  if (!(error instanceof cassandra.errors.NoHostAvailableError))
    return error instanceof Error ? error.message : String(error);
  if (error.innerErrors === null) return "the session is closed";
  const said = Object.entries(triedHosts(error));
  if (said.length > 0) return said.map(([host, inner]) => `${host}: ${wordsOf(inner, hosts)}`).join("; ");
  // The driver says that all hosts were tried even if none was; any other message of the driver is useful.
  const why = error.message.startsWith("All host(s) tried") ? "" : `${error.message}: `;
  const points = hosts.contactPoints.join(", ");
  return `${why}no host of the data centre ${hosts.localDc} can be asked (contact points: ${points})`;
}

/** What each host that was tried reported. The driver gives null for a session that was closed. */
function triedHosts(error: InstanceType<typeof cassandra.errors.NoHostAvailableError>): object {
  return (error.innerErrors as object | null) ?? {};
}

function isUntouched(error: Error): boolean {
  if (error instanceof cassandra.errors.NoHostAvailableError) {
    // The driver tries another node only if the previous one was never sent the statement, or refused it; a failure that
    // leaves doubt is thrown as it is, so everything listed here must be free of doubt too.
    return Object.values(triedHosts(error)).every(isWithoutDoubt);
  }
  if (error instanceof cassandra.errors.BusyConnectionError) return true;
  if (error instanceof cassandra.errors.ArgumentError) return true;
  if (error instanceof cassandra.errors.ResponseError) {
    if (error.code === codes.unavailableException) return isRefusedBeforeAgreement(error);
    return refusals.has(error.code);
  }
  return wasNotWritten(error);
}

function isWithoutDoubt(inner: unknown): boolean {
  if (inner === null || inner === undefined || typeof inner === "string") return true;
  return inner instanceof Error && isUntouched(inner);
}

/**
 * Too few replicas. At a serial level this is detected before a conditional write is proposed; at the level of its commit
 * it may be detected after the write was agreed on, so that later readers will see it applied.
 */
function isRefusedBeforeAgreement(error: Error): boolean {
  const level = (error as Error & { consistencies?: number }).consistencies;
  return level === consistencies.serial || level === consistencies.localSerial;
}

function wasNotWritten(error: Error): boolean {
  return (error as Error & { requestNotWritten?: boolean }).requestNotWritten === true;
}

const { RetryPolicy } = cassandra.policies.retry;

/** Retries an idempotent statement once, on another node; nothing else, whatever the failure (C1). */
class OnceIfIdempotent extends RetryPolicy {
  override onUnavailable(
    info: cassandra.policies.retry.OperationInfo,
  ): cassandra.policies.retry.DecisionInfo {
    return this.#once(info);
  }

  override onReadTimeout(
    info: cassandra.policies.retry.OperationInfo,
  ): cassandra.policies.retry.DecisionInfo {
    return this.#once(info);
  }

  override onWriteTimeout(
    info: cassandra.policies.retry.OperationInfo,
  ): cassandra.policies.retry.DecisionInfo {
    return this.#once(info);
  }

  override onRequestError(
    info: cassandra.policies.retry.OperationInfo,
  ): cassandra.policies.retry.DecisionInfo {
    return this.#once(info);
  }

  #once(info: cassandra.policies.retry.OperationInfo): cassandra.policies.retry.DecisionInfo {
    const mayRepeat = info.nbRetry === 0 && info.executionOptions.isIdempotent() === true;
    if (!mayRepeat) return this.rethrowResult();
    // Uses the requested level: the one named in a failure may be a different, weaker one.
    return this.retryResult(info.executionOptions.getConsistency(), false);
  }
}

export const retryPolicy: cassandra.policies.retry.RetryPolicy = new OnceIfIdempotent();

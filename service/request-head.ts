// What authentication reads of a request before its body: exactly as received, with null for absent headers.

export interface RequestHead {
  /** The method, in upper case. */
  readonly method: string;
  /** The Host header. */
  readonly host: string | null;
  /** The path as sent, not decoded; `/` when empty. */
  readonly path: string;
  /** The query with its leading `?`; null when there is no query string. */
  readonly query: string | null;
  /** Whether a body follows: a declared length above zero, or a transfer coding. */
  readonly hasBody: boolean;
  readonly signatureInput: string | null;
  readonly signature: string | null;
  readonly contentDigest: string | null;
  readonly authorization: string | null;
  /** The `SVC-Sandbox-Key` header. */
  readonly sandboxKey: string | null;
}

/** The value of `@authority`: lower case, without a default port (RFC 9421 §2.2.3). */
export function authorityOf(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith(":443") || lower.endsWith(":80") ? lower.slice(0, lower.lastIndexOf(":")) : lower;
}

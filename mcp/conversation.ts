// What a call knows about the conversation that it is made in.
//   V1. session_ref is generated once for a conversation, or taken from the call's metadata; it goes to the service and
//       never into an answer.

import { isCountry } from "../protocol/identifiers.ts";

export const countryMeta = "masterdb.ai/country";
export const sessionRefMeta = "masterdb.ai/session_ref";

export interface Conversation {
  /** Opaque label, fresh for each conversation. */
  readonly sessionRef: string;
}

export interface CallFacts {
  readonly sessionRef: string;
  readonly country: { readonly code: string; readonly from: "metadata" | "configuration" } | null;
}

/** A label that identifies nobody. */
export function newConversation(): Conversation {
  return { sessionRef: crypto.randomUUID() };
}

/** What the metadata of a call says, with the conversation and the configuration behind it; a text says what is wrong. */
export function callFacts(
  meta: Readonly<Record<string, unknown>> | undefined,
  conversation: Conversation,
  configured: string | null,
): CallFacts | string {
  const { [countryMeta]: country, [sessionRefMeta]: session } = meta ?? {};
  if (country !== undefined && (typeof country !== "string" || !isCountry(country)))
    return `The metadata ${countryMeta} must be a country code such as US.`;
  if (session !== undefined && (typeof session !== "string" || !/^[\x21-\x7e]{1,128}$/.test(session)))
    return `The metadata ${sessionRefMeta} must be 1 to 128 printable ASCII characters without spaces.`;
  const fallback = configured === null ? null : ({ code: configured, from: "configuration" } as const);
  return {
    sessionRef: session ?? conversation.sessionRef,
    country: country === undefined ? fallback : { code: country, from: "metadata" },
  };
}

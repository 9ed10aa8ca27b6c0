// A tool as the server offers it.
// Also its arguments, the newest answers, and what a call knows of its conversation.

import type { SvcClient } from "../client/service-client.ts";
import { isCountry } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import { requestProblem } from "../protocol/problem.ts";
import type { Shape } from "../protocol/shape.ts";
import type { ToolServerConfig } from "./config.ts";
import { type Outcome, refusedHere } from "./outcome.ts";
import type { ReadKeySet } from "./setup.ts";

export interface ToolDeps {
  readonly config: ToolServerConfig;
  readonly client: SvcClient;
  /** The key_id of the caller, which receipts name. */
  readonly keyId: string;
  readonly anchors: Anchors | null;
  readonly readKeySet: ReadKeySet;
  readonly answers: AnswerStore;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the arguments. */
  readonly inputSchema: JsonObject;
  /** What the first block has, as much of it as helps to choose the tool. */
  readonly outputSchema: JsonObject;
  /** False for a tool that changes something at the service. */
  readonly readOnly: boolean;
  /** Rejects with what the client throws; a refusal of the arguments is an outcome. */
  run(args: JsonObject, facts: CallFacts): Promise<Outcome>;
}

/** The schema of a result with these members, of which those in `required` are always there; others may be. */
export function resultSchema(
  properties: Readonly<Record<string, JsonObject>>,
  required: readonly string[] = [],
): JsonObject {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

/** A list of objects. */
export function rowsOf(description: string): JsonObject {
  return { type: "array", items: { type: "object" }, description };
}

/** The member of every answer that the service served. */
export const receiptMember: JsonObject = { type: "object", description: "The service's signed receipt." };

// The arguments of a tool against its shape; a fault is answered with the API's own problem.

export type Arguments<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly outcome: Outcome };

export function argumentsOf<T>(shape: Shape<T>, args: JsonObject): Arguments<T> {
  const found = requestProblem(shape, args);
  return found === null
    ? { ok: true, value: args as unknown as T }
    : { ok: false, outcome: refusedHere(found) };
}

// The newest answers, as exact text, so that `verify` can check one without the model repeating it.
//   A1. At most `answersMax` answers are kept, whatever number of names each has, and each of at most `answerLengthMax` characters.

export interface KeptAnswer {
  readonly kind: "search" | "fetched" | "pool";
  /** The exact body. */
  readonly text: string;
  /** Hash of the signature base that was answered. */
  readonly requestHash: string | null;
}

interface NamedAnswer {
  readonly names: readonly string[];
  readonly answer: KeptAnswer;
}

export const answersMax = 64;
export const answerLengthMax = 1_048_576;

export class AnswerStore {
  /** The oldest first. */
  readonly #kept: NamedAnswer[] = [];
  readonly #byName = new Map<string, NamedAnswer>();

  /** Keeps an answer under its retrieval id and, if it is a fetched record, under the record's id. */
  keep(names: readonly string[], answer: KeptAnswer): void {
    if (answer.text.length > answerLengthMax) return;
    const named = { names, answer };
    this.#kept.push(named);
    for (const name of names) this.#byName.set(name, named);
    if (this.#kept.length > answersMax) this.#dropOldest();
  }

  find(name: string): KeptAnswer | null {
    return this.#byName.get(name)?.answer ?? null;
  }

  #dropOldest(): void {
    const oldest = this.#kept.shift();
    // A record that was fetched again since has the newer answer under its id.
    for (const name of oldest?.names ?? []) if (this.#byName.get(name) === oldest) this.#byName.delete(name);
  }
}

// What a call knows about the conversation that it is made in.
//   V1. session_ref is generated once for a conversation, or taken from the call's metadata; it goes to the service and
//       never into an answer.

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

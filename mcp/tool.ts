// A tool as the server offers it.

import type { SvcClient } from "../client/service-client.ts";
import type { Anchors } from "../protocol/anchors.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import type { AnswerStore } from "./answer-store.ts";
import type { ToolServerConfig } from "./config.ts";
import type { CallFacts } from "./conversation.ts";
import type { ReadKeySet } from "./key-set-cache.ts";
import type { Outcome } from "./outcome.ts";

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
  /** False for a tool that changes something at the service. */
  readonly readOnly: boolean;
  /** Rejects with what the client throws; a refusal of the arguments is an outcome. */
  run(args: JsonObject, facts: CallFacts): Promise<Outcome>;
}

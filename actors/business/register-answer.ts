// What a decision about the register says: a refusal, that nothing changed, or the entry that changes.

import type { BusinessEvent } from "../../machines/business.ts";
import type { PartitionRow, RowKey } from "../../storage/actor-store.ts";
import type { MandateFacts, RegisterReply } from "../messages/business.ts";
import type { Effect } from "../system/definition.ts";

export interface Change {
  readonly key: string;
  /** The facts of the entry. */
  readonly body: unknown;
  /** Set for a mandate, which has rows of its own. */
  readonly mandate?: MandateFacts;
  readonly events?: readonly BusinessEvent[];
  /** Rows besides that of the entry. */
  readonly puts?: readonly PartitionRow[];
  readonly deletes?: readonly RowKey[];
  readonly effects?: readonly Effect[];
}

export type Answer = Change | RegisterReply;

export const done: RegisterReply = { status: "done" };

export function refusal(code: string, detail: string): RegisterReply {
  return { status: "refused", code, detail };
}

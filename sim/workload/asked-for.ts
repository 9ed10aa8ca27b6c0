// What AI companies say of a search beside its question: subjects, some of them personal, a session and their own reference.

import type { Random } from "../kernel/random.ts";

/** The subjects that may be kept, as they are folded. */
export const subjectsAsked: readonly string[] = ["kettle", "tea cosy"];
const keywords = ["Kettle", "kettle", "Tea Cosy", "anna@example.com", "Anna Berg", "+44 20 7946 0958"];

export interface AskedMembers {
  readonly topic_keywords?: readonly string[];
  readonly session_ref?: string;
  readonly client_query_id?: string;
}

export function drawAsked(random: Random): AskedMembers {
  const named = keywords.filter(() => random.chance(0.3));
  return {
    ...(named.length === 0 ? {} : { topic_keywords: named }),
    ...(random.chance(0.3) ? { session_ref: `session-of-${random.pick(["a", "b", "c"])}` } : {}),
    ...(random.chance(0.6) ? { client_query_id: `q-${random.hex(8)}` } : {}),
  };
}

/** The subjects that count for a search with these members: each once. */
export function subjectsIn({ topic_keywords: named = [] }: AskedMembers): readonly string[] {
  return subjectsAsked.filter((subject) => named.some((each) => each.toLowerCase() === subject));
}

// Test support: what the judgement of a push that is to be held sends to it.

import { chunkCount, chunkSize } from "../../machines/push.ts";
import type { ActorHarness } from "../actor.fixture.ts";
import type { SettledOutcome } from "../messages/push.ts";

/** Every leaf names the record `svc_<leaf>`; those that are rejected have the code `money_not_string`. */
export function judgeAsHeld(
  push: Pick<ActorHarness<"push">, "send">,
  records: number,
  rejected: (leaf: number) => boolean = () => false,
): void {
  const counts = Array.from({ length: chunkCount(records) }, (_, chunk) => {
    const length = Math.min(chunkSize, records - chunk * chunkSize);
    const outcomes = Array.from({ length }, (_each, index): SettledOutcome => {
      const leaf_index = chunk * chunkSize + index;
      const record_id = `svc_${leaf_index}`;
      if (!rejected(leaf_index)) return { leaf_index, outcome: "held", record_id, version: null, errors: [] };
      const errors = [{ code: "money_not_string", pointer: "/prices/0/amount", detail: "d" }];
      return { leaf_index, outcome: "rejected", record_id: null, version: null, errors, names: record_id };
    });
    push.send({ type: "chunk.judge", chunk, outcomes });
    return outcomes.filter(({ outcome }) => outcome === "rejected").length;
  });
  push.send({ type: "push.judged", rejected: counts.slice(0, counts.findLastIndex(Boolean) + 1) });
}

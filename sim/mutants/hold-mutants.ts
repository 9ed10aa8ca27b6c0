// Mutants of holds: what is held is published, what changed meanwhile is not judged, the second decision counts, or nothing
// ever ends.

import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { PushProtocol } from "../../actors/messages/push.ts";
import type { Message } from "../../actors/system/definition.ts";
import { deciding, type Mutant, mutant, withMembers } from "./mutant.ts";

export const holdMutants: readonly Mutant[] = [
  mutant(
    "heldIsPublished",
    "a held push does not wait for its confirmation",
    deciding("push", (truly, command, view) =>
      truly(command.type === "push.accept" ? withMembers(command, { held_reasons: [] }) : command, view),
    ),
  ),
  mutant(
    "heldIsNotJudged",
    "what is faulty in a push that is held waits for the hold like the rest",
    deciding("push", (truly, command, view) => {
      if (command.type !== "chunk.judge") return truly(command, view);
      const { outcomes } = command as CommandOf<PushProtocol, "chunk.judge">;
      const held = outcomes.map((each) => ({ ...each, outcome: "held", errors: [] }));
      return truly(withMembers(command, { outcomes: held }), view);
    }),
    { seedsMax: 1_500 },
  ),
  mutant(
    "confirmationIsNotJudged",
    "a confirmed push is published whatever was revoked meanwhile",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (command.type !== "hold.settle" || decision.events === undefined) return decision;
      return { ...decision, events: decision.events.map(withoutError) };
    }),
    { seedsMax: 1_500 },
  ),
  mutant(
    "otherDecisionIsTaken",
    "a second person who decides the other way is told that it was done",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      const isOther = (decision.reply as { code?: string } | undefined)?.code === "hold_decided";
      return isOther ? { ...decision, reply: { status: "done" } } : decision;
    }),
    { seedsMax: 1_500 },
  ),
  mutant(
    "holdNeverEnds",
    "a hold waits for ever",
    deciding("push", (truly, command, view) =>
      truly("hold_ms" in command ? withMembers(command, { hold_ms: 1e11 }) : command, view),
    ),
    { seedsMax: 1_500 },
  ),
];

/** The event as it would be if nothing had changed while the push was held. */
function withoutError(event: Message): Message {
  if (!("error" in event)) return event;
  const { error: _error, ...settled } = event;
  return withMembers(settled, { confirmed: true });
}

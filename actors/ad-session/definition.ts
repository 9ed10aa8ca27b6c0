// The actor of a conversation that is shown ads. Keyed rows: 16 what it was shown, until it may be shown again.
// After which renders an ad is left out is said where they are decided (`noteShown` in actors/ad-pool/definition.ts).

import { type AdSessionEvent, adSessionMachine } from "../../machines/ad-session.ts";
import type { AdSessionProtocol } from "../messages/ads.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { type Decision, defineActor, takenOf, type ViewOf } from "../system/definition.ts";
import { defineTable } from "../system/row-table.ts";

type View = ViewOf<typeof adSessionMachine>;

const shown = defineTable<number>({ name: "shown ads", rt: 16, encode: String, decode: Number });
/** Maximum number of ads that are left out of a conversation's pools. */
const shownMax = 500;

export const adSessionActor = defineActor<"ad-session", typeof adSessionMachine>({
  kind: "ad-session",
  schemaVersion: 1,
  machine: adSessionMachine,
  durability: "journal",
  input: () => ({}),
  rows: (command) => (command.type === "shown.read" ? [shown.selectPage(shownMax)] : []),
  decide: {
    "shown.note": note,
    "shown.read": (_command, view) => ({
      reply: {
        ads: shown
          .readAll(view)
          .filter(({ value }) => value > view.nowMs)
          .map(({ k2 }) => k2),
      },
    }),
  },
  absent: { "shown.read": { reply: { ads: [] } } },
  effects: {},
});

function note(
  { ad_id, until_ms }: CommandOf<AdSessionProtocol, "shown.note">,
  view: View,
): Decision<DoneReply, AdSessionEvent> {
  const events = takenOf(view, { type: "shown.noted", ad_id });
  // A session that is over is forgotten next: the ad may be shown again a moment early.
  if (events.length === 0) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    events,
    puts: [shown.write(ad_id, until_ms, { expiresAtMs: until_ms })],
  };
}

// The journals of a business, its keys and its pushes as a file for the simulator. They are read from the store, so no actor is woken.
//   JE1. A node makes one file at a time, of a bounded size, because it is made in memory; tools/export-journal.ts has no bound.

import { partsOf } from "../../actors/messages/refs.ts";
import type { Exported } from "../../ops/inspection.ts";
import { refuse } from "../../protocol/result.ts";
import {
  exportedKinds,
  formatJournal,
  JournalTooLarge,
  readJournal,
} from "../../service/log/journal-file.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { Process, Stores } from "../composition/capabilities.ts";

const bytesDefault = 64 * 1024 * 1024;

export function createJournalExport(
  { actorStore: actors, records, clock }: Process & Stores,
  bytesMax = bytesDefault,
): (ref: ActorRef) => Promise<Exported> {
  let isBusy = false;
  return async (ref) => {
    if (!exportedKinds.some((kind) => kind === ref.kind))
      return refuse(
        "not_exported",
        `A simulation begins with actors of these kinds: ${exportedKinds.join(", ")}.`,
      );
    if ((await actors.readHead(ref)) === null) return refuse("unknown", "This actor does not exist.");
    if (isBusy)
      throw new Unavailable("another journal is being exported", {
        reason: "export",
        effect: "not_applied",
        retryAfterSeconds: 5,
      });
    isBusy = true;
    try {
      const party = ref.kind === "business" ? ref.id : partsOf(ref.id).party;
      const source = { actors, records, nowMs: clock.now(), parties: new Set([party]), bytesMax };
      const text = formatJournal(await readJournal(source));
      return { ok: true, value: { name: `journal-${party.replaceAll(/[^0-9A-Za-z-]/g, "_")}.ndjson`, text } };
    } catch (error) {
      if (!(error instanceof JournalTooLarge)) throw error;
      return refuse(
        "journal_too_large",
        "The journal is too large to be made in the memory of a node; take it with tools/export-journal.ts.",
      );
    } finally {
      isBusy = false;
    }
  };
}

// Which page of a journal is shown while one goes through its past.

import type { JournalPage } from "../../inspection-shapes.ts";

const eventsAfter = 25;

/** Whether the table has the event; the state before all events is on every page. */
export function isOnPage({ events, pruned_up_to }: JournalPage, seq: number): boolean {
  return seq <= pruned_up_to || events.some((event) => event.seq === seq);
}

/** The page with the event has 24 later ones. */
export function pageBefore(seq: number): number {
  return seq + eventsAfter;
}

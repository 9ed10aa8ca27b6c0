// Answers of many pages as async iterators: a page is asked for when the last one has been taken.

import type { CatalogueEntry, HeldPush, PushAttempt } from "./business-answers.ts";
import type { AttemptsQuery, BusinessClient, CatalogueQuery } from "./business-client.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { OwnReceipt, PublishOutcome, PushStatus, ReceiptsQuery, SvcClient } from "./service-client.ts";

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

async function* pages<T>(
  patience: Patience,
  read: (cursor: string | null) => Promise<Page<T>>,
): AsyncGenerator<T, void> {
  let cursor: string | null = null;
  do {
    const at: string | null = cursor;
    const page: Page<T> = await retryUntil(patience, () => read(at));
    yield* page.items;
    cursor = page.next;
  } while (cursor !== null);
}

const from = (cursor: string | null): { readonly cursor?: string } => (cursor === null ? {} : { cursor });

/**
 * The business's live records (GET /v1/catalogue), page after page. Throws what {@link SvcClient} throws, once the patience
 * is over.
 */
export function catalogueEntries(
  client: Pick<BusinessClient, "cataloguePage">,
  patience: Patience,
  query: Omit<CatalogueQuery, "cursor"> = {},
): AsyncGenerator<CatalogueEntry, void> {
  return pages(patience, async (cursor) => {
    const { body } = await client.cataloguePage({ ...query, ...from(cursor) });
    return { items: body.entries, next: body.next_cursor };
  });
}

/**
 * What became of every record that was sent, and the batches that were refused (GET /v1/push-attempts), page after page.
 * Throws what {@link SvcClient} throws, once the patience is over.
 */
export function pushAttempts(
  client: Pick<BusinessClient, "attemptsPage">,
  patience: Patience,
  query: Omit<AttemptsQuery, "cursor"> = {},
): AsyncGenerator<PushAttempt, void> {
  return pages(patience, async (cursor) => {
    const { body } = await client.attemptsPage({ ...query, ...from(cursor) });
    return { items: body.attempts, next: body.next_cursor };
  });
}

/**
 * The company's own receipts of a region (GET /v1/receipts), in the order of serving, page after page. Throws what {@link
 * SvcClient} throws, once the patience is over.
 */
export function ownReceipts(
  client: Pick<SvcClient, "receiptsPage">,
  patience: Patience,
  query: Omit<ReceiptsQuery, "cursor"> = {},
): AsyncGenerator<OwnReceipt, void> {
  return pages(patience, async (cursor) => {
    const { body } = await client.receiptsPage({ ...query, ...from(cursor) });
    return { items: body.receipts, next: body.next_cursor };
  });
}

/**
 * The pushes that wait for a decision (GET /v1/holds), oldest first, page after page. Throws what {@link SvcClient} throws,
 * once the patience is over.
 */
export function heldPushes(
  client: Pick<BusinessClient, "holdsPage">,
  patience: Patience,
): AsyncGenerator<HeldPush, void> {
  return pages(patience, async (cursor) => {
    const { body } = await client.holdsPage(from(cursor));
    return { items: body.holds, next: body.next_cursor };
  });
}

/**
 * The outcome of every record of a push (GET /v1/pushes/{push_id}), in leaf order, page after page. Throws what {@link
 * SvcClient} throws, once the patience is over.
 */
export function pushResults(
  client: Pick<BusinessClient, "pushStatus">,
  patience: Patience,
  push: { readonly pushId: string; readonly outcome?: string },
): AsyncGenerator<PublishOutcome, void> {
  const { pushId, ...query } = push;
  return pages(patience, async (cursor) => {
    const { body } = await client.pushStatus(pushId, { ...query, ...from(cursor) });
    return { items: body.results, next: body.next_cursor };
  });
}

const pollMs = 1_000;

/**
 * The status of a push each time that it has changed, asked for when the service says so, until it is `complete` or
 * `failed`, which is the last one. Throws what {@link SvcClient} throws, once the patience is over.
 */
export async function* watchPush(
  client: Pick<BusinessClient, "pushStatus">,
  patience: Patience,
  pushId: string,
): AsyncGenerator<PushStatus, void> {
  let last = "";
  for (;;) {
    const { body } = await retryUntil(patience, () => client.pushStatus(pushId));
    const { state, counts, stalled } = body;
    const shown = JSON.stringify([state, counts, stalled]);
    if (shown !== last) yield body;
    if (state === "complete" || state === "failed") return;
    last = shown;
    await patience.wait((body.poll_after_seconds ?? 0) * 1000 || pollMs);
  }
}

// Fair use of publishing by one business, over all its keys (values in docs/choices.md). It is judged when a push is admitted,
// after everything else, and only pushes that are admitted count:
//   U1. At most `pushesPerMinute` pushes in a minute of the clock.
//   U2. The same records in the same order, as new batches: at most `repeatsPerDay` times in a UTC day. Sending an accepted
//       batch again is no new batch and never counts.
// What is counted is two rows, of which one expires after a minute and the other, one for each set of records, after a day.

import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { AdmitReply } from "../messages/admission.ts";
import type { ActorView } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";

export const pushesPerMinute = 6_000;
export const repeatsPerDay = 48;

interface Counted {
  /** The number of the minute or day since 1970. */
  readonly window: number;
  readonly pushes: number;
}

const counts = defineJsonTable<Counted>("fair use", 70);
const minuteMs = 60_000;
const dayMs = 86_400_000;
const paceKey = "pace";

interface Offered {
  /** The root over the records; absent for a record that was sealed alone. */
  readonly root?: string | undefined;
}

export function selectFairUse({ root }: Offered): RowSelection {
  return counts.select(root === undefined ? [paceKey] : [paceKey, root]);
}

interface Limit {
  readonly key: string;
  readonly windowMs: number;
  readonly max: number;
  readonly reason: "push_rate" | "records_unchanged";
}

/** The refusal of one push more than fair use allows; otherwise what is to be stored with its admission. */
export function judgeFairUse(
  { root }: Offered,
  view: ActorView,
):
  | { readonly busy: Extract<AdmitReply, { readonly status: "busy" }> }
  | { readonly puts: readonly PartitionRow[] } {
  const limits: readonly Limit[] = [
    { key: paceKey, windowMs: minuteMs, max: pushesPerMinute, reason: "push_rate" },
    ...(root === undefined
      ? []
      : [{ key: root, windowMs: dayMs, max: repeatsPerDay, reason: "records_unchanged" } as const]),
  ];
  const puts: PartitionRow[] = [];
  for (const { key, windowMs, max, reason } of limits) {
    const window = Math.floor(view.nowMs / windowMs);
    const known = counts.read(view, key);
    const pushes = known?.window === window ? known.pushes : 0;
    const endsMs = (window + 1) * windowMs;
    if (pushes >= max) {
      const retry_after_seconds = Math.max(1, Math.ceil((endsMs - view.nowMs) / 1_000));
      return { busy: { status: "busy", retry_after_seconds, reason } };
    }
    puts.push(counts.write(key, { window, pushes: pushes + 1 }, { expiresAtMs: endsMs }));
  }
  return { puts };
}

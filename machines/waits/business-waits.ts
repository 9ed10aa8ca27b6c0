// Why a business, and what belongs to one, waits.

import type { AdCampaignContext } from "../ad-campaign.ts";
import type { BulkUploadContext } from "../bulk-upload.ts";
import type { BusinessContext } from "../business.ts";
import {
  at,
  atTime,
  calls,
  counted,
  over,
  quiet,
  timerEnd,
  type Wait,
  type Waits,
  type WaitView,
  wait,
} from "./wait.ts";

export const businessWaits: Waits<BusinessContext> = {
  "standing.unverified": () => wait("certificate", "It has no certificate yet, so it publishes nothing."),
  "standing.active": calls("Its certificate is active: it may publish."),
  "standing.revoked": (view) => ended(view, "revoked"),
  "standing.closed": (view) => ended(view, "closed"),
  "standing.withdrawn": (view) => ended(view, "withdrawn"),
  "pushes.none": quiet,
  "pushes.under_way": ({ context: { pending } }) =>
    wait("pushes", `It has ${counted(pending.length, "push", "pushes")} under way.`),
  "holds.none": quiet,
  "holds.waiting": ({ context: { held } }) =>
    wait(
      "decision",
      `Its people have to decide on ${counted(held.length, "held push", "held pushes")}.`,
      isHeld,
    ),
  "deletions.none": quiet,
  "deletions.waiting": ({ context: { heldDeletions } }) =>
    wait("decision", `An operator has to decide on ${counted(heldDeletions, "deletion")}.`, isHeld),
  "serving.served": quiet,
  "serving.taken_down": () =>
    wait("lifting", "Operators took all of it out of serving, until they let it back."),
  "purges.none": quiet,
  "purges.scheduled": (view) => due(view, "purge", "purges", "The next purge is due"),
  "purges.purging": () => wait("purge", "Records are being purged."),
  "domains.none": quiet,
  "domains.scheduled": (view) => due(view, "domains", "domains", "Its domains are looked at again"),
  "domains.probing": () => wait("domains", "Its domains are being looked at."),
};

const isHeld = { attention: { reason: "held", sinceMs: null } } as const;

function ended({ context: { certificate } }: WaitView<BusinessContext>, standing: string): Wait {
  const since = certificate?.status_effective_from ?? "an unknown time";
  const why = certificate?.status_reason ?? null;
  const reason = why === null ? "" : ` (${why})`;
  return wait("certificate", `Its certificate is ${standing} since ${since}${reason}; it publishes nothing.`);
}

/** What its own timer begins. */
function due(view: WaitView, code: string, timer: string, words: string): Wait {
  const ms = timerEnd(view, timer);
  return wait(code, `${words} at ${atTime(ms)}.`, { next: at("goes_on", ms) });
}

export const bulkUploadWaits: Waits<BulkUploadContext> = {
  unknown: () => wait("upload", "It was named but never issued."),
  issued: (view) => {
    const endsMs = timerEnd(view, "open") ?? view.context.upload?.expires_at_ms ?? null;
    const what = view.context.attempt === null ? "its file" : "the file that is being sent to arrive";
    return wait("file", `It waits for ${what}; it is forgotten at ${atTime(endsMs)}.`, {
      next: at("ends", endsMs),
    });
  },
  "stored.uploaded": (view) => {
    const endsMs = timerEnd(view, "keep");
    const claim = view.context.claim ?? null;
    const what = claim === null ? "an import" : `push ${claim.push_id} to be accepted`;
    return wait(
      "import",
      `Its file is here. It waits for ${what}; the file is removed at ${atTime(endsMs)}.`,
      {
        next: at("ends", endsMs),
      },
    );
  },
  "stored.importing": (view) =>
    wait(
      "push",
      `Its records are published by push ${view.context.pushId ?? ""}; it waits for the end of it.`,
      {
        next: at("ends", timerEnd(view, "keep")),
      },
    ),
  imported: over("Its file was imported and is removed."),
  deleted: over("Its time is over; nothing of it is kept."),
};

export const adCampaignWaits: Waits<AdCampaignContext> = {
  unknown: () => wait("terms", "It was named but has no terms."),
  running: calls("It runs: its ads may be served."),
  paused: () => wait("terms", "Its advertiser paused it; new terms let it go on."),
  spent: () => wait("terms", "Its budget does not cover one more render; new terms let it go on."),
};

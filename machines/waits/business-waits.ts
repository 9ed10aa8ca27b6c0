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
  timerEnd,
  type Wait,
  type Waits,
  type WaitView,
  wait,
} from "./wait.ts";

export const businessWaits: Waits<BusinessContext> = {
  unverified: () => wait("certificate", "It has no certificate yet, so nothing of it is published."),
  active: (view) => active(view),
  revoked: (view) => ended(view, "revoked"),
  closed: (view) => ended(view, "closed"),
  withdrawn: (view) => ended(view, "withdrawn"),
};

function active(view: WaitView<BusinessContext>): Wait {
  const { pending, held, heldDeletions } = view.context;
  const parts = [
    pending.length === 0 ? [] : [`${counted(pending.length, "push", "pushes")} under way`],
    held.length === 0 ? [] : [`${counted(held.length, "push", "pushes")} held for a decision`],
    heldDeletions === 0
      ? []
      : [`${counted(heldDeletions, "deletion", "deletions")} that an operator has to decide on`],
  ].flat();
  if (parts.length === 0) return later(view, "calls", "It waits for nothing but the next request.");
  const isHeld = held.length > 0 || heldDeletions > 0;
  return later(view, isHeld ? "decision" : "pushes", `It has ${parts.join(" and ")}.`, isHeld);
}

function ended(view: WaitView<BusinessContext>, standing: string): Wait {
  const { certificate } = view.context;
  const since = certificate?.status_effective_from ?? "an unknown time";
  const why = certificate?.status_reason ?? null;
  const reason = why === null ? "" : ` (${why})`;
  const { heldDeletions: held } = view.context;
  const words = `Its certificate is ${standing} since ${since}${reason}; it publishes nothing.`;
  return held === 0
    ? later(view, "certificate", words)
    : later(
        view,
        "decision",
        `${words} An operator has to decide on ${counted(held, "deletion", "deletions")}.`,
        true,
      );
}

/** Adds when its own timers end: purges that are owed, and looks at domains. */
function later(view: WaitView<BusinessContext>, code: string, words: string, isHeld = false): Wait {
  const purgeMs = timerEnd(view, "purges");
  const domainsMs = timerEnd(view, "domains");
  const more = [
    purgeMs === null ? "" : ` The next purge is due at ${atTime(purgeMs)}.`,
    domainsMs === null ? "" : ` Its domains are looked at again at ${atTime(domainsMs)}.`,
  ].join("");
  return wait(code, `${words}${more}`, {
    next: at("goes_on", timerEnd(view, "purges", "domains")),
    attention: isHeld ? { reason: "held", sinceMs: null } : null,
  });
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

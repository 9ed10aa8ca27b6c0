// Why an actor of any kind waits: its states, then its failing effects. Each state of each machine has an explanation, which a
// test checks against the machines.

import type { ActorProtocols, KindOf } from "../../actors/messages/kinds.ts";
import { leavesOf } from "../chart.ts";
import { adCampaignWaits, bulkUploadWaits, businessWaits } from "./business-waits.ts";
import {
  adPoolWaits,
  adSessionWaits,
  integrationKeyWaits,
  keyLimitsWaits,
  ledgerWaits,
  regionWaits,
} from "./company-waits.ts";
import { logWaits } from "./log-waits.ts";
import { pushWaits } from "./push-waits.ts";
import { atTime, counted, type Wait, type Waits, type WaitView, wait } from "./wait.ts";

export type { Wait };

// The context of an actor is what its machine keeps: a journal has no more precise type for it.
type AnyWaits = Waits<unknown>;

export const waitsOfKinds: Readonly<Record<KindOf<ActorProtocols>, AnyWaits>> = {
  "ad-campaign": adCampaignWaits,
  "ad-pool": adPoolWaits,
  "ad-session": adSessionWaits,
  "bulk-upload": bulkUploadWaits,
  business: businessWaits,
  "integration-key": integrationKeyWaits,
  "key-limits": keyLimitsWaits,
  ledger: ledgerWaits,
  "log-sequencer": logWaits,
  push: pushWaits,
  region: regionWaits,
};

/** An effect that is not settled, as far as an explanation goes. */
export interface WaitingEffect {
  readonly to: string;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly sinceMs: number | null;
}

export interface WaitingActor extends WaitView {
  readonly kind: string;
  /** The machine's state value; null where the state is unknown. */
  readonly state: unknown;
  readonly outbox: readonly WaitingEffect[];
}

/** Failures of an effect from which on it is worth a look. */
const failuresWorthALook = 3;
/** Maximum number of effects that are explained one by one. */
const effectsShown = 5;

export function explainWaits(actor: WaitingActor): readonly Wait[] {
  const known = new Map(Object.entries<AnyWaits>(waitsOfKinds)).get(actor.kind);
  const states = leavesOf(actor.state).flatMap((path): readonly Wait[] => {
    const explain = known?.[path];
    if (explain === undefined) return [wait("unexplained", `This release does not know the state ${path}.`)];
    const found = explain(actor);
    return found === null ? [] : [found];
  });
  return [...states, ...explainEffects(actor.outbox)];
}

function explainEffects(outbox: readonly WaitingEffect[]): readonly Wait[] {
  const failing = outbox.filter(({ attempts }) => attempts > 0).sort((a, b) => b.attempts - a.attempts);
  const waits = failing.slice(0, effectsShown).map(({ to, attempts, lastError, sinceMs }) => {
    const since = sinceMs === null ? "" : ` since ${atTime(sinceMs)}`;
    const words = `Its effect for ${to} failed ${counted(attempts, "time")}${since} (${lastError ?? "unknown"}) and is tried again.`;
    const isLong = attempts >= failuresWorthALook;
    return wait("effect", words, { attention: isLong ? { reason: "outbox_failing", sinceMs } : null });
  });
  const others = outbox.length - waits.length;
  if (others === 0) return waits;
  const more = waits.length === 0 ? "" : " more";
  return [...waits, wait("effects", `${counted(others, "effect")}${more} wait to be done and acknowledged.`)];
}

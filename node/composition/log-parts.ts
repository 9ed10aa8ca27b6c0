// The node's part of the transparency log: its sequencer, which runs on one node of the log's home region, and that home.

import { logSequencerActivities } from "../../actors/log-sequencer/activities.ts";
import { logSequencerActor } from "../../actors/log-sequencer/definition.ts";
import { logParty, logRef } from "../../actors/messages/refs.ts";
import type { Activity, ActorDefinition, Ask } from "../../actors/system/definition.ts";
import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { namePolicy } from "../../protocol/log/cosignatures.ts";
import { signCheckpoint } from "../../service/log/collect-cosignatures.ts";
import type { ServiceKeys } from "../../service/register/service-keys.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { NodeConfig } from "../configuration/config.ts";
import type { LogWitnesses } from "../witness/log-witnesses.ts";
import type { Keys, Process, Stores } from "./capabilities.ts";
import type { NodeCluster } from "./cluster.ts";

type LogParts = Process & Keys & Stores & { readonly log: (entry: LogEntry) => void };

export function logDefinition({ config, anchors }: Process & Keys): ActorDefinition<"log-sequencer"> {
  return logSequencerActor({ origin: anchors.log.origin, intervals: config.log });
}

export function logActivities({
  anchors,
  keys,
  clock,
  logStore,
  logWitnesses,
  log,
}: LogParts): Record<string, Activity> {
  const { sha256 } = nativeCrypto;
  const signing = { anchor: anchors.log, signer: keys.log, now: clock.now, sha256 };
  return logSequencerActivities({
    log: logStore,
    origin: anchors.log.origin,
    sha256,
    sign: (text) => signCheckpoint(signing, text),
    keyFault: () => keyFaultOf(keys, clock),
    cosign: logWitnesses.cosign,
    policy: policyName(logWitnesses),
    report: (reason, detail) =>
      log({ level: "error", event: "log.head_held", actor: logParty, detail: `${reason}: ${detail}` }),
  });
}

function policyName({ policy }: LogWitnesses): string {
  return namePolicy(policy, nativeCrypto.sha256);
}

/** Why the log cannot be signed now; null if it can. */
export function keyFaultOf(keys: ServiceKeys, clock: Clock): string | null {
  try {
    keys.log(formatTimestamp(clock.now()));
    return null;
  } catch (error) {
    if (error instanceof Unavailable) return error.message;
    throw error;
  }
}

/** How often a node looks after the log's home, and how soon after it could not. */
const [lookMs, lookAgainMs] = [30_000, 10_000];

/**
 * Gives the log its home, if it has none: the first of the cluster's regions that is not lost. Tells the sequencer that a node is
 * there, so that it looks at its head after it was taken over or got other witnesses, and not only with the next leaf. The
 * returned function stops that.
 */
export function keepLogHome({
  config,
  cluster,
  actors,
  logWitnesses,
  timers,
  log,
}: Pick<LogParts, "logWitnesses" | "log"> & {
  readonly config: Pick<NodeConfig, "region">;
  readonly cluster: LogCluster | null;
  readonly actors: { readonly ask: Ask };
  readonly timers: TimerPort;
}): () => void {
  const policy = policyName(logWitnesses);
  let isStopped = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    if (cluster !== null && (await settledHome(cluster, config.region)) !== config.region) return;
    await actors.ask(logRef(), { type: "log.open", policy });
  };
  const keepLooking = (): void => {
    look().then(
      () => again(lookMs),
      (error: unknown) => {
        if (isStopped) return;
        log({ level: "warn", event: "log.home_not_settled", actor: "", detail: String(error) });
        again(lookAgainMs);
      },
    );
  };
  const again = (afterMs: number): void => {
    if (!isStopped) cancel = timers.schedule(afterMs, keepLooking);
  };
  keepLooking();
  return () => {
    isStopped = true;
    cancel();
  };
}

type LogCluster = Pick<NodeCluster, "regions"> & {
  readonly placement: Pick<NodeCluster["placement"], "homeOf" | "regionOf" | "assignHome" | "settle">;
};

/** The region that has the log now; null where it has no home, and another region is to give it one. */
async function settledHome({ placement, regions }: LogCluster, region: string): Promise<string | null> {
  if (placement.homeOf(logParty) === null) {
    if (regions()[0] === region) await placement.assignHome(logParty);
    else await placement.settle(logRef());
  }
  return placement.regionOf(logParty);
}

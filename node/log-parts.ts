// The node's part of the transparency log: its sequencer, which runs on one node of the log's home region, and that home.

import { logSequencerActivities } from "../actors/log-sequencer/activities.ts";
import { logSequencerActor } from "../actors/log-sequencer/definition.ts";
import { logParty } from "../actors/messages/refs.ts";
import type { Activity, ActorDefinition } from "../actors/system/definition.ts";
import type { LogEntry, TimerPort } from "../actors/system/ports.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Clock } from "../crypto/port.ts";
import type { Anchors } from "../protocol/anchors.ts";
import type { ServiceKeys } from "../service/service-keys.ts";
import { signCheckpoint } from "../service/sign-checkpoint.ts";
import type { LogStore } from "../storage/log-store.ts";
import type { NodeCluster } from "./cluster.ts";
import type { NodeConfig } from "./config.ts";
import type { LogWitnesses } from "./witness/log-witnesses.ts";

export interface LogParts {
  readonly config: Pick<NodeConfig, "log">;
  readonly anchors: Anchors;
  readonly keys: Pick<ServiceKeys, "log">;
  readonly clock: Clock;
  readonly logStore: LogStore;
  readonly logWitnesses: Pick<LogWitnesses, "cosign">;
}

export function logDefinition({ config, anchors }: LogParts): ActorDefinition<"log-sequencer"> {
  return logSequencerActor({ origin: anchors.log.origin, intervals: config.log });
}

export function logActivities({
  anchors,
  keys,
  clock,
  logStore,
  logWitnesses,
}: LogParts): Record<string, Activity> {
  const { sha256 } = nativeCrypto;
  const signing = { anchor: anchors.log, signer: keys.log, now: clock.now, sha256 };
  return logSequencerActivities({
    ...{ log: logStore, origin: anchors.log.origin, sha256 },
    sign: (text) => signCheckpoint(signing, text),
    cosign: logWitnesses.cosign,
  });
}

const settleAgainMs = 10_000;

/**
 * Gives the log its home: the first of the cluster's regions, whose nodes hold the log's key. The returned function stops
 * trying.
 */
export function settleLogHome(
  cluster: NodeCluster | null,
  {
    config,
    timers,
    log,
  }: {
    readonly config: Pick<NodeConfig, "region" | "cluster">;
    readonly timers: TimerPort;
    readonly log: (entry: LogEntry) => void;
  },
): () => void {
  if (cluster === null || config.cluster?.regions[0] !== config.region) return () => {};
  const { placement } = cluster;
  let cancel = (): void => {};
  const settle = (): void => {
    if (placement.homeOf(logParty) !== null) return;
    placement.assignHome(logParty).catch((error: unknown) => {
      log({ level: "warn", event: "log.home_not_settled", actor: "", detail: String(error) });
      cancel = timers.schedule(settleAgainMs, settle);
    });
  };
  settle();
  return () => cancel();
}

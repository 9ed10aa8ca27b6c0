// How this node has checkpoints of the log cosigned: by the witnesses of its settings, or, in a sandbox that names none, by two of
// its own. Those are named as what they are, because a witness of the same operator proves nothing to anybody else.

import { join } from "node:path";
import type { LogEntry } from "../../actors/system/ports.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import type { WitnessPolicy } from "../../protocol/log/cosignatures.ts";
import { parseVerifierKey } from "../../protocol/log/note.ts";
import { createCollector } from "../../service/log/collect-cosignatures.ts";
import type { WitnessedLog } from "../../service/log/witness.ts";
import type { Cosign } from "../../transport/witness-port.ts";
import { logKeys } from "../../verifier/log.ts";
import type { Trust } from "../../verifier/trust.ts";
import type { NodeConfig } from "../configuration/config.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import { reachWitness, type WitnessAddress } from "./witness-client.ts";
import { startWitness, type WitnessProcess } from "./witness-server.ts";

export interface LogWitnesses extends AsyncDisposable {
  readonly cosign: Cosign;
  readonly witnesses: readonly WitnessAddress[];
  readonly policy: WitnessPolicy;
  /** No witness is asked any more, and what was asked of one ends at once. */
  stop(): void;
}

export interface LogWitnessesParts {
  readonly anchors: Anchors;
  readonly trust: () => Trust;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
}

/** The names of a sandbox's own witnesses; nobody can have a host below `invalid` (RFC 6761). */
const ownNames = ["sandbox.invalid/own-witness-1", "sandbox.invalid/own-witness-2"];

/** Throws {@link KeyStoreError} where a sandbox's witness cannot read its key. */
export async function openLogWitnesses(
  config: Pick<NodeConfig, "environment" | "cluster" | "home" | "log">,
  parts: LogWitnessesParts,
): Promise<LogWitnesses> {
  const { environment, cluster, log } = config;
  const hasOwn = environment === "sandbox" && cluster === null && !log.isSet;
  const own = hasOwn
    ? await Promise.all(ownNames.map((name, at) => startOwn(config.home, name, at, parts)))
    : [];
  const witnesses = hasOwn ? own.map(addressOf) : log.witnesses;
  const quorum = hasOwn ? own.length : log.quorum;
  const stop = new AbortController();
  const cosign = createCollector({
    policy: { witnesses: witnesses.map(reachWitness), quorum },
    stopped: stop.signal,
    crypto: nativeCrypto,
    now: parts.clock.now,
    schedule: nodeTimers.schedule,
  });
  return {
    cosign,
    witnesses,
    policy: { witnesses: witnesses.map(({ key }) => key), quorum },
    stop: () => stop.abort(),
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(own.map((witness) => witness[Symbol.asyncDispose]()))),
  };
}

function startOwn(
  home: string,
  name: string,
  at: number,
  { anchors, trust, clock, log }: LogWitnessesParts,
): Promise<WitnessProcess> {
  return startWitness({
    home: join(home, "witnesses", String(at + 1)),
    name,
    clock,
    listen: { host: "127.0.0.1", port: 0 },
    // A sandbox changes its keys while it runs.
    logs: (): readonly WitnessedLog[] => [{ origin: anchors.log.origin, keys: logKeys(trust()) }],
    report: (event, detail) => log({ level: "error", event, actor: name, detail }),
  });
}

function addressOf({ url, verifierKey }: WitnessProcess): WitnessAddress {
  const key = parseVerifierKey(verifierKey, nativeCrypto.sha256);
  if (key === null) throw new TypeError("A witness prints its own key.");
  return { key, url, mayBePrivate: true };
}

// The keys of a node as it would find them when it starts, and whether they will still be valid in a month.

import { stat } from "node:fs/promises";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { windowFault } from "../../verifier/key-window.ts";
import type { NodeConfig } from "../config.ts";
import { type HeldUse, nodeUses } from "../keys/working-keys.ts";
import { loadNodeKeys, type NodeKeys } from "../node-keys.ts";
import { soonMs } from "./files.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Nothing is created: a missing folder stays missing. */
export async function keyFindings(config: NodeConfig, nowMs: number): Promise<readonly Finding[]> {
  if ((await stat(config.keys).catch(() => null)) === null) {
    return [
      {
        ...{ code: "keys_refused", where: config.keys },
        problem: "does not exist",
        fix: "Make the keys as docs/keys.md describes, and name their folder in SVC_KEYS.",
      },
    ];
  }
  return await findingsOf("keys_refused", config.keys, async () => {
    const store = await FileKeyStore.open(config.keys);
    const keys = await loadNodeKeys(config, store, { now: () => nowMs });
    return [...endings(keys, nowMs), ...logKeyFindings(config, keys, nowMs)];
  });
}

/** The log's home is the first region that is not lost; without its key it stands still there. */
function logKeyFindings(
  { cluster, region }: Pick<NodeConfig, "cluster" | "region">,
  { currentKeys }: NodeKeys,
  nowMs: number,
): readonly Finding[] {
  if (canSign(currentKeys, "log", formatTimestamp(nowMs))) return [];
  const isHome = cluster === null || cluster.regions[0] === region;
  return [
    {
      ...{ code: "log_key_missing", where: "log key" },
      problem: isHome
        ? "is not here, and this is the home region of the transparency log: nothing is logged"
        : "is not here, so this region cannot take the transparency log over",
      fix: "Make it with `svc keys create-working --role log` (docs/keys.md), or copy that of the log's home.",
      warning: true,
    },
  ];
}

function canSign(currentKeys: NodeKeys["currentKeys"], use: HeldUse, at: string): boolean {
  try {
    currentKeys.signerAt(use)(at);
    return true;
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}

function endings({ currentKeys, trust }: NodeKeys, nowMs: number): readonly Finding[] {
  const at = formatTimestamp(nowMs + soonMs);
  const working = nodeUses.filter((use) => !canSign(currentKeys, use, at));
  const listed = [...trust().keys.values()];
  const certifying = (["issuance", "root"] as const).filter(
    (use) => !listed.some((entry) => entry.use === use && windowFault(entry, at) === null),
  );
  return [...working, ...certifying].map((use) => ({
    ...{ code: "key_ends", where: `${use} key` },
    problem: `ends within ${soonMs / 86_400_000} days, and no other follows it`,
    fix: "Issue the next key set with a new one (docs/keys.md).",
  }));
}

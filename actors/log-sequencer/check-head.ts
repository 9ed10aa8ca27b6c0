// Whether the log's head is the newest, before anything is written or signed on top of it.
//   H1. Nothing is signed to find out: witnesses are asked about the newest checkpoint that was published already.
//   H2. What is missing is said and looked for again: a copy that is late, or is being repaired, may have it later.

import type { Sha256 } from "../../protocol/hash.ts";
import { consistencyProof } from "../../protocol/log/proofs.ts";
import { TileFault } from "../../protocol/log/tiles.ts";
import type { LogStore, StoredCheckpoint } from "../../storage/log-store.ts";
import type { Cosign } from "../../transport/witness-port.ts";
import type { HeadFinding, HeadStanding, LogSequencerProtocol, TreeHead } from "../messages/log-sequencer.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { logRef } from "../messages/refs.ts";
import type { ActivityContext } from "../system/definition.ts";
import { judgeHead, refused } from "./judge-head.ts";
import { LogGap, readTilesOf, rebuild, rootOfTiles } from "./stored-tree.ts";

export interface LogSequencerPorts {
  readonly log: LogStore;
  readonly origin: string;
  readonly sha256: Sha256;
  /** Signs the checkpoint's text; returns the note. */
  readonly sign: (text: string) => Promise<string>;
  /** Why this node cannot sign checkpoints; null where it can. */
  readonly keyFault: () => string | null;
  readonly cosign: Cosign;
  /** Names the policy by which `cosign` asks. */
  readonly policy: string;
  /** Tells operators why the log stands still. */
  readonly report: (reason: string, detail: string) => void;
}

type Ports = Pick<LogSequencerPorts, "log" | "sha256" | "keyFault" | "cosign" | "report">;

/** Whether the head is certainly the newest: the home was not lost, and what is published is what the sequencer published. */
export async function isSafe({ log, keyFault }: Ports, standing: HeadStanding): Promise<boolean> {
  const { isConfirmed, published, publishing } = standing;
  if (!isConfirmed || keyFault() !== null) return false;
  const checkpoint = await log.readCheckpoint();
  // Its own last one may not have reached the copies that were asked.
  if (checkpoint === null || checkpoint.size < (published?.size ?? 0)) return true;
  return isSame(checkpoint, published) || isSame(checkpoint, publishing);
}

export function isSame({ size, root }: TreeHead, other: TreeHead | null): boolean {
  return other !== null && size === other.size && root === other.root;
}

/** Compares the head with everything that is known to have been published, and takes over what is newer. */
export async function checkHead(
  ports: Ports,
  context: ActivityContext,
): Promise<CommandOf<LogSequencerProtocol, "log.judge">> {
  const standing = await context.ask(logRef(), { type: "log.standing" });
  const { era, supplied } = standing;
  const stored = await ports.log.readNewestCheckpoint();
  const published = stored === null ? null : { size: stored.size, root: stored.root };
  const signed = [stored, supplied].filter((each) => each !== null);
  const newest = signed.toSorted((a, b) => b.size - a.size)[0] ?? null;
  const finding =
    keyFinding(ports) ??
    (hasLost(standing, newest) ? await witnessFinding(ports, newest) : null) ??
    (await treeFinding(ports, standing.head, signed));
  if (finding.kind === "refused") ports.report(finding.reason, finding.detail);
  return { type: "log.judge", era, finding, published };
}

/** Whether commits of the sequencer may be missing, so that witnesses may know of more than is known here. */
function hasLost<T extends TreeHead>({ isTakenOver, head }: HeadStanding, newest: T | null): newest is T {
  return newest !== null && (isTakenOver || newest.size > head.size);
}

function keyFinding({ keyFault }: Ports): HeadFinding | null {
  const fault = keyFault();
  return fault === null ? null : refused("log_key_missing", fault);
}

/** What keeps the witnesses from confirming the newest checkpoint that is known here; null where enough of them did. */
async function witnessFinding(
  { log, sha256, cosign }: Ports,
  { note, size }: StoredCheckpoint,
): Promise<HeadFinding | null> {
  const tree = { size, read: readTilesOf(log), sha256 };
  const answer = await cosign({
    ...{ note, size, publishedSize: size },
    proofFrom: (from) => consistencyProof(tree, from),
  });
  if (answer.disputed !== undefined)
    return refused(
      "checkpoint_behind_witness",
      `the newest checkpoint here has ${size} leaves, and ${answer.disputed}`,
    );
  return "missing" in answer ? refused("head_unconfirmed", answer.missing) : null;
}

async function treeFinding(
  { log, sha256 }: Ports,
  head: TreeHead,
  signed: readonly TreeHead[],
): Promise<HeadFinding> {
  const roots = new Map<number, string>();
  const gaps: string[] = [];
  const rebuilt = new Map<number, Awaited<ReturnType<typeof rebuild>>>();
  for (const { size } of [head, ...signed]) {
    try {
      if (size <= head.size) roots.set(size, await rootOfTiles({ log, sha256 }, size));
      else {
        const tree = await rebuild({ log, sha256 }, head.size, size);
        rebuilt.set(size, tree);
        roots.set(size, tree.root);
      }
    } catch (error) {
      if (!(error instanceof LogGap || error instanceof TileFault)) throw error;
      gaps.push(error.message);
    }
  }
  const finding = judgeHead(head, signed, (size) => roots.get(size) ?? null);
  if (finding.kind === "refused" && finding.reason === "log_incomplete")
    return refused(finding.reason, `${finding.detail}: ${gaps.join(" ")}`);
  if (finding.kind !== "adopted") return finding;
  // What did not reach this region of tiles and of the index of leaves follows from the entries.
  const { objects, leaves } = rebuilt.get(finding.head.size) ?? { objects: [], leaves: [] };
  await log.write(objects, leaves);
  return finding;
}

// `npm run bench -- --peers`: programs and libraries that do a part of what the service does, each beside the nearest thing of ours,
// in turns, on the machine that the benchmark runs on. No figure has a goal: nobody does the same, and what differs is printed.

import type { Measured } from "../figures.ts";
import { measureLogAppend } from "../sections/log-append.ts";
import type { World } from "../world.ts";
import { dbos, restate, rivet } from "./durable.ts";
import { elasticsearch } from "./elastic.ts";
import { httpSignatures, sigstore } from "./libraries.ts";
import type { Peer } from "./peer.ts";

const tessera: Peer = {
  does: "The section log-append: writers append entries to a log, each waiting until its entry is in the tree.",
  differs:
    "Ours refuses doubles, holds each leaf durably before it has a place, and publishes each head; Tessera does none of these. It runs on all cores, ours on one thread and those of the file system. Its processor time is not measured.",
  configuration:
    "Tessera's POSIX storage as it is released, in a program of Go (tools/log-judge/append-floor).",
  durability: "Ours flushes leaves and heads before it answers. Tessera writes its files synchronously.",
  measure: async (world) => {
    const figures = (await measureLogAppend(world)).filter(({ floor }) => floor !== null);
    if (figures.length === 0) throw new Error("its program cannot be built");
    return figures.map((each) => ({ ...each, goal: null, note: "" }));
  },
};

export const peers = {
  restate,
  dbos,
  rivet,
  elasticsearch,
  tessera,
  "http-signatures": httpSignatures,
  sigstore,
} as const satisfies Readonly<Record<string, Peer>>;
export type PeerName = keyof typeof peers;
export const peerNames = Object.keys(peers) as readonly PeerName[];

/** The figures of a peer; none, said loudly, where it cannot be had on this machine. */
export async function measurePeer(world: World, name: PeerName): Promise<readonly Measured[]> {
  try {
    return await peers[name].measure(world);
  } catch (error) {
    const line = "!".repeat(100);
    console.error(`${line}\nNOT MEASURED: ${name}.\n${String(error)}\n${line}`);
    return [];
  }
}

/** What a reader has to know of each, to read its figures. */
export function peerTexts(names: readonly PeerName[]): string {
  const texts = names.map((name) => {
    const { does, differs, configuration, durability } = peers[name];
    return `${name}
  Measured: ${does}
  Differs: ${differs}
  Configuration: ${configuration}
  Durability: ${durability}
`;
  });
  return texts.join("\n");
}

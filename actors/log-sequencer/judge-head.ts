// Whether the log may go on from its head: the decision alone, from what is known and what is there.
//   J1. A tree is signed only if it contains every tree that is known to have been signed: one tree has the root of each at its
//       size, as computed from what is stored.
//   J2. The log never goes back: where a larger tree than the head was published, that one is the head.

import type { HeadFinding, TreeHead } from "../messages/log-sequencer.ts";

/** The root of the first `size` leaves as what is stored gives it; null where something of them is missing. */
export type StoredRoot = (size: number) => string | null;

export function judgeHead(
  head: TreeHead,
  published: readonly TreeHead[],
  storedRoot: StoredRoot,
): Exclude<HeadFinding, { readonly kind: "refused" }> | FaultyHead {
  const known = [head, ...published];
  for (const { size, root } of known) {
    const stored = storedRoot(size);
    if (stored === null)
      return refused("log_incomplete", `of the tree of ${size} leaves not everything is here`);
    if (stored !== root) {
      const what = size === head.size && root === head.root ? "the head" : "the published tree";
      return refused(
        "log_forked",
        `${what} of ${size} leaves has the root ${root}, and what is here gives ${stored}`,
      );
    }
  }
  const newest = known.reduce((last, each) => (each.size > last.size ? each : last));
  return newest === head
    ? { kind: "kept" }
    : { kind: "adopted", head: { size: newest.size, root: newest.root } };
}

type FaultyHead = Extract<HeadFinding, { readonly kind: "refused" }>;

export function refused(reason: FaultyHead["reason"], detail: string): FaultyHead {
  return { kind: "refused", reason, detail };
}

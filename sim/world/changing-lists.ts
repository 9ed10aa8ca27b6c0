// The operator's lists of a world, which are replaced once while pushes are under way: a host that was blocked no longer is,
// and another one is.
//   L1. A record that was sealed after the change is judged by the new lists, on every node.

import type { CertifiedNames, ContentLists } from "../../protocol/records/name-index.ts";
import type { Kernel } from "../kernel/kernel.ts";

export const blockedAtFirst = "first.example";
export const blockedLater = "later.example";
/** When the lists change, after the start of the world. */
const changeAfterMs = 4_000;

export function listsChangeAtMs({ startMs }: Pick<Kernel, "startMs">): number {
  return startMs + changeAfterMs;
}

/** The lists of a node; a version and hosts that change once, and the names of the companies that the node knows. */
export function changingLists(
  kernel: Pick<Kernel, "startMs" | "now">,
  certified: CertifiedNames,
): ContentLists {
  const isChanged = (): boolean => kernel.now() >= listsChangeAtMs(kernel);
  const [first, later] = [[blockedAtFirst], [blockedLater]];
  return {
    protectedNames: [],
    exemptNames: [],
    certified,
    get version() {
      return isChanged() ? 1 : 0;
    },
    get blockedHosts() {
      return isChanged() ? later : first;
    },
  };
}

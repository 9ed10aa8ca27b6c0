import type { RegionStatus } from "../storage/cluster-store.ts";

/** The region itself while it is alive, or else the first live one in its chain of successors; null if there is none. */
export function effectiveRegion(
  region: string,
  standingOf: (region: string) => RegionStatus | undefined,
): string | null {
  const passed = new Set<string>();
  let heir: string | null = region;
  for (;;) {
    const standing: RegionStatus | undefined = heir === null ? undefined : standingOf(heir);
    if (heir === null || standing?.status !== "dead") return heir;
    if (passed.has(heir)) return null;
    passed.add(heir);
    heir = standing.successor;
  }
}

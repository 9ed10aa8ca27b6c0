import type { RegionStatus } from "../storage/cluster-store.ts";

/** The region itself while it lives, else the first living one that takes over; null when none does. */
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

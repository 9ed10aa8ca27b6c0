import type { RegionStanding } from "../storage/cluster-store.ts";

/** The region itself while it lives, else the first living one that takes over; null when none does. */
export function heirOf(
  region: string,
  standingOf: (region: string) => RegionStanding | undefined,
): string | null {
  const passed = new Set<string>();
  let heir: string | null = region;
  for (;;) {
    const standing: RegionStanding | undefined = heir === null ? undefined : standingOf(heir);
    if (heir === null || standing?.status !== "dead") return heir;
    if (passed.has(heir)) return null;
    passed.add(heir);
    heir = standing.successor;
  }
}

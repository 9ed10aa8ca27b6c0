import { describe, expect, it } from "vitest";
import type { ActorReport } from "../actors/system/definition.ts";
import { dropAbandoned } from "./abandoned-pushes.ts";

const report = (context: unknown, failure: string | null = null): ActorReport =>
  ({ context, failure }) as unknown as ActorReport;

describe("what is staged at a start", () => {
  it("is dropped unless its push was accepted, or its actor cannot be read", async () => {
    const known: Readonly<Record<string, ActorReport | null>> = {
      "bat_never-heard-of": null,
      "bat_only-asked-about": report({ facts: null }),
      bat_accepted: report({ facts: { push_id: "bat_accepted" } }),
      "bat_over-and-not-dropped-yet": report({ facts: { push_id: "bat_over" } }),
      bat_unreadable: report(null, "the journal has a gap"),
      bat_quarantined: report({ facts: null }, "it crashed"),
    };
    // More than one page.
    const many = Array.from({ length: 250 }, (_, index) => `bat_x${1_000 + index}`);
    const staged = new Set([...Object.keys(known), ...many]);
    const dropped = await dropAbandoned({
      actors: { inspect: async ({ id }) => known[id] ?? null },
      records: {
        stagedPushes: async (after, limit) =>
          [...staged]
            .sort()
            .filter((id) => id > after)
            .slice(0, limit),
        dropStaged: async (id) => void staged.delete(id),
      },
    });
    expect([...staged].sort()).toEqual([
      "bat_accepted",
      "bat_over-and-not-dropped-yet",
      "bat_quarantined",
      "bat_unreadable",
    ]);
    expect(dropped).toBe(252);
  });
});

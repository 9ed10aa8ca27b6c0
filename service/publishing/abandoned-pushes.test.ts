import { describe, expect, it } from "vitest";
import type { ActorReport } from "../../actors/system/definition.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { type AbandonedDeps, dropAbandoned } from "./abandoned-pushes.ts";

const report = (context: unknown, failure: string | null = null): ActorReport =>
  ({ context, failure }) as unknown as ActorReport;

/** Pushes, each with the instant at which it was last staged, and what is left of them. */
function newWorld(
  pushes: Readonly<Record<string, number>>,
  known: Readonly<Record<string, ActorReport>> = {},
) {
  const staged = new Map(Object.entries(pushes));
  const deps: AbandonedDeps = {
    actors: part({ inspect: async ({ id }) => known[id] ?? null }),
    records: part({
      stagedPushes: async (cursor, limit) => {
        const pushes = [...staged]
          .map(([push_id, staged_at_ms]) => ({ push_id, staged_at_ms }))
          .filter(({ push_id }) => push_id > (cursor ?? ""))
          .sort((a, b) => (a.push_id < b.push_id ? -1 : 1))
          .slice(0, limit);
        return { pushes, cursor: pushes.at(-1)?.push_id ?? null };
      },
      dropStaged: async (id, untilMs = Number.POSITIVE_INFINITY) => {
        if ((staged.get(id) ?? 0) <= untilMs) staged.delete(id);
      },
    }),
    isHere: () => true,
  };
  return { deps, staged, left: () => [...staged.keys()].sort() };
}

describe("what is staged", () => {
  it("is dropped unless its push was accepted, or its actor cannot be read (B1)", async () => {
    const known = {
      "bat_only-asked-about": report({ facts: null }),
      bat_accepted: report({ facts: { push_id: "bat_accepted" } }),
      "bat_over-and-not-dropped-yet": report({ facts: { push_id: "bat_over" } }),
      bat_unreadable: report(null, "the journal has a gap"),
      bat_quarantined: report({ facts: null }, "it crashed"),
    };
    // More than one page.
    const many = Array.from({ length: 250 }, (_, index) => `bat_x${1_000 + index}`);
    const ids = [...Object.keys(known), "bat_never-heard-of", ...many];
    const { deps, left } = newWorld(Object.fromEntries(ids.map((id) => [id, 5])), known);
    expect(await dropAbandoned(deps, Number.POSITIVE_INFINITY)).toBe(252);
    expect(left()).toEqual([
      "bat_accepted",
      "bat_over-and-not-dropped-yet",
      "bat_quarantined",
      "bat_unreadable",
    ]);
  });

  it("is judged only where its push's actor lives (B1)", async () => {
    const { deps, left } = newWorld({ a: 1, b: 1, c: 1 });
    const asked: string[] = [];
    const inspect: AbandonedDeps["actors"]["inspect"] = async ({ kind, id }) => {
      asked.push(`${kind}/${id}`);
      return null;
    };
    const isHere = async ({ id }: { readonly id: string }): Promise<boolean> => id === "b";
    expect(await dropAbandoned({ ...deps, actors: part({ inspect }), isHere }, 1)).toBe(1);
    expect(left()).toEqual(["a", "c"]);
    expect(asked).toEqual(["push/b"]);
  });

  it("is left alone while somebody may be about to accept it (B2)", async () => {
    const { deps, left } = newWorld({ early: 999, just: 1_000, late: 1_001 });
    expect(await dropAbandoned(deps, 1_000)).toBe(2);
    expect(left()).toEqual(["late"]);
  });

  it("stays when it is staged again after the look (B3)", async () => {
    const { deps, staged, left } = newWorld({ a: 1, b: 1 });
    const inspect: AbandonedDeps["actors"]["inspect"] = async ({ id }) => {
      // This one is also old enough.
      if (id === "a") staged.set("a", 2);
      return null;
    };
    await dropAbandoned({ ...deps, actors: part({ inspect }) }, 1_000);
    expect(left()).toEqual(["a"]);
  });

  it("is dropped whatever befalls others, unless it befalls many (B4)", async () => {
    const stagings = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`bat_${100 + index}`, 1]));
    const dropping = (fails: (id: string) => boolean) => {
      const { deps, left } = newWorld(stagings);
      const dropStaged: AbandonedDeps["records"]["dropStaged"] = async (id, untilMs) => {
        if (fails(id)) throw new Error(`${id} is locked`);
        await deps.records.dropStaged(id, untilMs);
      };
      return { run: dropAbandoned({ ...deps, records: { ...deps.records, dropStaged } }, 1), left };
    };
    const few = dropping((id) => id === "bat_103" || id === "bat_107");
    await expect(few.run).rejects.toThrow("bat_103 is locked");
    expect(few.left()).toEqual(["bat_103", "bat_107"]);

    const many = dropping((id) => id > "bat_104");
    await expect(many.run).rejects.toThrow("bat_114 is locked");
    expect(many.left()).toHaveLength(15);
  });
});

// What a pool knows of its items, whichever it is told first: the charge by the campaign, or the click.

import { beforeEach, describe, expect, it } from "vitest";
import { adClickMs, adRenderMs } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { adPoolActor } from "./definition.ts";

const servedAt = Date.UTC(2026, 0, 31, 12);
const renderedAt = servedAt + 1_000;
let pool: ActorHarness<"ad-pool">;
beforeEach(() => {
  pool = driveActor(adPoolActor, "ret_1@eu-west1");
  pool.nowMs = servedAt;
  pool.send({
    type: "pool.serve",
    company: "c",
    session: "s@eu-west1",
    served_at_ms: servedAt,
    items: [{ ad_id: "ad_a", business_uuid: "b", campaign_id: "spring", allow_repeats: false }],
  });
});

const settle = (refusal: null | "budget_spent" = null) =>
  pool.send({ type: "item.settle", index: 0, format: "card", refusal, at_ms: renderedAt });
const click = (index = 0) => pool.send({ type: "item.click", index, rendered_at_ms: renderedAt });
const item = () => pool.send({ type: "pool.read" })?.items[0];
const shown = () =>
  pool.effects.filter((effect) => effect.kind === "tell" && effect.message.type === "shown.note");

describe("an item", () => {
  it("is rendered once its campaign has charged it, and is left out of the conversation for an hour", () => {
    settle();
    settle();
    expect(item()).toMatchObject({ state: "rendered", format: "card", rendered_at_ms: renderedAt });
    expect(shown()).toMatchObject([{ message: { ad_id: "ad_a", until_ms: renderedAt + 3_600_000 } }]);
  });

  it("that is clicked before the campaign tells of its render was rendered when its token says", () => {
    pool.nowMs = renderedAt + 5;
    expect(click()).toEqual({ status: "clicked", clicked_at_ms: renderedAt + 5 });
    expect(item()).toMatchObject({ state: "clicked", format: null, rendered_at_ms: renderedAt });
    expect(shown()).toHaveLength(1);
    settle();
    expect(item()).toMatchObject({ state: "clicked", format: "card", clicked_at_ms: renderedAt + 5 });
  });

  it("tells its campaign once that it was clicked", () => {
    settle();
    for (let times = 0; times < 2; times += 1) click();
    const told = pool.effects.flatMap((effect) =>
      effect.kind === "tell" && effect.message.type === "click.note" ? [effect] : [],
    );
    expect(told).toMatchObject([{ to: { kind: "ad-campaign", id: "b.spring" }, message: { company: "c" } }]);
  });

  it("is clicked once, and for 24 hours", () => {
    settle();
    pool.nowMs = renderedAt + adClickMs + 1;
    expect(click()).toEqual({ status: "expired" });
    pool.nowMs = renderedAt + adClickMs;
    const first = click();
    expect(first).toEqual({ status: "clicked", clicked_at_ms: renderedAt + adClickMs });
    pool.nowMs += 60_000;
    expect(click()).toEqual(first);
  });

  it("that no campaign charged expires, and is rendered still if it is told later of a render in time", () => {
    pool.nowMs = servedAt + adRenderMs + 60_000;
    pool.fireTimers();
    expect(item()).toMatchObject({ state: "expired" });
    settle();
    expect(item()).toMatchObject({ state: "rendered", rendered_at_ms: renderedAt });
  });

  it("that its campaign refused was not rendered, and is not clicked", () => {
    settle("budget_spent");
    expect(click()).toEqual({ status: "expired" });
    expect(item()).toMatchObject({ state: "refused", refusal: "budget_spent", rendered_at_ms: null });
    expect(shown()).toEqual([]);
  });

  it("that the pool does not have is unknown", () => {
    expect(click(1)).toEqual({ status: "unknown" });
    expect(pool.send({ type: "item.settle", index: 7, format: "card", refusal: null, at_ms: 1 })).toEqual({
      status: "done",
    });
  });
});

describe("a pool", () => {
  const laterBy = (ms: number): void => {
    pool.nowMs += ms;
    pool.fireTimers();
  };

  it("ends after the last moment at which a click counts (AP3)", () => {
    expect([...pool.timers.values()]).toEqual([adRenderMs + 30_000]);
    laterBy(adRenderMs + 30_000);
    expect([...pool.timers.values()]).toEqual([adClickMs + 30_000]);
    expect(pool.snapshot.status).toBe("active");
    laterBy(adClickMs + 30_000);
    expect(pool.snapshot.status).toBe("done");
    // What comes before it is forgotten is answered as if it were.
    expect(settle()).toEqual({ status: "done" });
    expect(click()).toEqual({ status: "unknown" });
    expect(item()).toMatchObject({ format: null, clicked_at_ms: null });
  });

  it("that was forgotten, or never known, ends when its campaign tells of it (AP3)", () => {
    pool = driveActor(adPoolActor, "ret_2@eu-west1");
    expect(click()).toEqual({ status: "unknown" });
    expect(pool.snapshot.status).toBe("active");
    settle();
    expect(pool.snapshot.status).toBe("done");
    expect(pool.effects).toEqual([]);
  });
});

// What a conversation was shown, for an hour each; with the last of it the session ends.

import { beforeEach, describe, expect, it } from "vitest";
import { adRepeatMs } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { adSessionActor } from "./definition.ts";

let session: ActorHarness<"ad-session">;
beforeEach(() => {
  session = driveActor(adSessionActor, "m@eu-west1");
});

const note = (ad_id: string) =>
  session.send({ type: "shown.note", ad_id, until_ms: session.nowMs + adRepeatMs });
const shown = () => session.send({ type: "shown.read" }).ads;

describe("a conversation", () => {
  it("is known by what it was shown within the last hour", () => {
    note("ad_a");
    session.nowMs += adRepeatMs / 2;
    note("ad_b");
    expect(shown()).toEqual(["ad_a", "ad_b"]);
    session.nowMs += adRepeatMs / 2;
    expect(shown()).toEqual(["ad_b"]);
  });

  it("is over once the last of it has ended, not earlier", () => {
    note("ad_a");
    note("ad_b");
    expect([...session.timers.values()]).toEqual([adRepeatMs + 30_000]);
    expect(session.snapshot.status).toBe("active");
    session.nowMs += adRepeatMs + 30_000;
    session.fireTimers();
    expect(shown()).toEqual([]);
    expect(session.snapshot.status).toBe("done");
    note("ad_c");
    expect(shown()).toEqual([]);
  });
});

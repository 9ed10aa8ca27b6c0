import { describe, expect, it } from "vitest";
import { businessRef } from "../messages/refs.ts";
import { createCurrentActors } from "./current-actors.ts";
import type { ActorSystemStats } from "./definition.ts";
import type { LocalActorSystem } from "./ports.ts";

const ref = businessRef("a");
const command = { type: "group.block", group: "g" } as const;

/** Systems that answer with their owner's name and count the commands they get. */
function systems() {
  const made: string[] = [];
  const current = createCurrentActors((owner) => {
    made.push(owner);
    let asked = 0;
    return {
      ask: async () => {
        asked += 1;
        return owner;
      },
      stats: (): ActorSystemStats => ({
        active: 1,
        mailboxed: 2,
        commits: asked,
        commandsHandled: asked,
        refusedCommits: 1,
        crashes: 0,
        quarantined: [ref],
        outboxPending: 3,
        activitiesWaiting: 2,
      }),
    } as unknown as LocalActorSystem;
  });
  return { current, made };
}

describe("the actors of the incarnation in force", () => {
  it("refuse every call before the first one, and nothing is applied (C1)", async () => {
    const { current } = systems();
    const refusal = { name: "Unavailable", reason: "restarting", effect: "not_applied" };
    await expect(current.ask(ref, command)).rejects.toMatchObject(refusal);
    await expect(current.askHere(ref, command, 10)).rejects.toMatchObject(refusal);
    await expect(current.deliver(ref, "counter/b", [])).rejects.toMatchObject(refusal);
    const ahead = current.askSpeculative(ref, command);
    await expect(ahead.decided).rejects.toMatchObject(refusal);
    await expect(ahead.reply).rejects.toMatchObject(refusal);
    expect(current.tell(ref, command)).toBe(false);
    expect(await current.inspect(ref)).toBeNull();
  });

  it("answer as the newest, and count on over all of them (C2)", async () => {
    const { current, made } = systems();
    current.begin("eu-west1/one");
    expect(await current.ask(ref, command)).toBe("eu-west1/one");
    current.begin("eu-west1/two");
    expect(await current.ask(ref, command)).toBe("eu-west1/two");
    expect(made).toEqual(["eu-west1/one", "eu-west1/two"]);
    expect(current.stats()).toEqual({
      active: 1,
      mailboxed: 2,
      commits: 2,
      commandsHandled: 2,
      refusedCommits: 2,
      crashes: 0,
      quarantined: [ref],
      outboxPending: 3,
      activitiesWaiting: 2,
    });
  });

  it("count what the store refuses an incarnation after the next one has begun (C2)", async () => {
    const counters = [0, 0, 0];
    let made = 0;
    const current = createCurrentActors(() => {
      const own = made;
      made += 1;
      return {
        stats: () => ({ commits: 0, commandsHandled: 0, crashes: 0, refusedCommits: counters[own] }),
      } as unknown as LocalActorSystem;
    });
    current.begin("eu-west1/one");
    current.begin("eu-west1/two");
    counters[0] = 3;
    expect(current.stats().refusedCommits).toBe(3);
    counters[1] = 1;
    current.begin("eu-west1/three");
    counters[1] = 2;
    counters[2] = 1;
    expect(current.stats().refusedCommits).toBe(6);
  });
});

import { describe, expect, it } from "vitest";
import { driveActor } from "../../actors/actor.fixture.ts";
import type { PushFacts } from "../../actors/messages/push.ts";
import { pushActor } from "../../actors/push/definition.ts";
import type { Ask } from "../../actors/system/definition.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { acceptPush } from "./accept-batch.ts";

const hourMs = 3_600_000;
const facts = { push_id: "bat_0", business_uuid: "b", records: 1 } as PushFacts;

function newPush() {
  const actor = driveActor(pushActor, "bat_0");
  const said: unknown[] = [];
  const ask: Ask = async (_to, command) => {
    const reply = actor.send(rubbish(command));
    said.push(reply);
    return rubbish(reply);
  };
  const accept = (stagingAtMs: number, acceptWithinMs?: number) =>
    acceptPush(
      part({ ask }),
      { kind: "push", id: "bat_0" },
      { facts, held_reasons: [], sealLeaf: "sha256:0", stagingAtMs, acceptWithinMs },
    );
  return { accept, said, nowMs: actor.nowMs };
}

describe("a push whose staging began long ago", () => {
  it("is not accepted, nothing of it applied; sent again it is (A1)", async () => {
    const { accept, said, nowMs } = newPush();
    const late = await accept(nowMs - hourMs - 1).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(StoreError);
    expect(late).toMatchObject({ effect: "not_applied" });
    await accept(nowMs - hourMs);
    expect(said).toEqual([{ status: "late" }, { status: "accepted", state: "queued" }]);
  });

  it("and was accepted meanwhile is as it was", async () => {
    const { accept, said, nowMs } = newPush();
    await accept(nowMs);
    await accept(nowMs - 2, 1);
    expect(said.at(-1)).toEqual({ status: "known", state: "queued" });
  });
});

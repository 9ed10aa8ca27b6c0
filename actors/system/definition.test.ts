import { describe, expect, expectTypeOf, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import type { AdmitReply } from "../messages/admission.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, CommandType, RegisterReply } from "../messages/protocol.ts";
import type { PushProtocol, PushReport } from "../messages/push.ts";
import { businessRef, pushRef } from "../messages/refs.ts";
import type { RowsReply } from "../messages/region.ts";
import type { ActorSystem, ActorView } from "./definition.ts";
import { counterActor } from "./world.fixture.ts";

const questions = (actors: ActorSystem) => ({
  status: actors.ask(pushRef("b", "p"), { type: "push.status", outcome: null, from_leaf: 0, limit: 1 }),
  block: actors.ask(businessRef("b"), { type: "group.block", group: "g" }),
  admit: actors.askSpeculative(businessRef("b"), {
    ...({ type: "push.admit", push_id: "p", key_id: "k", records: 1, may_hold: false, plan: null } as const),
  }).reply,
});
type Asked = ReturnType<typeof questions>;

describe("what is asked", () => {
  it("says what the answer is: its type follows from the actor's kind and the command", () => {
    expectTypeOf<Awaited<Asked["status"]>>().toEqualTypeOf<PushReport | null>();
    expectTypeOf<Awaited<Asked["block"]>>().toEqualTypeOf<RegisterReply>();
    expectTypeOf<Awaited<Asked["admit"]>>().toEqualTypeOf<AdmitReply>();
    expectTypeOf<RowsReply>().not.toExtend<Awaited<Asked["admit"]>>();
  });

  it("is a command of that kind, whole", () => {
    type ToPush = CommandOf<PushProtocol, CommandType<PushProtocol>>;
    expectTypeOf<{ type: "group.block"; group: string }>().not.toExtend<ToPush>();
    expectTypeOf<{ type: "push.references" }>().not.toExtend<CommandOf<PushProtocol, "push.references">>();
    expectTypeOf<"counter">().not.toExtend<KindOf<ActorProtocols>>();
  });
});

describe("a kind", () => {
  it.each(["nothing", "constructor", "toString", "__proto__"])("has no command %s, and says so", (type) => {
    const decide = () => counterActor.decide({ type }, part<ActorView>({}));
    expect(decide).toThrow(`kind counter has no command ${type}`);
    expect(counterActor.absent?.({ type })).toBeNull();
  });
});

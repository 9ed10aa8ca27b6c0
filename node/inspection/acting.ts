// Acts of operators on one actor or node, done by the node that has it.
//   AC1. The state that the operator expects is compared where the act is done, in the same turn of the event loop.
//   AC2. An act whose answer from another node is lost may have been done: the failure says so, and nothing is repeated.
//   AC3. A node of an earlier release that knows no such act has done nothing, and the failure says that.

import { businessRef, partsOf } from "../../actors/messages/refs.ts";
import { leavesOf } from "../../machines/chart.ts";
import type { ActorAct, ActorActing, ActResult, ExpectedState } from "../../ops/actor-acts.ts";
import type { Act } from "../../ops/shapes.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { NodeServices } from "../services.ts";
import type { NodeAnswer, NodeAsker } from "./node-asker.ts";

type ActingServices = Pick<NodeServices, "actors" | "cluster" | "config" | "incarnation" | "drain">;

/** What an operator saw, and who acts and why. */
export interface ActOrder {
  readonly expected: ExpectedState;
  readonly said: Act;
}

/** Acts on this node's own actors. */
export interface OwnActing {
  act(ref: ActorRef, act: ActorAct, order: ActOrder): Promise<ActResult>;
  drain(expected: { readonly state: string }): ActResult;
}

export function createOwnActing(services: ActingServices): OwnActing {
  const { actors } = services;
  return {
    act: async (ref, act, { expected, said }) => {
      const report = await actors.inspect(ref);
      if (report === null) return { refused: "unknown" };
      const changed = changeOf(report, expected);
      if (changed !== null) return { refused: "state_changed", detail: changed };
      if (act === "cancel") return cancel(services, ref, said);
      if (act === "release")
        return report.status === "quarantined" && actors.release(ref)
          ? { outcome: "released" }
          : notPossible("the actor is not quarantined.");
      if (act === "retry")
        return actors.retryNow(ref)
          ? { outcome: "retried" }
          : notPossible(
              "the actor is neither in memory nor waits for a restart; the store finds it due by itself.",
            );
      return actors.passivate(ref) ? { outcome: "leaving" } : notPossible("the actor is not in memory.");
    },
    drain: ({ state }) => {
      const now =
        services.cluster === null ? "standalone" : (services.cluster.membership.self()?.state ?? "leaving");
      if (now !== state) return { refused: "state_changed", detail: `The node is ${now} by now.` };
      services.drain();
      return { outcome: "draining" };
    },
  };
}

export function createActing(own: OwnActing, asker: NodeAsker): ActorActing {
  return {
    act: async (ref, act, order) => {
      const place = await asker.locate(ref);
      if (place.at === "nowhere" && place.detail !== null && place.detail !== "name_unknown")
        throw away(place.detail, "not_applied");
      if (place.at !== "node") return own.act(ref, act, order);
      return given(await asker.one(place.member, "operators.act", { ref, act, ...order }));
    },
    drain: async (incarnation, expected) => {
      const [answer] = await asker.all("operators.drain", { expected }, { region: null, node: incarnation });
      return answer === undefined ? { refused: "unknown" } : given(answer);
    },
  };
}

/** Throws where there is none (AC2, AC3). */
function given({ value, fault, isOlder }: NodeAnswer<ActResult>): ActResult {
  if (value !== null) return value;
  if (!isOlder) throw away(fault ?? "unknown", "unknown");
  const facts = { reason: "upgrading", retryAfterSeconds: 60, effect: "not_applied" } as const;
  throw new Unavailable(`the node did nothing: ${fault}`, facts);
}

function away(detail: string, effect: Unavailable["effect"]): Unavailable {
  return new Unavailable(`the actor's node does not answer: ${detail}`, {
    ...{ reason: "node", retryAfterSeconds: 2, effect },
  });
}

function notPossible(detail: string): ActResult {
  return { refused: "not_possible", detail };
}

/** What is different from what the operator saw; null if nothing is. */
function changeOf(
  report: { readonly status: string; readonly state: unknown; readonly head: number },
  { status, states, head }: ExpectedState,
): string | null {
  if (report.status !== status) return `The actor is ${report.status} by now.`;
  if (head !== undefined && report.head !== head) return `The actor has made ${report.head} commits by now.`;
  const now = leavesOf(report.state);
  if (states === undefined || [...states].sort().join() === [...now].sort().join()) return null;
  return `The actor is in ${now.join(", ")} by now.`;
}

/** Its business decides, since that also decides when the first records are published (service/cancel-push.ts). */
async function cancel({ actors }: ActingServices, { kind, id }: ActorRef, act: Act): Promise<ActResult> {
  const { party, own } = partsOf(id);
  if (kind !== "push" || party === "") return notPossible("only a push can be cancelled.");
  const { status } = await actors.ask(businessRef(party), { type: "push.cancel", push_id: own, act });
  return status === "cancelled"
    ? { outcome: "cancelled" }
    : notPossible("records of the push are already being published, or it is over.");
}

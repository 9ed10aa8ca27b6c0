// Asks nodes of the cluster, this one among them, for what operators want to know.
//   NA1. Every question to another node ends within two seconds: a node that does not answer is a fault in the answer, never an
//        error of the whole.
//   NA2. A node of an earlier release, which refuses a question that it does not know, was reached: that it cannot say is not
//        taken for a node that is away.

import type { Membership } from "../../cluster/membership.ts";
import type { ActorActing, ActResult } from "../../ops/cluster.ts";
import type { MissingNode } from "../../ops/inspection-shapes.ts";
import { isOlderNode } from "../../service/failure.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { Member } from "../../storage/cluster-store.ts";
import type { Acting, Process } from "../composition/capabilities.ts";
import type { Where } from "./look.ts";
import type { NodeQuestions, OwnActing, OwnNode } from "./own-node.ts";

type Question = keyof NodeQuestions;
type AnswerTo<Q extends Question> = Awaited<ReturnType<NodeQuestions[Q]>>;
type Members<Q extends Question> = Parameters<NodeQuestions[Q]> extends readonly [infer M] ? M : object;

export interface NodeAnswer<T> {
  readonly incarnation: string;
  readonly region: string;
  /** Null if it did not answer. */
  readonly value: T | null;
  /** Why it did not answer; null if it did. */
  readonly fault: string | null;
  /** Whether it was reached, and is of an earlier release, which does not know the question (NA2). */
  readonly isOlder: boolean;
}

type KnownMember = Pick<Member, "incarnation" | "address" | "state"> & { readonly region: string };

export type Place = Where &
  (
    | { readonly at: "here" | "nowhere"; readonly detail: string | null }
    | { readonly at: "node"; readonly member: Member }
  );

export interface NodeAsker {
  /** All members of all regions, this node first; a standalone node is the only one. */
  members(): readonly KnownMember[];
  /** Asks all nodes, or those of a region, or one. */
  all<Q extends Question>(
    type: Q,
    question: Members<Q>,
    only?: { readonly region: string | null; readonly node: string | null },
  ): Promise<readonly NodeAnswer<AnswerTo<Q>>[]>;
  one<Q extends Question>(member: Member, type: Q, question: Members<Q>): Promise<NodeAnswer<AnswerTo<Q>>>;
  /** Where the actor lives now; looks its home up if necessary. */
  locate(ref: ActorRef): Promise<Place>;
  /** The same, as far as it is known without a look-up. */
  whereIs(ref: ActorRef): Where;
}

const answerMs = 2_000;
const olderWords =
  "it is of an earlier release, which does not know this question yet; until it is upgraded, ask its own operators' surface";

export function createNodeAsker(services: Process & Acting, own: OwnNode): NodeAsker {
  const { cluster } = services;
  cluster?.answerOperators((question) => own.answer(question));
  const one: NodeAsker["one"] = (member, type, question) =>
    askOne(services, own, { member, type, question, region: regionOf(services, member) });
  return {
    members: () => membersOf(services, own),
    one,
    all: (type, question, only = { region: null, node: null }) =>
      Promise.all(
        membersOf(services, own)
          .filter(({ region }) => only.region === null || region === only.region)
          .filter(({ incarnation }) => only.node === null || incarnation === only.node)
          .map((member) => askOne(services, own, { member, type, question, region: member.region })),
      ),
    locate: async (ref) => {
      if (cluster === null) return { at: "here", ...own.where, detail: null };
      const first = placeOf(services, own, ref);
      if (first.at !== "nowhere" || first.detail !== "home_unknown") return first;
      await cluster.placement.settle(ref).catch(() => {});
      return placeOf(services, own, ref);
    },
    whereIs: (ref) => {
      const { region, node } = placeOf(services, own, ref);
      return { region, node };
    },
  };
}

interface Asked<Q extends Question> {
  readonly member: Pick<Member, "incarnation">;
  readonly region: string;
  readonly type: Q;
  readonly question: Members<Q>;
}

async function askOne<Q extends Question>(
  { cluster }: Acting,
  own: OwnNode,
  { member, region, type, question }: Asked<Q>,
): Promise<NodeAnswer<AnswerTo<Q>>> {
  const { incarnation } = member;
  const command = { ...(question as object), type };
  try {
    const target =
      cluster === null || incarnation === own.where.node
        ? null
        : findMember(cluster.membership, region, incarnation);
    const value =
      target === null || cluster === null
        ? await own.answer(command)
        : await cluster.router.askNode(target, command, answerMs);
    // A node answers a question as its release does; the shapes of the surface are checked in tests.
    return { incarnation, region, value: value as AnswerTo<Q>, fault: null, isOlder: false };
  } catch (error) {
    const isOlder = error instanceof Unavailable && isOlderNode(error);
    const fault = error instanceof Error ? error.message.slice(0, 300) : "unknown";
    return { incarnation, region, value: null, fault: isOlder ? olderWords : fault, isOlder };
  }
}

function findMember(membership: Membership, region: string, incarnation: string): Member {
  const found = membership.view(region).members.find((each) => each.incarnation === incarnation);
  if (found === undefined) throw new Error(`${incarnation} is not among the nodes of ${region}`);
  return found;
}

function membersOf({ cluster, config }: Process & Acting, own: OwnNode): readonly KnownMember[] {
  const { region, node } = own.where;
  if (cluster === null) return [{ incarnation: node, region, address: "", state: "active" }];
  const { membership, regionNames } = cluster;
  // One that lost its lease is no member until it joins again, and it is the one that is looked at. The view may still have
  // what it was before, at the same address.
  const { address } = membership;
  const self = { incarnation: node, region, address, state: membership.self()?.state ?? "joining" } as const;
  const others = regionNames.flatMap((name) =>
    membership.view(name).members.map((member) => ({ ...member, region: name })),
  );
  const isOwn = (each: KnownMember): boolean =>
    each.region === config.region && (each.incarnation === node || each.address === address);
  return [self, ...others.filter((each) => !isOwn(each))];
}

function regionOf({ cluster, config }: Process & Acting, member: Member): string {
  const found = cluster?.regionNames.find((name) =>
    cluster.membership.view(name).members.some(({ incarnation }) => incarnation === member.incarnation),
  );
  return found ?? config.region;
}

function placeOf({ cluster }: Acting, own: OwnNode, ref: ActorRef): Place {
  if (cluster === null) return { at: "here", ...own.where, detail: null };
  try {
    const located = cluster.placement.locate(ref);
    if (located.at === "here") return { at: "here", ...own.where, detail: null };
    const { at } = located;
    if (at === "nowhere") return { at, region: null, node: null, detail: located.reason };
    return { at, region: located.region, node: located.member.incarnation, member: located.member };
  } catch {
    return { at: "nowhere", region: null, node: null, detail: "name_unknown" };
  }
}

export function missingOf(
  answers: readonly {
    readonly incarnation: string;
    readonly region: string;
    readonly fault: string | null;
  }[],
): readonly MissingNode[] {
  return answers.flatMap(({ incarnation, region, fault }) =>
    fault === null ? [] : [{ incarnation, region, detail: fault }],
  );
}

// Acts of operators on one actor or node, done by the node that has it.
//   AC1. The state that the operator expects is compared where the act is done, in the same turn of the event loop.
//   AC2. An act whose answer from another node is lost may have been done: the failure says so, and nothing is repeated.
//   AC3. A node of an earlier release that knows no such act has done nothing, and the failure says that.

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
    reason: "node",
    retryAfterSeconds: 2,
    effect,
  });
}

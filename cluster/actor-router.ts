// Routes a call to the node that has its actor, for this node and for others. Routing only says where to look; it is the
// fence that ensures that only one node acts (membership.ts).
//   J1. An actor runs here only while placement says «here», and so only under a lease.
//   J2. A call that arrives for an actor that is not here looks it up once more, waits while the actor is between two nodes,
//       and is refused `not_here` (not applied) if it still is not here: it is never passed on.
//   J3. A caller that is refused this way, or could not send at all, looks the actor up again and retries once: if the
//       look-up was at fault, the second attempt arrives. A call whose effect is unknown is never repeated.
//   J4. Waiting is bounded by the caller's time-out and by `patienceMs`; if waiting is futile, the call fails at once, with the
//       time after which a retry is worthwhile.
//   J5. Every rejection by the router itself is a RemoteFailure with `not_applied`; other rejections are passed on unchanged.
//   J6. Another node may send an actor here only what may cross between nodes (actors/messages/crossing.ts).

import type { ActorRef } from "../actors/messages/refs.ts";
import type { Message } from "../actors/system/definition.ts";
import type { LocalActorSystem, TimerPort } from "../actors/system/ports.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { Unavailable } from "../std/unavailable.ts";
import type { Member } from "../storage/cluster-store.ts";
import {
  type Delivery,
  type RemoteFailure,
  type RemoteFailureReason,
  type RemoteTarget,
  remoteFailure,
  type TransportHandlers,
} from "../transport/actor-transport.ts";
import type { Membership } from "./membership.ts";
import type { Located, Placement } from "./placement.ts";
import type { Monotonic } from "./poller.ts";

export interface ActorRouterOptions {
  readonly placement: Placement;
  readonly membership: Membership;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  /** The actor system of the incarnation in force; null while there is none. */
  readonly local: () => Pick<LocalActorSystem, "askHere" | "deliver"> | null;
  /** Returns the connection to a member; called once for each member. */
  readonly targetOf: (member: Member) => RemoteTarget;
  /** Decides J6. */
  readonly mayCross: (kind: string, type: string, how: "ask" | "deliver") => boolean;
  /** Answers what another node asks this one for its operators; absent where nobody does. */
  readonly operators?: (command: Message) => Promise<unknown>;
  /** How long a call waits for an actor that is between two nodes, in milliseconds. */
  readonly patienceMs?: number;
}

export interface ActorRouter {
  /** Implements the actor system's option of the same name. */
  route(ref: ActorRef): "local" | RemoteTarget;
  /** Asks another node for this node's operators; rejects when there is no answer within `timeoutMs`. */
  askNode(member: Member, command: Message, timeoutMs: number): Promise<unknown>;
  /** For the transport: handles what other nodes request of this one (J2). */
  readonly handlers: TransportHandlers;
  /**
   * Tells the other members of the region that its view has changed; a member that is not reached finds out on its own. Resolves
   * when all members that were reached have looked, or after a second. Never rejects.
   */
  announce(): Promise<void>;
}

/** The name under which a node addresses another node's router; no actor has it. */
const routerName: ActorRef = { kind: "cluster", id: "view" };
/** Likewise, for what a node asks another for its operators. */
const operatorsName: ActorRef = { kind: "cluster", id: "operators" };
const lookCommand = { type: "view.look" };
const announceMs = 1_000;

const patienceMsDefault = 4_000;
/** Pause between two looks at an actor that is between two nodes. */
const pauseMs = 25;
/** Maximum number of look-ups started by `route` for actors that no caller waits for. */
const wantedMax = 256;
const targetsMax = 1_024;

type Found = Exclude<Located, { at: "nowhere" }>;

export function createActorRouter(options: ActorRouterOptions): ActorRouter {
  const { placement, membership, monotonic, targetOf, operators, patienceMs = patienceMsDefault } = options;
  const { find, within } = createFinder(options, patienceMs);
  const targets = new BoundedMap<string, RemoteTarget>(targetsMax);
  const wanted = new Set<string>();
  const want = (ref: ActorRef): void => {
    const name = `${ref.kind}/${ref.id}`;
    if (wanted.has(name) || wanted.size >= wantedMax) return;
    wanted.add(name);
    // A caller that needs an answer gets the same failure.
    settle(placement, { kind: ref.kind, id: ref.id })
      .catch(() => {})
      .finally(() => wanted.delete(name));
  };
  const memberTarget = (member: Member): RemoteTarget => {
    const known = targets.get(member.incarnation);
    if (known !== undefined) return known;
    const target = targetOf(member);
    targets.set(member.incarnation, target);
    return target;
  };
  const here = (): RemoteTarget => {
    const local = options.local();
    if (local === null) throw failure("draining", 1, "the node is between two lives");
    return {
      ask: (to, command, timeoutMs, traceparent) => local.askHere(to, command, timeoutMs, traceparent),
      deliver: (to, from, messages: readonly Delivery[]) => local.deliver(to, from, messages),
    };
  };
  /** Sends with at most one retry (J3). */
  const send = async <T>(
    to: ActorRef,
    timeoutMs: number,
    call: (target: RemoteTarget, leftMs: number) => Promise<T>,
  ): Promise<T> => {
    const lateMs = monotonic.nowMs() + timeoutMs;
    for (let isSecond = false; ; isSecond = true) {
      const found = await find(to, lateMs);
      const target = found.at === "here" ? here() : memberTarget(found.member);
      try {
        return await call(target, Math.max(1, lateMs - monotonic.nowMs()));
      } catch (error) {
        const reason = misplacement(error);
        if (reason === "unreachable") membership.suspect();
        if (reason === null || isSecond || monotonic.nowMs() >= lateMs) throw error;
        await within(membership.refresh(), lateMs);
      }
    }
  };
  /** J2: resolves with the remaining time once the actor is here. */
  const arrive = async (to: ActorRef, timeoutMs: number): Promise<number> => {
    const lateMs = monotonic.nowMs() + timeoutMs;
    let found = await find(to, lateMs);
    if (found.at === "node") {
      await within(membership.refresh(), lateMs);
      found = await find(to, lateMs);
    }
    if (found.at === "node") throw failure("not_here", 1, `it is at ${found.member.address}`);
    return Math.max(1, lateMs - monotonic.nowMs());
  };
  /** Throws for a message that must not cross (J6). */
  const assertCrossing = ({ kind }: ActorRef, how: "ask" | "deliver", said: readonly Message[]): void => {
    const odd = said.find(({ type }) => !options.mayCross(kind, type, how));
    if (odd === undefined) return;
    const name = JSON.stringify(odd.type.slice(0, 64));
    throw failure("refused", 1, `${name} is not a command that another node may send here`);
  };
  /** The target for every actor that is not here. */
  const elsewhere: RemoteTarget = {
    ask: (to, command, timeoutMs, traceparent) =>
      send(to, timeoutMs, (target, leftMs) => target.ask(to, command, leftMs, traceparent)),
    deliver: (to, from, messages) => send(to, patienceMs, (target) => target.deliver(to, from, messages)),
  };
  return {
    handlers: {
      ask: async (to, command, timeoutMs, traceparent) => {
        if (isName(to, routerName) && command.type === lookCommand.type) {
          await membership.refresh();
          return null;
        }
        if (isName(to, operatorsName) && operators !== undefined) return operators(command);
        assertCrossing(to, "ask", [command]);
        const leftMs = await arrive(to, timeoutMs);
        return here().ask(to, command, leftMs, traceparent);
      },
      deliver: async (to, from, messages) => {
        const said = messages.map(({ message }) => message);
        assertCrossing(to, "deliver", said);
        await arrive(to, patienceMs);
        return here().deliver(to, from, messages);
      },
    },
    route: (ref) => {
      const located = placement.locate(ref);
      if (located.at === "here") return "local";
      // A caller that only checks whether it is here, for pending work, finds it at the next look.
      if (located.at === "nowhere") want(ref);
      return elsewhere;
    },
    askNode: async (member, command, timeoutMs) =>
      memberTarget(member).ask(operatorsName, command, timeoutMs),
    announce: async () => {
      const { members } = membership.view(membership.region);
      const others = members.filter((member) => member.address !== membership.address);
      await Promise.allSettled(
        others.map(async (member) => memberTarget(member).ask(routerName, lookCommand, announceMs)),
      );
    },
  };
}

/** Looks for the places of actors, and waits for them. */
function createFinder({ monotonic, placement, timers }: ActorRouterOptions, patienceMs: number) {
  /** Waits for `work`, at most until `lateMs`. Throws what `work` throws within that time. */
  const within = async (work: Promise<void>, lateMs: number): Promise<void> => {
    const late = Promise.withResolvers<void>();
    const cancel = timers.schedule(Math.max(0, lateMs - monotonic.nowMs()), late.resolve);
    try {
      await Promise.race([work, late.promise]);
    } finally {
      cancel();
    }
  };
  /** Waits for a place while there may be one in a moment (J4). */
  const find = async (to: ActorRef, lateMs: number): Promise<Found> => {
    const patientMs = Math.min(lateMs, monotonic.nowMs() + patienceMs);
    let isLookedUp = false;
    for (;;) {
      const located = locate(placement, to);
      if (located.at !== "nowhere") return located;
      const { reason, retryAfterSeconds } = located;
      const isVain =
        reason === "region_lost" || reason === "no_nodes" || (reason === "home_unknown" && isLookedUp);
      if (isVain || monotonic.nowMs() >= patientMs) throw failure("not_here", retryAfterSeconds, reason);
      isLookedUp ||= reason === "home_unknown";
      await within(settle(placement, to), patientMs);
      if (locate(placement, to).at === "nowhere" && reason !== "home_unknown")
        await new Promise<void>((resolve) => void timers.schedule(pauseMs, resolve));
    }
  };
  return { find, within };
}

function isName(one: ActorRef, other: ActorRef): boolean {
  return one.kind === other.kind && one.id === other.id;
}

/** Locates an actor named by another node; the name may be anything. */
function locate(placement: Placement, to: ActorRef): Located {
  try {
    return placement.locate(to);
  } catch (error) {
    throw failure("refused", 1, error instanceof Error ? error.message : String(error));
  }
}

async function settle(placement: Placement, to: ActorRef): Promise<void> {
  try {
    await placement.settle(to);
  } catch (error) {
    throw failure("store", 1, error instanceof Error ? error.message : String(error));
  }
}

/** Why a call did not reach its actor although nothing was done; null for every other failure. */
function misplacement(error: unknown): "not_here" | "unreachable" | null {
  if (!(error instanceof Unavailable) || error.effect !== "not_applied") return null;
  return error.reason === "not_here" || error.reason === "unreachable" ? error.reason : null;
}

function failure(reason: RemoteFailureReason, retryAfterSeconds: number, detail: string): RemoteFailure {
  return remoteFailure(reason, { retryAfterSeconds, effect: "not_applied", detail });
}

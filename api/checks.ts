// Whose check is next: what anyone may have verified or looked up without an account is never refused for being too much; it
// waits. One instance for all surfaces, over two fair queues (std/fair-queue.ts) by address.
//   C1. A check is answered in its turn, and its body is read in its turn: until then no more of it is read than the
//       platform has read with its head. Bodies have more places than answers, since they take time and no work.
//   C2. What an address sends while it has many checks waits for its own. Others do not wait for it: one address never has
//       all places, and places go round the addresses.
//   C3. Each wait ends after `checkWaitMs` at most, and a wait that the node has no room for ends at once: 503.
//   C4. A body that arrives slowly keeps its place while nobody waits for it, and otherwise for `slowBodyMs`.
//   C5. Checks take the thread for about `stretchMs` in one turn of the event loop; further ones wait for the next, so that many
//       connections do not keep everything else waiting.
//   C6. A caller that is gone gives back what it had or waited for.

import type { IncomingMessage } from "node:http";
import { type Problem, problem } from "../protocol/problem.ts";
import { type Outcome, refused } from "../service/answer.ts";
import { type Decision, FairQueue, type FairQueueLimits } from "../std/fair-queue.ts";
import { addressBlock } from "../std/ip-address.ts";
import { createOwnerTurns, type EventLoop } from "../std/work.ts";
import { type BodyLimits, type BodyOutcome, hasBody, lengthFault, readBody } from "./body.ts";
import type { Edge } from "./edge.ts";
import type { HttpLimits } from "./http-limits.ts";
import { sourceOfRequest } from "./request-parts.ts";

export interface Checks {
  /** Answers in turn; what is answered when there is none says why. `owner` is who the check counts for. */
  answer(check: Check, work: () => Promise<Outcome> | Outcome): Promise<Outcome>;
  /** Reads a body in turn; its place is kept until the body is released. */
  readBody(check: Check, limits: BodyLimits): Promise<BodyOutcome>;
  usage(): { readonly waiting: number; readonly answering: number };
}

export interface Check {
  readonly request: IncomingMessage;
  /** The block of the address that the check comes from; empty if that is not known. */
  readonly owner: string;
}

/** All callers whose address is not known count as one. */
export function checkOf(request: IncomingMessage, edge: Pick<Edge, "sourceOf">): Check {
  const source = sourceOfRequest(request, edge);
  return { request, owner: source === null ? "" : addressBlock(source) };
}

/** How a wait that ends without a turn is counted. */
export type CheckRefusal = "late_checks" | "excess_checks";

/** The resolution of the limits of time; it is looked at only while somebody waits. */
const tickMs = 100;
const stretchMs = 0.5;
const retrySeconds = 5;

/** Turns for what anyone may ask without an account (C1 to C6). `refusedOne` counts what is turned away. */
export function createChecks(
  limits: HttpLimits,
  refusedOne: (kind: CheckRefusal) => void,
  loop: EventLoop,
): Checks {
  const common = {
    waitingMax: limits.checksWaitingMax,
    waitMs: limits.checkWaitMs,
    unsettledMs: limits.slowBodyMs,
  };
  const bodyPlaces = { placesMax: limits.checkBodiesMax, placesPerOwnerMax: limits.checkBodiesPerAddressMax };
  const answerPlaces = { placesMax: limits.checksMax, placesPerOwnerMax: limits.checksPerAddressMax };
  const bodies = new Turns({ ...common, ...bodyPlaces }, loop);
  const answers = new Turns({ ...common, ...answerPlaces }, loop);
  const inTurn = createOwnerTurns(stretchMs, loop);
  const refusal = (verdict: Refusal): Problem => {
    if (verdict === "gone") return gone;
    refusedOne(verdict === "late" ? "late_checks" : "excess_checks");
    return busy;
  };
  return {
    answer: async (check, work) => {
      const turn = await answers.take(check, true);
      if (!(turn instanceof Turn)) return refused(refusal(turn));
      try {
        return await inTurn(check.owner, async () => work());
      } finally {
        turn.end();
      }
    },
    readBody: async (check, bodyLimits) => {
      const { request, owner } = check;
      if (!hasBody(request) || lengthFault(request, bodyLimits) !== null)
        return readBody(request, bodyLimits, owner);
      const turn = await bodies.take(check, false);
      if (!(turn instanceof Turn)) return { ok: false, problem: refusal(turn) };
      const body = await readBody(request, { ...bodyLimits, place: turn }, owner);
      if (!body.ok) {
        turn.end();
        return body;
      }
      turn.settle();
      const release = (): void => {
        body.release();
        turn.end();
      };
      return { ...body, release };
    },
    usage: () => ({ waiting: bodies.waiting + answers.waiting, answering: answers.placed }),
  };
}

const busy = problem("unavailable", "Many checks wait for their turn; send the request again later.", {
  reason: "checks_waiting",
  retry_after_seconds: retrySeconds,
});
const gone = problem("request_timeout", "The connection ended before its turn.");

type Refusal = "full" | "late" | "gone";

/** A place in a queue, or the wait for one. */
class Turn {
  readonly #queue: Turns;
  /** Ends the wait. */
  decide: (verdict: "placed" | "full" | "late") => void = () => {};
  /** Called when the place is taken back from a body that arrives slowly. */
  onLost: () => void = () => {};

  constructor(queue: Turns) {
    this.#queue = queue;
  }

  settle(): void {
    this.#queue.settle(this);
  }

  end(): void {
    this.#queue.end(this);
  }
}

/** Drives a queue by the time of a loop. */
class Turns {
  readonly #queue: FairQueue<Turn>;
  readonly #loop: EventLoop;
  #isLooking = false;

  constructor(limits: FairQueueLimits, loop: EventLoop) {
    this.#queue = new FairQueue(limits);
    this.#loop = loop;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  get placed(): number {
    return this.#queue.placed;
  }

  /** At once, if there is a place. */
  take({ request: { socket }, owner }: Check, isSettled: boolean): Turn | Promise<Turn | Refusal> {
    if (socket.destroyed) return Promise.resolve("gone");
    const turn = new Turn(this);
    const decided = this.#queue.enter(turn, { owner, isSettled, nowMs: this.#loop.nowMs() });
    if (decided.some(({ holder, verdict }) => holder === turn && verdict === "placed")) return turn;
    const { promise, resolve } = Promise.withResolvers<Turn | Refusal>();
    const onGone = (): void => {
      this.end(turn);
      resolve("gone");
    };
    turn.decide = (verdict) => {
      socket.off("close", onGone);
      resolve(verdict === "placed" ? turn : verdict);
    };
    socket.once("close", onGone);
    this.#tell(decided);
    return promise;
  }

  settle(turn: Turn): void {
    this.#queue.settle(turn);
  }

  end(turn: Turn): void {
    this.#tell(this.#queue.leave(turn, this.#loop.nowMs()));
  }

  #tell(decided: readonly Decision<Turn>[]): void {
    for (const { holder, verdict } of decided) {
      if (verdict === "slow") holder.onLost();
      else holder.decide(verdict);
    }
    if (this.#queue.waiting === 0 || this.#isLooking) return;
    this.#isLooking = true;
    this.#loop.after(tickMs, this.#tick);
  }

  readonly #tick = (): void => {
    this.#isLooking = false;
    this.#tell(this.#queue.expire(this.#loop.nowMs()));
  };
}

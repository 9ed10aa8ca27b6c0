// What many callers ask for in one turn of the event loop, such as signatures. The first piece of work of a turn is done at once on this
// thread: that is quicker than asking another thread, and a lone caller waits for nothing. The other pieces of the turn are done
// together when it ends, in a thread if there are enough of them to be worth the round trip. What is done together goes on together, for
// example into one commit. So when many arrive in every turn, none is done ahead of the others, and while a list is in the thread
// the next one gathers.
//   G1. Every promise settles: a list that cannot be done rejects each of its pieces.
//   G2. A turn does at most `onLoopMax` + 1 pieces on this thread.
//   G3. A piece waits at most for the lists that are already in the thread, and for none once `listMax` have gathered, unless as many
//       lists as may be are in the thread.
//   G4. If more wait than are sent, lists are filled in turns that go round the owners.

import { OwnerQueue } from "../std/work.ts";

/** Up to this many gathered pieces are done on this thread when the turn ends; a turn with this many is busy. */
const onLoopMax = 2;
/** Pieces per list sent to the thread. More make several lists, so that the first callers need not wait for the last. */
const listMax = 32;

export interface ListWork<Piece, Done> {
  /** Does one piece on this thread. */
  readonly here: (piece: Piece) => Done;
  /** Does a list in the thread, in its order. */
  readonly away: (pieces: readonly Piece[]) => Promise<readonly Done[]>;
  /** How many lists may be in the thread at once. */
  readonly awayMax: number;
}

interface Waiting<Piece, Done> {
  readonly piece: Piece;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns a function that does a piece at once, or in a list; `owner` is whose it is (G4). */
export function createTurnLists<Piece, Done>({
  here,
  away,
  awayMax,
}: ListWork<Piece, Done>): (owner: string, piece: Piece) => Done | Promise<Done> {
  const waiting = new OwnerQueue<Waiting<Piece, Done>>();
  let gathered = 0;
  let endsTurn = false;
  let isBusy = false;
  let listsAway = 0;
  const take = (most: number): readonly Waiting<Piece, Done>[] => {
    const taken: Waiting<Piece, Done>[] = [];
    for (
      let next = waiting.next();
      next !== undefined;
      next = taken.length < most ? waiting.next() : undefined
    )
      taken.push(next.entry);
    gathered -= taken.length;
    return taken;
  };
  const endTurnLater = (): void => {
    endsTurn = true;
    setImmediate(endTurn);
  };
  const send = (list: readonly Waiting<Piece, Done>[]): void => {
    listsAway += 1;
    away(list.map(({ piece }) => piece))
      .then((done) => {
        if (done.length !== list.length) throw new Error("A list came back with another length.");
        for (const [index, { resolve }] of list.entries()) resolve(done[index] as Done);
      })
      .catch((error: unknown) => {
        for (const { reject } of list) reject(error);
      })
      .then(() => {
        listsAway -= 1;
        if ((listsAway === 0 ? gathered > 0 : gathered >= listMax) && !endsTurn) endTurnLater();
      });
  };
  const endTurn = (): void => {
    endsTurn = false;
    isBusy = gathered >= onLoopMax || listsAway > 0;
    if (listsAway > 0 && gathered < listMax) return;
    if (listsAway === 0 && gathered <= onLoopMax) {
      for (const { piece, resolve } of take(onLoopMax)) resolve(here(piece));
      return;
    }
    while (gathered > 0 && listsAway < awayMax) send(take(listMax));
  };
  return (owner, piece) => {
    if (!endsTurn) {
      endTurnLater();
      if (!isBusy) return here(piece);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    waiting.push(owner, { piece, resolve, reject });
    gathered += 1;
    return promise;
  };
}

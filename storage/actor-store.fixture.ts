// Helpers for the conformance suite of actor stores.

import {
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type PartitionRow,
  rowTable,
} from "./actor-store.ts";

export interface OpenActorStore {
  readonly store: ActorStore;
  /** Ends this handle as the loss of the process would, and reopens the same contents. */
  reopen(): Promise<OpenActorStore>;
  close(): Promise<void>;
}

let counter = 0;
/** An actor of a unique kind for each test, so that stores which keep their contents between runs can be used. */
export function freshRef(id = "one"): ActorRef {
  counter += 1;
  return { kind: `t${Date.now().toString(36)}-${counter}`, id };
}

/** Any string works as an operation id, except that Cassandra requires a UUID. */
export function operationId(number: number, epoch = 0): string {
  const [high, low] = [epoch, number].map((each) => each.toString(16).padStart(16, "0"));
  return `${high}${low}`.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function event(k: number, body = `{"n":${k}}`): PartitionRow {
  return { rt: rowTable.event, k, k2: "", body };
}

export function keyed(k: number, k2: string, body = "{}"): PartitionRow {
  return { rt: rowTable.firstKeyed, k, k2, body };
}

type Changes = Partial<
  Pick<
    ActorCommit,
    "op" | "epoch" | "puts" | "deletes" | "snapshot" | "wakeAtMs" | "forget" | "creates" | "with"
  >
>;

/** A commit that follows `head`, by default with an operation id that no other commit of the actor has. */
export function following(
  ref: ActorRef,
  head: Pick<ActorHead, "epoch" | "head" | "op">,
  changes: Changes = {},
): ActorCommit {
  return {
    ref,
    epoch: head.epoch,
    expectedHead: head.head,
    expectedOp: head.op,
    op: operationId(head.head + 1, head.epoch),
    puts: [],
    deletes: [],
    wakeAtMs: null,
    ...changes,
  };
}

export function after(commit: ActorCommit): Pick<ActorHead, "epoch" | "head" | "op"> {
  return { epoch: commit.epoch, head: commit.expectedHead + 1, op: commit.op };
}

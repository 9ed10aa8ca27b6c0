// A store of actors of which the benchmark watches the commits.

import type { ActorStore } from "../../storage/actor-store.ts";

export function withCommit(store: ActorStore, commit: ActorStore["commit"]): ActorStore {
  return {
    createsActors: store.createsActors,
    claim: (ref, owner) => store.claim(ref, owner),
    readRows: (ref, selections) => store.readRows(ref, selections),
    readHead: (ref) => store.readHead(ref),
    dueActors: (nowMs, limit) => store.dueActors(nowMs, limit),
    listActors: (kind, afterId, limit) => store.listActors(kind, afterId, limit),
    countActors: (kind, max) => store.countActors(kind, max),
    commit,
  };
}

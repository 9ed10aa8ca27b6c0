// Child process: durable calls through the actor system on Cassandra. On request it records the commits that the calls
// produced, for the floor to repeat.

import type { ActorCommit, ActorStore } from "../../storage/actor-store.ts";
import { openCassandraActorStore } from "../../storage/cassandra/actor-store.ts";
import { openCassandraSession } from "../../storage/cassandra/session.ts";
import { answerParent } from "../answer-parent.ts";
import type { EnginePlace } from "../floor/engine-serve.ts";
import { type CallLoad, type DurableResult, drive } from "./drive.ts";

export interface EngineLoad extends CallLoad {
  readonly place: EnginePlace;
}

export interface RecordedCommits {
  /** The commits in the order in which they were sent, without those of the actors' first calls. */
  readonly commits: readonly ActorCommit[];
}

async function withStore<T>({ place }: EngineLoad, work: (store: ActorStore) => Promise<T>): Promise<T> {
  const { cassandra, region, keyspace } = place;
  const session = await openCassandraSession({ contactPoints: [cassandra], localDc: region, keyspace });
  try {
    return await work(openCassandraActorStore(session, { region, now: Date.now }));
  } finally {
    await session.close();
  }
}

function run(load: EngineLoad): Promise<DurableResult> {
  return withStore(load, (store) => drive(load, store));
}

function record(load: EngineLoad): Promise<RecordedCommits> {
  return withStore(load, async (store) => {
    const commits: ActorCommit[] = [];
    let isRecording = false;
    const recording: ActorStore = {
      createsActors: store.createsActors,
      claim: (ref, owner) => store.claim(ref, owner),
      readRows: (ref, selections) => store.readRows(ref, selections),
      readHead: (ref) => store.readHead(ref),
      dueActors: (nowMs, limit) => store.dueActors(nowMs, limit),
      listActors: (kind, afterId, limit) => store.listActors(kind, afterId, limit),
      countActors: (kind, max) => store.countActors(kind, max),
      commit: (commit) => {
        if (isRecording) commits.push(commit);
        return store.commit(commit);
      },
    };
    await drive(load, recording, () => {
      isRecording = true;
    });
    return { commits };
  });
}

answerParent({ run, record });

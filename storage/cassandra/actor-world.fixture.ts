// A keyspace with the actor store's tables, and stores in it whose engine and clock the test controls.

import {
  type CassandraActorStore,
  type CassandraActorStoreOptions,
  openCassandraActorStore,
} from "./actor-store.ts";
import { FaultySession } from "./faulty-session.fixture.ts";
import { openTestKeyspace, type TestKeyspace, testRegions } from "./keyspace.fixture.ts";
import { actorTables } from "./migrations.ts";
import type { CassandraSession } from "./session.ts";

export interface ActorNode {
  readonly store: CassandraActorStore;
  readonly session: FaultySession;
}

export class ActorWorld implements AsyncDisposable {
  readonly keyspace: TestKeyspace;
  readonly #sessions = new Map<string, CassandraSession>();
  /** Unix milliseconds of every node's clock. */
  nowMs = Date.now();

  private constructor(keyspace: TestKeyspace) {
    this.keyspace = keyspace;
  }

  static async open(): Promise<ActorWorld> {
    return new ActorWorld(await openTestKeyspace(actorTables));
  }

  /** A node of `region`, whose conditional writes are agreed on in data centre `localDc`. */
  async node(
    options: Partial<CassandraActorStoreOptions> = {},
    localDc = testRegions[0],
  ): Promise<ActorNode> {
    const session = new FaultySession(await this.session(localDc));
    const defaults = { region: session.localDc, now: () => this.nowMs };
    return { session, store: openCassandraActorStore(session, { ...defaults, ...options }) };
  }

  /** One connection per data centre serves the whole test. */
  async session(localDc = testRegions[0]): Promise<CassandraSession> {
    const known = this.#sessions.get(String(localDc));
    if (known !== undefined) return known;
    const session = await this.keyspace.connect(localDc);
    this.#sessions.set(String(localDc), session);
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions.values()) await session.close();
    await this.keyspace[Symbol.asyncDispose]();
  }
}

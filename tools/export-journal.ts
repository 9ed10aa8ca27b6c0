// Writes the journals of actors to a file, as the start of a simulation: `npm run sim -- --journal FILE --seed N`.
// It reads through the store's port and claims nothing; of a node's home it reads a copy, so a running node is not disturbed.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { formatJournal, type JournalSource, readJournal } from "../service/log/journal-file.ts";
import { openCassandraActorStore } from "../storage/cassandra/actor-store.ts";
import { openCassandraRecordStore } from "../storage/cassandra/record-store.ts";
import { openCassandraSession } from "../storage/cassandra/session.ts";
import { openSqliteActorStore } from "../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../storage/sqlite/database.ts";
import { openSqliteRecordStore } from "../storage/sqlite/record-store.ts";

const usage = `node tools/run.mjs tools/export-journal.ts --out FILE [--party UUID]… and where from:
  --home DIR                         the home of a node with a store of its own
  --cassandra HOST[,HOST] --region DC --keyspace NAME [--user NAME] [--ca FILE]
                                     a cluster; the password is in SVC_CASSANDRA_PASSWORD
Only the actors of the parties named; of all without --party. The file holds no private keys; it does hold what
businesses published and asked for, so keep it as you keep the store.
`;

interface Opened {
  readonly source: Pick<JournalSource, "actors" | "records">;
  close(): Promise<void>;
}

async function openHome(home: string): Promise<Opened> {
  const path = join(home, "store.db");
  if (!existsSync(path)) throw new RangeError(`${path} is not there; name the home of a node`);
  const folder = mkdtempSync(join(tmpdir(), "svc-export-"));
  const copy = join(folder, "store.db");
  const source = new DatabaseSync(path, { readOnly: true });
  // All pages in one step, so that nothing changes in between.
  await backup(source, copy, { rate: -1 }).finally(() => source.close());
  const database = SqliteDatabase.open(copy);
  const actors = openSqliteActorStore(database, { now: Date.now });
  return {
    source: { actors, records: openSqliteRecordStore(database) },
    close: async () => {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Engines {
  readonly hosts: string;
  readonly region: string;
  readonly keyspace: string;
  readonly user: string | undefined;
  readonly ca: string | undefined;
}

async function openCassandra({ hosts, region, keyspace, user, ca }: Engines): Promise<Opened> {
  const password = process.env["SVC_CASSANDRA_PASSWORD"] ?? "";
  const session = await openCassandraSession({
    contactPoints: hosts.split(","),
    localDc: region,
    keyspace,
    ...(user === undefined ? {} : { credentials: { username: user, password } }),
    ...(ca === undefined ? {} : { tls: { ca: readFileSync(ca, "utf8") } }),
  });
  const actors = openCassandraActorStore(session, { region, now: Date.now, homeAllowed: () => false });
  return { source: { actors, records: openCassandraRecordStore(session) }, close: () => session.close() };
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      out: text,
      home: text,
      cassandra: text,
      region: text,
      keyspace: text,
      user: text,
      ca: text,
      party: { type: "string", multiple: true },
    },
  });
  const { out, home, cassandra, region, keyspace, user, ca, party } = values;
  if (out === undefined) throw new RangeError("name a file with --out");
  if ((home === undefined) === (cassandra === undefined))
    throw new RangeError("name one source: --home or --cassandra");
  if (cassandra !== undefined && (region === undefined || keyspace === undefined))
    throw new RangeError("--cassandra needs --region and --keyspace");
  const opened =
    home === undefined
      ? await openCassandra({
          hosts: cassandra ?? "",
          region: region ?? "",
          keyspace: keyspace ?? "",
          user,
          ca,
        })
      : await openHome(home);
  try {
    const parties = party === undefined ? null : new Set(party);
    const journal = await readJournal({ ...opened.source, nowMs: Date.now(), parties });
    writeFileSync(out, formatJournal(journal), { mode: 0o600 });
    console.log(`${journal.actors.length} actors, ${journal.staged.length} pushes with staged bytes: ${out}`);
  } finally {
    await opened.close();
  }
}

try {
  await main();
} catch (error) {
  const isAsked = error instanceof RangeError || error instanceof TypeError;
  console.error(isAsked ? `${error.message}\n\n${usage}` : error);
  process.exitCode = isAsked ? 2 : 1;
}

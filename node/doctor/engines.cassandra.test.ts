// The doctor with a real Cassandra that asks nobody for a password.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  hasCassandra,
  openTestKeyspace,
  type TestKeyspace,
  testRegions,
} from "../../storage/cassandra/keyspace.fixture.ts";
import { migrate, migrations } from "../../storage/cassandra/migrations.ts";
import { loadConfig, loadSecrets } from "../configuration/config.ts";
import { engineFindings } from "./examine.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace([]);
  });
  afterAll(() => keyspace?.[Symbol.asyncDispose]());

  async function found(now: () => number = Date.now): Promise<readonly string[]> {
    const env = {
      SVC_STORE: "cassandra",
      SVC_REGION: testRegions[0],
      SVC_CASSANDRA: (process.env["SVC_TEST_CASSANDRA"] ?? "").split(",")[0],
      SVC_CASSANDRA_KEYSPACE: keyspace.name,
      SVC_ELASTICSEARCH: "http://127.0.0.1:1",
      SVC_NODE_TLS_KEY_FILE: "/k",
      SVC_NODE_TLS_CERT_FILE: "/c",
      SVC_NODE_TLS_CA_FILE: "/ca",
    };
    const config = loadConfig({}, env);
    const findings = await engineFindings(config, loadSecrets(config, env), now);
    return findings.filter(({ where }) => where !== "SVC_ELASTICSEARCH").map(({ code }) => code);
  }

  it("names that it is open", async () => {
    expect(await found()).toEqual(["database_open"]);
  });

  it("names a clock that is off", async () => {
    expect(await found(() => Date.now() + 3_000)).toEqual(["database_open", "clock_off"]);
  });

  it("names a schema of a later release, and none of this one", async () => {
    const session = await keyspace.connect();
    await migrate(session);
    expect(await found()).toEqual(["database_open"]);
    const later = "CREATE TABLE IF NOT EXISTS of_a_later_release (id int PRIMARY KEY)";
    await migrate(session, [...migrations, [later]]);
    expect(await found()).toEqual(["database_open", "schema_newer"]);
    await session.close();
  });
});

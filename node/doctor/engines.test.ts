// The doctor with a misconfigured index cluster and a misconfigured Cassandra. Real engines: engines.cassandra.test.ts.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig, loadSecrets } from "../configuration/config.ts";
import { engineFindings, examine } from "./examine.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** The part of a cluster that the doctor queries: who the caller is. `roles` is null for a cluster without security. */
async function cluster(roles: readonly string[] | null, asksStrangers = true): Promise<string> {
  const server = createServer((asked, answer) => {
    answer.setHeader("x-elastic-product", "Elasticsearch").setHeader("content-type", "application/json");
    const isStranger = asked.headers.authorization === undefined;
    if (roles === null) answer.statusCode = 400;
    else if (isStranger && asksStrangers) answer.statusCode = 401;
    answer.end(JSON.stringify({ roles: roles ?? [] }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Findings about the index cluster; there is no Cassandra here. */
async function found(url: string): Promise<readonly string[]> {
  const env = {
    SVC_STORE: "cassandra",
    SVC_CASSANDRA: "127.0.0.1:1",
    SVC_ELASTICSEARCH: url,
    SVC_NODE_TLS_KEY_FILE: "/k",
    SVC_NODE_TLS_CERT_FILE: "/c",
    SVC_NODE_TLS_CA_FILE: "/ca",
    SVC_ELASTICSEARCH_USERNAME: "svc_node",
    SVC_ELASTICSEARCH_PASSWORD: "2f3c8a1e5b7d92046",
  };
  const config = loadConfig({}, env);
  const findings = await engineFindings(config, loadSecrets(config, env), Date.now);
  return findings.map(({ code, where }) => `${code} ${where}`);
}

const noCassandra = "database_unreachable SVC_CASSANDRA";

describe("an index cluster", () => {
  it("that asks strangers for a password and gives the nodes a role of their own is right", async () => {
    expect(await found(await cluster(["svc_node"]))).toEqual([noCassandra]);
  });

  it("without security, or with an anonymous user, is open", async () => {
    const open = [noCassandra, "database_open SVC_ELASTICSEARCH"];
    expect(await found(await cluster(null))).toEqual(open);
    expect(await found(await cluster(["svc_node"], false))).toEqual(open);
  });

  it("whose nodes are superusers is named", async () => {
    const superuser = [noCassandra, "database_superuser SVC_ELASTICSEARCH_USERNAME"];
    expect(await found(await cluster(["svc_node", "superuser"]))).toEqual(superuser);
  });

  it("that does not answer is named", async () => {
    expect(await found("http://127.0.0.1:1")).toEqual([
      noCassandra,
      "database_unreachable SVC_ELASTICSEARCH",
    ]);
  });
});

it("says nothing to an engine that a node would not speak to (D2)", async () => {
  const asked: string[] = [];
  const server = createServer((request, answer) => {
    asked.push(request.headers.authorization ?? "");
    answer.end("{}");
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const env = {
    SVC_ENVIRONMENT: "production",
    SVC_STORE: "cassandra",
    SVC_HOME: "/nowhere",
    SVC_CASSANDRA: "127.0.0.1:1",
    SVC_CASSANDRA_INSECURE: "yes",
    SVC_ELASTICSEARCH: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SVC_ELASTICSEARCH_USERNAME: "svc_node",
    SVC_ELASTICSEARCH_PASSWORD: "2f3c8a1e5b7d92046",
  };
  const findings = await examine({ env, now: Date.now, engines: true, node: null });
  expect(findings.map(({ where }) => where)).toContain("SVC_ELASTICSEARCH_INSECURE");
  expect(asked).toEqual([]);
});

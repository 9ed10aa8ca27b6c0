// The node's own connection to Cassandra, with a server that is not what it should be.

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { type CassandraTls, openCassandraSession } from "../../storage/cassandra/session.ts";
import { makeCertificate } from "../../transport/ws/certificate.fixture.ts";

const real = makeCertificate("cassandra.internal");
const attacker = makeCertificate("cassandra.internal");
const other = makeCertificate("elsewhere.internal");
const client = makeCertificate("node of the service");
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

interface Seen {
  readonly port: number;
  readonly bytes: () => number;
}

/** Accepts TLS connections, keeps what is sent to it and closes them. */
async function listen(
  identity: { readonly key: string; readonly cert: string },
  clients?: string,
): Promise<Seen> {
  let bytes = 0;
  const server = createServer(
    {
      ...identity,
      ...(clients === undefined ? {} : { ca: clients, requestCert: true, rejectUnauthorized: true }),
    },
    (socket) => {
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        bytes += chunk.length;
        socket.destroy();
      });
    },
  );
  server.on("tlsClientError", () => {});
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, bytes: () => bytes };
}

async function connect({ port }: Seen, tls: CassandraTls): Promise<string> {
  const connection = {
    contactPoints: [`127.0.0.1:${port}`],
    localDc: "eu-west1",
    credentials: { username: "svc", password: "the-production-password" },
    tls,
    readTimeoutMs: 500,
    keyspace: "svc",
  };
  return openCassandraSession(connection).then(
    () => "connected",
    (error: Error) => error.message,
  );
}

describe("TLS to Cassandra", () => {
  it("says nothing to a server whose certificate another authority issued (T1)", async () => {
    const server = await listen(attacker);
    expect(await connect(server, { ca: real.ca, serverName: "cassandra.internal" })).toMatch(/self-signed/);
    expect(server.bytes()).toBe(0);
  });

  it("says nothing to a server whose certificate names another one (T2)", async () => {
    const server = await listen(other);
    expect(await connect(server, { ca: other.ca, serverName: "cassandra.internal" })).toMatch(
      /altname|does not match/,
    );
    expect(server.bytes()).toBe(0);
    const byAddress = await listen(real);
    expect(await connect(byAddress, { ca: real.ca })).toMatch(/altname|does not match/);
    expect(byAddress.bytes()).toBe(0);
  });

  it("begins to speak to the server that it was meant for", async () => {
    const server = await listen(real);
    await connect(server, { ca: real.ca, serverName: "cassandra.internal" });
    expect(server.bytes()).toBeGreaterThan(0);
  });

  it("shows its own certificate to a server that asks for one", async () => {
    const asking = await listen(real, client.ca);
    const trust = { ca: real.ca, serverName: "cassandra.internal" };
    await connect(asking, trust);
    expect(asking.bytes()).toBe(0);
    await connect(asking, { ...trust, client: { key: client.key, cert: client.cert } });
    expect(asking.bytes()).toBeGreaterThan(0);
  });
});

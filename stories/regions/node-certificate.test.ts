// How a node reacts at its start to a certificate that no other node would accept as its own.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readTls } from "../../node/composition/engine-stores.ts";
import type { ClusterConfig } from "../../node/configuration/cluster-config.ts";
import { makeCertificate } from "../../transport/ws/certificate.fixture.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-certificate-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(hosts: readonly string[], address: string, change = (cert: string) => cert) {
  const { key, cert, ca } = makeCertificate("a.cluster.internal", hosts);
  const files = { key, cert: change(cert), ca };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const [keyFile, certFile, caFile] = ["key", "cert", "ca"].map((name) => join(folder, name));
  return readTls({ address, tls: { keyFile, certFile, caFile } } as unknown as ClusterConfig);
}

it.each([
  [["10.0.0.5"], "10.0.0.5:7400"],
  [["a.cluster.internal"], "a.cluster.internal:7400"],
  [["10.0.0.4", "a.cluster.internal"], "a.cluster.internal:7400"],
])("names %j and is reached at %s: it starts", async (hosts, address) => {
  expect(await read(hosts, address)).toMatchObject({ cert: expect.stringContaining("BEGIN CERTIFICATE") });
});

it.each([
  [
    ["10.0.0.6"],
    "10.0.0.5:7400",
    /names IP Address:10\.0\.0\.6, but the others reach this node at 10\.0\.0\.5/,
  ],
  [["b.cluster.internal"], "a.cluster.internal:7400", /SVC_NODE_TLS_CERT_FILE: .*names DNS:b/],
  [[], "a.cluster.internal:7400", /names no host/],
  [["10.0.0.5"], "[fd00::5]:7400", /reach this node at fd00::5/],
])("names %j and is reached at %s: it does not start", async (hosts, address, said) => {
  await expect(read(hosts, address)).rejects.toThrow(said);
});

it("is no certificate: it does not start", async () => {
  await expect(read([], "10.0.0.5:7400", () => "PEM")).rejects.toThrow(/holds no certificate/);
});

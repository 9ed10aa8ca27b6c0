// A node's transparency log before judges that others wrote: the code of Go's checksum database (tools/log-judge) and Tessera's
// fsck, over the node's own addresses, and over a server that changes one byte.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { root, startProcess } from "../tools/process.ts";
import { witnessedAs } from "../verifier/log.ts";
import { type AttackNode, batchBody, newBusiness, openAttackNode, publishOver } from "./attack.fixture.ts";
import { product } from "./publishing.fixture.ts";

const hasGo = spawnSync("go", ["version"]).status === 0;
if (!hasGo) console.warn("NOT TESTED: no Go on this machine, so nobody else judged the log.");

let folder = "";
let node: AttackNode;
let [origin, key, stored] = ["", "", ""];

const sizeOf = (note: string): number => Number(note.split("\n")[1]);
const checkpoint = async (): Promise<string> =>
  await (await fetch(`${node.running.urls.verify_url}/checkpoint`)).text();

async function run(command: string, args: readonly string[], cwd = root) {
  const started = startProcess(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  started.child.stdout?.on("data", (chunk) => (out += String(chunk)));
  started.child.stderr?.on("data", (chunk) => (err += String(chunk)));
  return { code: (await started.closed).code, out, err };
}

async function build(name: string, args: readonly string[]): Promise<void> {
  const built = await run("go", ["build", "-o", join(folder, name), ...args], join(root, "tools/log-judge"));
  expect(built).toMatchObject({ code: 0 });
}

async function push(business: Awaited<ReturnType<typeof newBusiness>>, seq: number): Promise<void> {
  const before = sizeOf(await checkpoint());
  const { body } = await batchBody(business, [product(`r${seq}`, { product_name: "A kettle" })], { seq });
  await publishOver(node, business, body);
  await vi.waitUntil(async () => sizeOf(await checkpoint()) > before, { timeout: 60_000, interval: 200 });
}

const judge = (url: string) => run(join(folder, "log-judge"), [url, origin, key, stored]);

/** Tessera's own end is always 0, so what it says is what counts. */
async function fsck(url: string): Promise<boolean> {
  const named = [`--storage_url=${url}/`, `--origin=${origin}`, `--public_key=${join(folder, "key")}`];
  const { err } = await run(join(folder, "fsck"), [...named, "--ui=false", "-v=1"]);
  return /Completed ranges/i.test(err) && !/fsck failed/i.test(err);
}

/** The node's log with one byte changed in every answer below a path. */
async function tampered(path: string): Promise<{ url: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    const answer = await fetch(`${node.running.urls.verify_url}${request.url}`);
    const body = Buffer.from(await answer.arrayBuffer());
    // In a checkpoint it is one of the root: witnesses' lines follow, which these judges do not read.
    const inRoot = body.indexOf("\n", body.indexOf("\n") + 1) + 9;
    const at = path === "/checkpoint" ? inRoot : Math.floor(body.length / 2);
    if (request.url?.startsWith(path)) body[at] = (body[at] ?? 0) ^ 1;
    response.writeHead(answer.status).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe.skipIf(!hasGo && process.env["CI"] === undefined)("a log before other people's judges", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-judges-"));
    await build("log-judge", ["."]);
    await build("fsck", ["-tags", "pinned", "github.com/transparency-dev/tessera/cmd/fsck"]);
    vi.stubEnv("SVC_LOG_INTERVAL_SECONDS", "0");
    node = await openAttackNode();
    const line = witnessedAs(node.running.services.trust())[0] ?? "";
    [origin = "", key = ""] = line.split(" ");
    await writeFile(join(folder, "key"), `${key}\n`);
    const business = await newBusiness(node);
    await push(business, 1);
    stored = join(folder, "stored");
    await writeFile(stored, await checkpoint());
    await node.restart();
    await push(business, 2);
  }, 300_000);

  afterAll(async () => {
    vi.unstubAllEnvs();
    await node?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("is accepted, and continues the checkpoint from before a restart", async () => {
    const url = node.running.urls.verify_url;
    const judged = await judge(url);
    expect(judged).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(judged.out)).toMatchObject({ consistency: 1 });
    expect(await fsck(url)).toBe(true);
  });

  it.each(["/checkpoint", "/tile/0/", "/tile/entries/"])(
    "is refused with a byte changed in %s",
    async (path) => {
      const { url, close } = await tampered(path);
      try {
        expect((await judge(url)).code).toBe(1);
        expect(await fsck(url)).toBe(false);
      } finally {
        close();
      }
    },
  );
});

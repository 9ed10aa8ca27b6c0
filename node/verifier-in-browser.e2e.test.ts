// The verifier in a real browser: the same evidence, the same anchors, the same report as in Node.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectEvidence } from "../client/evidence.ts";
import { createSvcClient } from "../client/service-client.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import { utf8 } from "../protocol/bytes.ts";
import { verifyEvidence } from "../verifier/verifier.ts";
import { type RunningNode, startNode } from "./start.ts";

const browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);
if (browser === undefined) {
  console.warn("NOT TESTED: no Chromium on this machine, so the verifier was not run in a browser.");
}

let home = "";
let node: RunningNode;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-browser-"));
  node = await startNode({ home, portBase: 0, logLevel: "error" });
  await node.seeded;
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

async function evidenceOfSample(): Promise<string> {
  const seeded = await node.seeded;
  const key = seeded?.sandbox.ai_companies[0]?.keys[0];
  if (!seeded || !key) throw new Error("The sandbox has an AI company.");
  const signingKey = await parseSigningKey(key.private_jwk);
  if (!signingKey.ok) throw new Error(signingKey.detail);
  const client = createSvcClient({
    baseUrl: node.urls.base_url,
    businessUrl: node.urls.business_url,
    verifyUrl: node.urls.verify_url,
    key: signingKey.value,
    grant: key.grant,
    fetch,
  });
  const fetched = await client.fetchRecord(seeded.exampleRecordId ?? "");
  return collectEvidence(client, fetched, { environment: "sandbox", keyId: key.key_id });
}

/** One script for the page: the verifier as it is, without a build step of its own. */
async function bundle(): Promise<string> {
  const entry = join(home, "entry.ts");
  const verifier = new URL("../verifier/verifier.ts", import.meta.url).pathname;
  await writeFile(
    entry,
    `import { verifyEvidence } from ${JSON.stringify(verifier)};
     const [anchors, evidence] = await Promise.all(["/anchors", "/evidence"].map((path) => fetch(path).then((answer) => answer.text())));
     const tampered = evidence.replace('"language":"en"', '"language":"de"');
     const reports = [evidence, tampered].map((text) => verifyEvidence({ anchors: JSON.parse(anchors) }, new TextEncoder().encode(text)));
     document.body.textContent = JSON.stringify(reports);`,
  );
  const built = await build({
    input: entry,
    write: false,
    platform: "browser",
    output: { format: "esm" },
    resolve: { extensions: [".ts", ".js"] },
    cwd: new URL("..", import.meta.url).pathname,
  });
  return built.output[0].code;
}

async function servePage(
  files: Readonly<Record<string, string>>,
): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    const body = files[request.url ?? ""];
    const type =
      request.url === "/" ? "text/html" : request.url === "/verifier.js" ? "text/javascript" : "text/plain";
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type }).end(body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
}

function textOfPage(path: string, url: string): Promise<string> {
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(path, [
      ...flags,
      `--user-data-dir=${join(home, "browser")}`,
      "--virtual-time-budget=60000",
      "--dump-dom",
      url,
    ]);
    let dom = "";
    child.stdout.on("data", (chunk: Buffer) => {
      dom += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", () => resolve(/<body>(.*)<\/body>/s.exec(dom)?.[1] ?? dom));
  });
}

describe("the verifier", () => {
  it.skipIf(browser === undefined && process.env["CI"] === undefined)(
    "says in a browser what it says in Node",
    async () => {
      const evidence = await evidenceOfSample();
      const { anchors } = node.services;
      const page = await servePage({
        "/": '<!doctype html><body></body><script type="module" src="/verifier.js"></script>',
        "/verifier.js": await bundle(),
        "/anchors": JSON.stringify(anchors),
        "/evidence": evidence,
      });
      const text = await textOfPage(browser ?? "", page.url);
      page.close();
      const [genuine, tampered] = JSON.parse(
        text.replaceAll("&amp;", "&").replaceAll("&lt;", "<").replaceAll("&gt;", ">"),
      );
      expect(genuine).toEqual(JSON.parse(JSON.stringify(verifyEvidence({ anchors }, utf8(evidence)))));
      expect(genuine.valid).toBe(true);
      expect(tampered.valid).toBe(false);
    },
  );
});

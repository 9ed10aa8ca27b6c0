// The verifier in a real browser: the same evidence, the same anchors, the same report as in Node.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { evidenceOf } from "../../client/evidence.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { findBrowser, runInBrowser } from "../../tools/browser.ts";
import * as statedModule from "../../verifier/stated-answer.ts";
import { verifyEvidence } from "../../verifier/verifier.ts";
import { proofsOf, serveRecord } from "./proof-file.fixture.ts";

const browser = findBrowser();
if (browser === null) {
  console.warn("NOT TESTED: no Chromium on this machine, so the verifier was not run in a browser.");
}

let home = "";
let node: RunningNode;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-browser-"));
  vi.stubEnv("SVC_LOG_INTERVAL_SECONDS", "0");
  node = await startNode({ home, portBase: 0, logLevel: "error" });
  await node.seeded;
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

interface Sample {
  readonly evidence: string;
  /** The same of another record, with the proofs of the log. */
  readonly proofs: string;
  /** Saved answers whose statement the service signed, with its key set. */
  readonly stated: { readonly keySet: unknown; readonly answers: readonly string[] };
}

async function readSample(): Promise<Sample> {
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
  const evidence = await evidenceOf(client, fetched, { environment: "sandbox", keyId: key.key_id });
  const { key_set: keySet, record_base64, fetched: body } = JSON.parse(evidence);
  const page = new URL(/verify=(\S+)$/.exec(body.provenance.source_line)?.[1] ?? "");
  const { verify_url: verifyUrl } = node.urls;
  const init = { method: "POST", body: JSON.stringify({ record_base64, seal: body.seal }) };
  const answers = await Promise.all(
    [
      fetch(`${verifyUrl}/v1/verify`, init),
      fetch(`${verifyUrl}${page.pathname}${page.search}`),
      fetch(`${verifyUrl}/.well-known/svc-keys`),
    ].map(async (answer) => (await answer).text()),
  );
  const proofs = await proofsOf(await serveRecord({ running: node }));
  return { evidence, proofs, stated: { keySet, answers } };
}

interface Verdict {
  readonly valid: boolean;
  readonly complete: boolean;
}

/** The reports on answers and on the same with a word changed; the page runs it from its text. */
function statedReports(
  { anchors, stated }: { readonly anchors: Anchors; readonly stated: Sample["stated"] },
  reader: Pick<typeof statedModule, "statedAnswer" | "verifyStatedAnswer">,
) {
  const changed = stated.answers.map((text) =>
    text.replace('"v":1', '"v":2').replace('"valid":true', '"valid":false'),
  );
  return [stated.answers, changed].map((texts) =>
    texts.map((text) => {
      const answer = reader.statedAnswer(new TextEncoder().encode(text));
      return answer === null
        ? null
        : reader.verifyStatedAnswer({ anchors, keySet: stated.keySet as JsonValue }, answer, { at: "" });
    }),
  );
}

describe("the verifier", () => {
  it.skipIf(browser === null && process.env["CI"] === undefined)(
    "says in a browser what it says in Node",
    async () => {
      const { evidence, proofs, stated } = await readSample();
      const { anchors } = node.services;
      const [genuine, tampered, proven, unproven, answers] = (await runInBrowser({
        browser: browser ?? "",
        modules: ["verifier/verifier.ts", "verifier/stated-answer.ts"],
        files: {
          "/anchors": JSON.stringify(anchors),
          "/evidence": evidence,
          "/proofs": proofs,
          "/stated": JSON.stringify(stated),
        },
        run: `async ({ verifyEvidence }, reader) => {
          ${statedReports}
          const read = (path) => fetch(path).then((answer) => answer.text());
          const [anchors, evidence, stated, proofs] = await Promise.all(["/anchors", "/evidence", "/stated", "/proofs"].map(read));
          const tampered = evidence.replace('"language":"en"', '"language":"de"');
          const otherProofs = proofs.replace(/"leaf_index":(.)/, (all, digit) => '"leaf_index":' + ((Number(digit) + 1) % 10));
          const reports = [evidence, tampered, proofs, otherProofs].map((text) =>
            verifyEvidence({ anchors: JSON.parse(anchors) }, new TextEncoder().encode(text)));
          const answers = statedReports({ anchors: JSON.parse(anchors), stated: JSON.parse(stated) }, reader);
          return [...reports, answers];
        }`,
      })) as readonly [Verdict, Verdict, Verdict, Verdict, unknown];
      expect(genuine).toEqual(JSON.parse(JSON.stringify(verifyEvidence({ anchors }, utf8(evidence)))));
      expect(genuine.valid).toBe(true);
      expect(tampered.valid).toBe(false);
      expect(proven).toEqual(JSON.parse(JSON.stringify(verifyEvidence({ anchors }, utf8(proofs)))));
      expect([proven.valid, proven.complete, unproven.valid]).toEqual([true, true, false]);
      expect(answers).toEqual(JSON.parse(JSON.stringify(statedReports({ anchors, stated }, statedModule))));
      const valid = (answers as readonly (readonly { valid: boolean }[])[]).map((each) =>
        each.map((report) => report.valid),
      );
      expect(valid).toEqual([
        [true, true, true],
        [false, false, false],
      ]);
    },
  );
});

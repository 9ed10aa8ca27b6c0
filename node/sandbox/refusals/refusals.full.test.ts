// Every documented refusal, provoked as a stranger would: with a freshly started node, its `sandbox.json`, and HTTP.

import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readProblemWords } from "../../../api/pages/docs.ts";
import { parseSigningKey } from "../../../client/signing-key.ts";
import { exactMember } from "../../../protocol/json/strict-json.ts";
import { type ProblemCode, problemCodes } from "../../../protocol/problem.ts";
import { reasonCodes } from "../../../protocol/reason-codes.ts";
import { root } from "../../../tools/process.ts";
import { type RunningNode, startNode } from "../../composition/start.ts";
import { isAsNamed, refusals, untried } from "./refusals.ts";
import { openTrial, type Refused, type Trial, trialProduct, trialSearch } from "./trial.ts";

let home = "";
let node: RunningNode;
let trial: Trial;
/** It takes a quarter of a minute, so it is started before the others. */
let slow: Promise<Refused>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-refusals-"));
  node = await startNode({ home, portBase: 0, logLevel: "silent" });
  await node.seeded;
  trial = openTrial(JSON.parse(await readFile(join(home, "sandbox.json"), "utf8")));
  slow = refusals.find(({ name }) => name === "request_timeout")?.attempt(trial) as Promise<Refused>;
}, 60_000);
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

interface Expected {
  readonly code: string;
  readonly reason?: string;
  readonly status: number | null;
}

const offline = [
  "post_quantum_required",
  "trust_chain_broken",
  "receipt_caller_mismatch",
  "receipt_row_mismatch",
  "entitlement_expired",
];
const withReason: readonly string[] = ["seal_invalid", "rate_limited"];

function expectedOf(name: string): Expected {
  const [kind = "", code = "", ...more] = name.split("/");
  if (kind === "verify") return { code, status: offline.includes(code) ? null : 200 };
  if (kind === "record") return { code, status: 200 };
  expect(more).toEqual([]);
  const { status } = problemCodes[kind as ProblemCode];
  return { code: kind, status, ...(withReason.includes(kind) && code !== "" ? { reason: code } : {}) };
}

describe("a refusal that can be tried", () => {
  it.each(refusals.filter(({ name }) => name !== "request_timeout"))(
    "$name: $how",
    async ({ name, attempt }) => {
      const refused = await attempt(trial);
      expect(refused).toMatchObject(expectedOf(name));
      expect(isAsNamed(name, refused)).toBe(true);
    },
  );

  it("request_timeout", async () => {
    expect(await slow).toMatchObject({ status: 408, code: "request_timeout" });
  }, 30_000);

  it("is named once, and none that is said to be untried", () => {
    const names = refusals.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => name in untried)).toEqual([]);
  });
});

describe("what the trials do not refuse", () => {
  it("is a sample key that was not registered, from its first request with its grant on", async () => {
    const { businesses, ai_companies: companies, base_url, business_url } = trial.sandbox;
    const words = "No request has brought its grant yet";
    const keys = [
      ...businesses.flatMap((each) => each.integration_keys.map((key) => ({ key, isBusiness: true }))),
      ...companies.flatMap((each) => each.keys.map((key) => ({ key, isBusiness: false }))),
    ].filter(({ key }) => key.note.startsWith(words));
    expect(keys.map(({ key, isBusiness }) => `${key.alg} ${isBusiness}`)).toEqual([
      "Ed25519 true",
      "ES256 true",
      "Ed25519 false",
      "ES256 false",
    ]);
    for (const { key, isBusiness } of keys) {
      const parsed = await parseSigningKey(key.private_jwk);
      if (!parsed.ok) throw new Error(parsed.detail);
      const question = isBusiness
        ? { url: `${business_url}/v1/seal-context`, tag: "svc-business-read" as const }
        : { url: `${base_url}/v1/search`, body: trialSearch() };
      const ask = (grant: string | null) => trial.send({ ...question, caller: { key: parsed.value, grant } });
      expect(await ask(null)).toMatchObject({ status: 401, json: { code: "key_unknown" } });
      expect(await ask(key.grant)).toMatchObject({ status: 200 });
      expect(await ask(null)).toMatchObject({ status: 200 });
    }
  });

  it("is a batch that was sealed four minutes ago, on a node that has just started", async () => {
    const { publisher } = await trial.everyday;
    const sealedAtMs = Date.now() - 240_000;
    const answer = await trial.publish(publisher, [trialProduct("tried-early")], { seal: { sealedAtMs } });
    expect(answer).toMatchObject({ status: 200, json: { results: [{ errors: [] }] } });
  });

  it.each(["lastlight", "overmoor"])(
    "are the records that %s published before its certificate ended",
    async (name) => {
      const { searcher } = await trial.everyday;
      const body = JSON.stringify({
        collection: "products",
        q: `lantern ${name}`,
        filter: { all: [{ country: "IE" }] },
        sort_by: "_text_match:desc",
      });
      const { base_url, verify_url } = trial.sandbox;
      const found = await trial.send({ url: `${base_url}/v1/search`, caller: searcher, body });
      const [row] = found.json["rows"] as readonly { readonly record_id: string }[];
      const fetched = await trial.send({ url: `${base_url}/v1/records/${row?.record_id}`, caller: searcher });
      const record = Buffer.from(exactMember(fetched.text, "record") ?? "").toString("base64");
      const evidence = {
        record_base64: record,
        seal: fetched.json["seal"],
        sidecar: fetched.json["sidecar"],
      };
      const verified = await trial.send({ url: `${verify_url}/v1/verify`, body: JSON.stringify(evidence) });
      expect(verified.json).toMatchObject({ valid: true });
    },
  );
});

describe("the documents", () => {
  const read = (name: string): string => readFileSync(join(root, "docs", name), "utf8");
  const names = new Set([...refusals.map(({ name }) => name), ...Object.keys(untried)]);

  it("name no problem, no reason and no fault of a record that is neither tried nor said to be untried", () => {
    const problems = readProblemWords(read("problems.md"));
    const faults = /\nCodes inside a record [^:]*:([\s\S]*)$/.exec(read("problems.md"));
    const codes = (text: string): readonly string[] =>
      [...text.matchAll(/`([a-z_]+)`/g)].map(([, code = ""]) => code);
    const documented = [
      ...problems.map(({ code }) => code),
      ...codes(faults?.[1] ?? "").map((code) => `record/${code}`),
    ];
    expect(documented.length).toBeGreaterThan(Object.keys(problemCodes).length);
    const all = [...documented, ...Object.keys(problemCodes), ...reasonCodes.map((code) => `verify/${code}`)];
    expect(all.filter((name) => !names.has(name))).toEqual([]);
  });

  it("list those that cannot be tried, with the reason", () => {
    const lines = new Set(read("sandbox.md").split("\n"));
    const left = Object.entries(untried).map(([name, why]) => `| \`${name}\` | ${why} |`);
    expect(left.filter((row) => !lines.has(row))).toEqual([]);
  });
});

// The audit log of a node under failing disks and readers.

import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseSigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { mergeAudit, type OwnAudit } from "../../ops/inspection.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { sandboxKeyFacts } from "../../service/authentication/sandbox-grants.ts";
import { type RunningNode, startNode } from "../composition/start.ts";
import { createAuditReads, openAuditLog } from "./audit-log.ts";

let home: string;
let node: RunningNode | null = null;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "svc-audit-"));
  delete process.env["SVC_AUDIT_TO"];
});
afterEach(async () => {
  await node?.[Symbol.asyncDispose]();
  node = null;
  rmSync(home, { recursive: true, force: true });
});

const path = (name = "audit.log"): string => join(home, name);
const textOf = (name?: string): string => readFileSync(path(name), "utf8");
const linesOf = (name?: string): readonly Record<string, unknown>[] =>
  textOf(name)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const open = () => openAuditLog({ auditTo: "file", home, region: "eu-west1" });

describe("reading it", () => {
  const read = (before: string | null, limit: number) =>
    createAuditReads({ auditTo: "file", home })({ before, limit });
  const line = (at: number, msg: string, more = "") =>
    `${JSON.stringify({ level: 30, time: new Date(at).toISOString(), audit: true, region: "eu-west1", msg, more })}\n`;

  it("gives pages, newest first, that leave nothing out where entries have one moment (AR1)", async () => {
    expect(await read(null, 2)).toEqual({ readable: true, entries: [] });
    const moments = [1, 2, 2, 2, 3, 4, 4, 5];
    // Long lines, so that they cross the chunks in which the file is read.
    const long = "x".repeat(30_000);
    for (const [index, at] of moments.entries()) appendFileSync(path(), line(at, `e${index}`, long));
    const seen: string[] = [];
    for (let before: string | null = null; ; ) {
      const own: OwnAudit = await read(before, 2);
      const merged = mergeAudit([{ node: "n", page: own }], 2);
      seen.push(...merged.entries.map(({ event }) => event));
      before = merged.next_before;
      if (before === null) break;
    }
    expect(seen).toEqual(["e7", "e6", "e5", "e4", "e3", "e2", "e1", "e0"]);
  });

  it("leaves out what is no entry, and says where there is nothing to read (AR2)", async () => {
    writeFileSync(path(), `${line(1, "first")}{"cut": tr\nnull\n${line(2, "second")}{"level":30,"ti`);
    const { entries } = await read(null, 9);
    expect(entries.map(({ event }) => event)).toEqual(["second", "first"]);
    expect(await createAuditReads({ auditTo: "stdout", home })({ before: null, limit: 9 })).toEqual({
      readable: false,
      entries: [],
    });
  });

  it("merges the nodes' pages to one, cut between two moments", () => {
    const page = (...ats: readonly string[]): OwnAudit => ({
      readable: true,
      entries: ats.map((at) => ({ at, event: at, region: "r", detail: {} })),
    });
    const merged = mergeAudit(
      [
        { node: "a", page: page("5", "3", "3") },
        { node: "b", page: page("4", "1") },
        { node: "c", page: { readable: false, entries: [] } },
      ],
      2,
    );
    expect(merged.entries.map(({ at, node }) => `${at}${node}`)).toEqual(["5a", "4b"]);
    expect([merged.next_before, merged.unreadable]).toEqual(["4", ["c"]]);
    expect(mergeAudit([{ node: "a", page: page("2") }], 2).next_before).toBeNull();
  });
});

describe("an audit log in a file", () => {
  it("has each line when it returns, and is its owner's alone (L1)", () => {
    const audit = open();
    audit.record("first", { by: "Ada" });
    expect(linesOf()).toMatchObject([{ audit: true, region: "eu-west1", msg: "first", by: "Ada" }]);
    audit.record("second", {});
    expect(linesOf()).toHaveLength(2);
    expect(statSync(path()).mode & 0o077).toBe(0);
  });

  it("is begun again where it was moved away, and loses no line (L2)", () => {
    const audit = open();
    audit.record("first", {});
    renameSync(path(), path("audit.log.1"));
    audit.record("second", {});
    audit.record("third", {});
    expect(linesOf("audit.log.1")).toMatchObject([{ msg: "first" }]);
    expect(linesOf()).toMatchObject([{ msg: "second" }, { msg: "third" }]);
  });

  it("ends what was cut of a line before the next one (L3)", () => {
    const audit = open();
    audit.record("first", {});
    appendFileSync(path(), '{"cut');
    audit.record("second", {});
    const [first, cut, second, ...more] = textOf().trim().split("\n");
    expect(cut).toBe('{"cut');
    expect([first, second].map((line) => JSON.parse(line ?? "").msg)).toEqual(["first", "second"]);
    expect(more).toEqual([]);
  });

  it("says that it cannot be written, each time (L1)", () => {
    const audit = open();
    symlinkSync("/dev/full", path());
    for (let time = 0; time < 2; time += 1) expect(() => audit.record("first", {})).toThrow(/ENOSPC/);
  });
});

/** A process that records on request, and reports the result on standard error. */
function recorder() {
  const module = pathToFileURL(join(import.meta.dirname, "audit-log.ts")).href;
  const script = `
    const { openAuditLog } = await import(${JSON.stringify(module)});
    const audit = openAuditLog({ auditTo: "stdout", home: ".", region: "eu-west1" });
    console.error("ready");
    process.stdin.on("data", (data) => {
      for (const _ of data) {
        try { audit.record("told", { pad: "x".repeat(500) }); console.error("recorded"); }
        catch (error) { console.error(error.code); }
      }
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
  let said = "";
  child.stderr.on("data", (data) => {
    said += String(data);
  });
  const outcomes = (): readonly string[] =>
    said.split("\n").filter((line) => /^(ready|recorded|E[A-Z]+)$/.test(line));
  return { child, outcomes, tell: (times: number) => child.stdin.write("x".repeat(times)) };
}

describe("an audit log on standard output", () => {
  it("has each line, and says each time that nobody reads it any more (L1)", async () => {
    const { child, outcomes, tell } = recorder();
    let read = "";
    child.stdout.on("data", (data) => {
      read += String(data);
    });
    await expect.poll(outcomes, { timeout: 30_000 }).toEqual(["ready"]);
    tell(1);
    await expect.poll(() => read.endsWith("\n")).toBe(true);
    expect(JSON.parse(read)).toMatchObject({ audit: true, msg: "told" });
    child.stdout.destroy();
    tell(3);
    await expect.poll(() => outcomes().slice(2)).toEqual(["EPIPE", "EPIPE", "EPIPE"]);
    child.kill();
  });
});

describe("a node whose audit log cannot be written", () => {
  const start = async (): Promise<RunningNode> => {
    const samples = process.env["SVC_SAMPLES"];
    process.env["SVC_SAMPLES"] = "no";
    try {
      return await startNode({ home, portBase: 0, logLevel: "silent" });
    } finally {
      if (samples === undefined) delete process.env["SVC_SAMPLES"];
      else process.env["SVC_SAMPLES"] = samples;
    }
  };

  it("does no act until it can be (and then does)", async () => {
    node = await start();
    const uuid = "10000000-0000-4000-8000-00000000000a";
    const key = await parseSigningKey(generatePrivateJwk("Ed25519"));
    if (!key.ok) throw new Error(key.detail);
    const { keyId, publicJwk: jwk } = key.value;
    const { parties } = node.services;
    const facts = { uuid, kind: "ai_company", legal_name: "Test", country: "GB", group: uuid } as const;
    await parties.open({ ...facts, blocked_groups: [] });
    const validFrom = "2026-01-01T00:00:00.000Z";
    await parties.registerKey(sandboxKeyFacts({ keyId, partyUuid: uuid, role: "retrieval", jwk, validFrom }));
    const revoke = () =>
      fetch(`${node?.urls.ops_url}/ops/keys/${keyId}/revoke`, {
        method: "POST",
        headers: {
          authorization: signedIn(textOf("ops-token").trim()),
          "content-type": "application/json",
        },
        body: JSON.stringify({ reason: "It was found." }),
      });
    renameSync(path(), path("audit.log.1"));
    symlinkSync("/dev/full", path());
    const refused = await revoke();
    expect([refused.status, await refused.json()]).toMatchObject([503, { reason: "audit_log" }]);
    expect((await parties.facts(uuid, keyId)).key).toBe("live");
    rmSync(path());
    expect((await revoke()).status).toBe(200);
    expect((await parties.facts(uuid, keyId)).key).toBe("revoked");
    await expect.poll(() => linesOf().map(({ msg }) => msg)).toEqual(["ops.asked", "ops.acted"]);
  });

  it("does not start, and says so", async () => {
    symlinkSync("/dev/full", path());
    await expect(start()).rejects.toThrow(/^SVC_AUDIT_TO: .*ENOSPC/);
    expect(existsSync(path("ops-url"))).toBe(false);
  });
});

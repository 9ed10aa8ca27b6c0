// The issuance process as a separate process, and what it signs, refuses and records.

import { type ChildProcess, spawn } from "node:child_process";
import {
  appendFile,
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { exitCodes } from "../../cli/command.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { HostedKeys } from "../../crypto/port.ts";
import { hashOf, toBase64, utf8 } from "../../protocol/bytes.ts";
import { pae, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { type Certificate, certificatePayload } from "../../protocol/keys/certificate.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { keyCustodyPayload } from "../../protocol/keys/key-directory.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { failureAnswer } from "../../service/failure.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { root } from "../../tools/process.ts";
import { verifyKeyCustody } from "../../verifier/business-keys.ts";
import { verifyCertificate } from "../../verifier/certificate.ts";
import type { Trust } from "../../verifier/trust.ts";
import { parseIssuanceAddress, parseKeyConfig } from "../configuration/key-config.ts";
import { createHostedKeys, secretIn } from "./hosted-keys.ts";
import { createRemoteHostedKeys, createRemoteIssuance } from "./issuance-client.ts";
import { type IssuanceProcessOptions, startIssuance } from "./issuance-server.ts";
import { makeProductionKeys, type ProductionKeys } from "./production-keys.fixture.ts";
import { loadSecret, writeSecret } from "./secret-file.ts";
import { loadAnchors, loadKeySet } from "./trusted-files.ts";

const startMs = 30_000;
const uuid = "11111111-1111-4111-8111-111111111111";
let folder: string;
let made: ProductionKeys;
let trust: Trust;
let secret: string;
const running: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-issuance-"));
  made = await makeProductionKeys(join(folder, "keys"), { region: "eu-west1", nowMs: Date.now() });
  for (const file of ["anchors.json", "key-set.json"])
    await copyFile(made.path(file), join(made.path("issuance"), file));
  const anchors = await loadAnchors(made.path("anchors.json"), "production");
  ({ trust } = await loadKeySet(made.path("key-set.json"), anchors));
  await mkdir(join(folder, "clients"));
  await writeSecret(join(folder, "clients", "node-a.secret"));
  await writeSecret(join(folder, "clients", "node-b.secret"));
  secret = await loadSecret(join(folder, "clients", "node-a.secret"));
});
afterEach(async () => {
  for (const child of running.splice(0)) await end(child, "SIGTERM");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts `svc keys serve-issuance`; resolves with its address, or with its last output if it ended. */
async function serve(...more: readonly string[]): Promise<string> {
  const args = ["--keys", made.path("issuance"), "--clients", join(folder, "clients")];
  const program = [
    "cli/main.ts",
    "keys",
    "serve-issuance",
    ...args,
    "--audit",
    join(folder, "audit.log"),
    ...more,
  ];
  const child = spawn(process.execPath, program, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  let said = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const late = setTimeout(() => reject(new Error(`not ready: ${said}`)), startMs);
  const take = (chunk: Buffer): void => {
    said += chunk.toString();
    const [, address] = /Issuing with \S+ \+ \S+ at (\S+)/.exec(said) ?? [];
    if (address !== undefined) resolve(address);
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  child.once("exit", (code) => resolve(`${code}: ${said.trim()}`));
  return promise.finally(() => clearTimeout(late));
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("exit", resolve);
  child.kill(signal);
  return promise;
}

function issuanceAt(address: string, changes: Partial<Parameters<typeof createRemoteIssuance>[0]> = {}) {
  const { issuance } = parseKeyConfig({ SVC_ISSUANCE: address, SVC_ISSUANCE_SECRET_FILE: "x" }, "production");
  if (issuance === null) throw new Error("no address");
  return createRemoteIssuance({
    address: issuance.address,
    secret,
    trust: () => trust,
    environment: "production",
    clock: { now: Date.now },
    ...changes,
  });
}

const certificate = (changes: Partial<Certificate> = {}): Uint8Array => {
  const now = formatTimestamp(Date.now());
  return certificatePayload({
    v: 1,
    subject: { kind: "business", uuid },
    legal_name: "Nordlicht GmbH",
    country: "DE",
    verified_since: now,
    status: "active",
    status_effective_from: now,
    issued_at: now,
    previous: null,
    ...changes,
  });
};

const custody = (issuedAt = formatTimestamp(Date.now())): Uint8Array =>
  keyCustodyPayload({
    v: 1,
    business_uuid: uuid,
    key_id: "k".repeat(43),
    custody: "self",
    issued_at: issuedAt,
    effective_from: issuedAt,
  });

async function auditLines(): Promise<readonly Record<string, unknown>[]> {
  const text = await readFile(join(folder, "audit.log"), "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Bypasses the client, which would not request what may not be issued. */
function post(
  address: string,
  body: string,
  headers: Record<string, string> = { authorization: `Bearer ${secret}` },
  path = "/issue",
): Promise<number> {
  const [host, port] = address.split(":");
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request({ host, port, path, method: "POST", headers, agent: false });
  asked.once("response", (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  asked.once("error", reject);
  asked.end(body);
  return promise;
}

const documentOf = (payloadType: string, payload: Uint8Array): string =>
  JSON.stringify({ payload_type: payloadType, payload: toBase64(payload) });

const options = (changes: Partial<IssuanceProcessOptions> = {}): IssuanceProcessOptions => ({
  keys: made.path("issuance"),
  clients: join(folder, "clients"),
  audit: join(folder, "never.log"),
  listen: { host: "127.0.0.1", port: 0 },
  environment: "production",
  clock: { now: Date.now },
  ...changes,
});

describe("the issuance process", () => {
  it("signs certificates and custody statements that verify, over a port and over a Unix socket", async () => {
    for (const listen of ["127.0.0.1:0", `unix:${join(folder, "issuance.sock")}`]) {
      const issuance = issuanceAt(await serve("--listen", listen));
      const issued = await issuance.issue(payloadTypes["certificate.v1"], certificate());
      const stated = await issuance.issue(payloadTypes["key-custody.v1"], custody());
      if (!issued.ok || !stated.ok) throw new Error("refused");
      expect(verifyCertificate(trust, rubbish(issued.value))).toMatchObject({ ok: true });
      expect(verifyKeyCustody(trust, rubbish(stated.value))).toMatchObject({ ok: true });
      for (const child of running.splice(0)) expect(await end(child, "SIGTERM")).toBe(exitCodes.done);
    }
  });

  it("lets its own user and its group reach the socket, and nobody else", async () => {
    const socket = join(folder, "group.sock");
    await serve("--listen", `unix:${socket}`);
    expect((await stat(socket)).mode & 0o777).toBe(0o660);
  });

  it("takes the place of one that was killed, but not of one that runs", async () => {
    const listen = `unix:${join(folder, "taken.sock")}`;
    expect(await serve("--listen", listen)).toBe(listen);
    expect(await serve("--listen", listen)).toMatch(/^2: --listen: .*EADDRINUSE.*name another address$/);
    for (const child of running.splice(0)) await end(child, "SIGKILL");
    expect(await serve("--listen", listen)).toBe(listen);
  });

  it("writes a line about each signature before it gives it out, after what a crash left of a line", async () => {
    await appendFile(join(folder, "audit.log"), '{"at":"cut of');
    const payload = certificate({ legal_name: "Audit AG" });
    await issuanceAt(await serve("--listen", "127.0.0.1:0")).issue(payloadTypes["certificate.v1"], payload);
    const text = await readFile(join(folder, "audit.log"), "utf8");
    const line = JSON.parse(text.trim().split("\n").at(-1) ?? "");
    expect(line).toMatchObject({
      asked_by: "node-a",
      outcome: "signed",
      kind: "certificate",
      subject: uuid,
      says: "active",
      payload_type: payloadTypes["certificate.v1"],
      payload_hash: hashOf(payload, nativeCrypto.sha256),
    });
    expect(line.key_ids).toHaveLength(2);
    await rm(join(folder, "audit.log"));
  });

  it("begins its log again where the file was moved away, so that no line is lost with it", async () => {
    const at = issuanceAt(await serve("--listen", "127.0.0.1:0"));
    const issue = () => at.issue(payloadTypes["certificate.v1"], certificate({ legal_name: "Moved AG" }));
    await issue();
    await rename(join(folder, "audit.log"), join(folder, "audit.log.1"));
    await issue();
    for (const name of ["audit.log.1", "audit.log"]) {
      const text = await readFile(join(folder, name), "utf8");
      expect(text.trim().split("\n")).toHaveLength(1);
      await rm(join(folder, name));
    }
  });

  it.runIf(process.platform === "linux")(
    "gives out no signature that the audit log did not take",
    async () => {
      await using issuance = await startIssuance(options({ audit: "/dev/full" }));
      if ("socket" in issuance.address) throw new Error("unreachable");
      const address = `${issuance.address.host}:${issuance.address.port}`;
      expect(await post(address, documentOf(payloadTypes["certificate.v1"], certificate()))).toBe(503);
      await expect(issuanceAt(address).issue(payloadTypes["certificate.v1"], certificate())).rejects.toThrow(
        /signed nothing: it answered 503/,
      );
    },
  );

  it("signs nothing that is not a certificate or a custody statement of its environment, issued now", async () => {
    const address = await serve("--listen", "127.0.0.1:0");
    const type = payloadTypes["certificate.v1"];
    const longAgo = formatTimestamp(Date.now() - 600_000);
    const refused: readonly (readonly [string, Uint8Array])[] = [
      [payloadTypes["receipt.v3"], certificate()],
      [payloadTypes["key-set.v1"], utf8("{}")],
      [payloadTypes["key-certificate.v1"], utf8("{}")],
      [payloadTypes["key-custody.v1"], certificate()],
      [type, custody()],
      [type, utf8("{}")],
      [type, certificate({ sandbox: true })],
      [type, certificate({ status: "withdrawn" })],
      [type, certificate({ issued_at: longAgo })],
      [type, certificate({ issued_at: formatTimestamp(Date.now() + 600_000) })],
      [payloadTypes["key-custody.v1"], custody(longAgo)],
    ];
    for (const [payloadType, payload] of refused) {
      expect(await post(address, documentOf(payloadType, payload))).toBe(422);
      expect(await issuanceAt(address).issue(payloadType, payload)).toMatchObject({
        code: "issuance_refused",
      });
    }
    const lines = await auditLines();
    expect(lines.map(({ outcome }) => outcome)).toEqual(refused.map(() => "refused"));
    expect(lines[0]).toMatchObject({ asked_by: "node-a", payload_hash: hashOf(refused[0]?.[1] ?? utf8("")) });
    await rm(join(folder, "audit.log"));
  });

  it("answers nobody who cannot show a node's secret, and reads no more than it must", async () => {
    const address = await serve("--listen", "127.0.0.1:0");
    const body = documentOf(payloadTypes["certificate.v1"], certificate());
    for (const headers of [
      {},
      { authorization: "Bearer " },
      { authorization: `Bearer ${secret.slice(1)}A` },
    ] as const)
      expect(await post(address, body, { ...headers })).toBe(401);
    expect(await post(address, body, undefined, "/sign")).toBe(404);
    for (const wrong of ["", "{", "null", '{"payload_type":1}', JSON.stringify({ payload: "!" })])
      expect(await post(address, wrong)).toBe(400);
    expect(await post(address, JSON.stringify({ payload_type: "x".repeat(40_000), payload: "" }))).toBe(400);
    expect(await readFile(join(folder, "audit.log"), "utf8")).toBe("");
    const stranger = issuanceAt(address, { secret: "s".repeat(43) });
    await expect(stranger.issue(payloadTypes["certificate.v1"], certificate())).rejects.toThrow(
      /does not know this node/,
    );
  });

  it("is away: the node is told so, may ask again, and its caller gets 503", async () => {
    const address = await serve("--listen", "127.0.0.1:0");
    const issuance = issuanceAt(address);
    for (const child of running.splice(0)) await end(child, "SIGKILL");
    const error = await issuance
      .issue(payloadTypes["certificate.v1"], certificate())
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Unavailable);
    expect((error as Error).message).toMatch(/^The issuance process signed nothing: it cannot be reached/);
    expect(failureAnswer(error)).toMatchObject({
      problem: { status: 503, reason: "issuance", retry_after_seconds: 5 },
    });
  });

  it("is not believed when what it signs does not verify under the node's key set", async () => {
    const other = await makeProductionKeys(join(folder, "other"), { region: "eu-west1", nowMs: Date.now() });
    const set = await loadKeySet(
      other.path("key-set.json"),
      await loadAnchors(other.path("anchors.json"), "production"),
    );
    const issuance = issuanceAt(await serve("--listen", "127.0.0.1:0"), { trust: () => set.trust });
    await expect(issuance.issue(payloadTypes["certificate.v1"], certificate())).rejects.toThrow(
      /does not verify under this node's key set \(key_unknown\)/,
    );
  });
});

describe("the keys that the issuance process holds for businesses", () => {
  const of = { business_uuid: uuid, generation: 0 };
  const confirmation = "c".repeat(43);
  const sealOf = (keyId: string, changes: object = {}): Uint8Array =>
    canonicalBytes({
      v: 2,
      key_id: keyId,
      cert_id: hashOf(utf8("certificate")),
      hash: hashOf(utf8("record")),
      sealed_at: formatTimestamp(Date.now()),
      record_type: "products",
      ai_policy_version: 0,
      ...changes,
    });
  const hostedAt = (address: string, by = secret) => {
    const asked = parseKeyConfig({ SVC_ISSUANCE: address, SVC_ISSUANCE_SECRET_FILE: "x" }, "production");
    if (asked.issuance === null) throw new Error("no address");
    return createRemoteHostedKeys({ address: asked.issuance.address, secret: by });
  };
  const started = async (changes: Partial<IssuanceProcessOptions> = {}) => {
    const audit = join(folder, "hosted.log");
    const process = await startIssuance(options({ audit, ...changes }));
    if ("socket" in process.address) throw new Error("unreachable");
    const address = `${process.address.host}:${process.address.port}`;
    const lines = async () =>
      (await readFile(audit, "utf8"))
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
    const dispose = async () => {
      await process[Symbol.asyncDispose]();
      await rm(audit, { force: true });
    };
    return { address, keys: hostedAt(address), lines, [Symbol.asyncDispose]: dispose };
  };

  it("are the same after a restart and on every machine with the secret, and others for others", async () => {
    const idsAt = async (keys: HostedKeys) => {
      const next = { ...of, generation: 1 };
      const other = { ...of, business_uuid: uuid.replace("1", "2") };
      return Promise.all([of, next, other].map(async (each) => thumbprint(await keys.publicKey(each))));
    };
    const elsewhere = join(folder, "elsewhere");
    await cp(made.path("issuance"), elsewhere, { recursive: true });
    const ids = [];
    for (const keys of [made.path("issuance"), elsewhere]) {
      await using process = await started({ keys });
      ids.push(await idsAt(process.keys));
    }
    expect(ids[1]).toEqual(ids[0]);
    expect(new Set(ids[0]).size).toBe(3);
    const jwk = await (await FileKeyStore.open(elsewhere)).load("hosted");
    const from = { secret: (jwk && secretIn(jwk)) ?? new Uint8Array(), clock: { now: Date.now } };
    const sandbox = createHostedKeys({ ...from, environment: "sandbox" });
    expect(await idsAt(createHostedKeys({ ...from, environment: "production" }))).toEqual(ids[0]);
    for (const id of await idsAt(sandbox)) expect(ids[0]).not.toContain(id);
  });

  it("seal a record once and for all, and not before the audit log has it", async () => {
    await using process = await started();
    const jwk = await process.keys.publicKey(of);
    const payload = sealOf(thumbprint(jwk));
    const [first, again] = [
      await process.keys.seal(of, { payload, confirmation }),
      await process.keys.seal(of, { payload, confirmation }),
    ];
    if (!first.ok) throw new Error(first.detail);
    expect(again).toEqual(first);
    const [signature] = first.value.signatures;
    const message = pae(payloadTypes["seal.v2"], payload);
    const sig = Uint8Array.fromBase64(signature?.sig ?? "");
    expect(nativeCrypto.verify(jwk, message, sig)).toBe(true);
    expect((await process.lines())[0]).toMatchObject({
      asked_by: "node-a",
      outcome: "signed",
      kind: "hosted_seal",
      subject: uuid,
      confirmation,
      payload_hash: hashOf(payload),
      key_ids: [thumbprint(jwk)],
    });
  });

  it.runIf(process.platform === "linux")("seal nothing that the audit log did not take", async () => {
    await using full = await startIssuance(options({ audit: "/dev/full" }));
    if ("socket" in full.address) throw new Error("unreachable");
    const keys = hostedAt(`${full.address.host}:${full.address.port}`);
    const payload = sealOf(thumbprint(await keys.publicKey(of)));
    await expect(keys.seal(of, { payload, confirmation })).rejects.toMatchObject({ reason: "hosted_key" });
  });

  it("seal records of their own business alone, sealed now", async () => {
    await using process = await started();
    const own = thumbprint(await process.keys.publicKey(of));
    const other = thumbprint(await process.keys.publicKey({ ...of, business_uuid: uuid.replace("1", "2") }));
    const next = thumbprint(await process.keys.publicKey({ ...of, generation: 1 }));
    const refused = [
      sealOf(other),
      sealOf(next),
      sealOf(own, { record_type: "ai_policy" }),
      sealOf(own, { record_type: "ads" }),
      sealOf(own, { record_type: "mandates" }),
      sealOf(own, { sealed_at: formatTimestamp(Date.now() - 600_000) }),
      sealOf(own, { sealed_at: formatTimestamp(Date.now() + 600_000) }),
      sealOf(own, { v: 1 }),
      sealOf(own, { more: 1 }),
      custody(),
      certificate(),
      utf8("anything"),
    ];
    for (const payload of refused)
      expect(await process.keys.seal(of, { payload, confirmation })).toMatchObject({
        code: "issuance_refused",
      });
    expect((await process.lines()).map(({ outcome }) => outcome)).toEqual(refused.map(() => "refused"));
  });

  it("seal for nobody without a node's secret, nor without a confirmation that is named", async () => {
    await using process = await started();
    const payload = sealOf(thumbprint(await process.keys.publicKey(of)));
    const stranger = hostedAt(process.address, "s".repeat(43));
    await expect(stranger.publicKey(of)).rejects.toThrow(/does not know this node/);
    await expect(stranger.seal(of, { payload, confirmation })).rejects.toThrow(/does not know this node/);
    const whole = { ...of, payload: toBase64(payload), confirmation };
    for (const changes of [
      { confirmation: "" },
      { confirmation: undefined },
      { generation: -1 },
      { generation: 100 },
      { business_uuid: "x" },
      { payload: "!" },
      { payload_type: payloadTypes["mandate.v1"] },
    ]) {
      const body = JSON.stringify({ ...whole, ...changes });
      expect(await post(process.address, body, undefined, "/hosted-seal")).toBe(400);
    }
    expect(await post(process.address, "{}", undefined, "/hosted-key")).toBe(400);
    expect(await process.lines()).toEqual([]);
  });

  it("are none without the secret, and nodes are told so", async () => {
    const keys = join(folder, "bare");
    await cp(made.path("issuance"), keys, { recursive: true });
    await rm(join(keys, "hosted.jwk"));
    await using process = await started({ keys });
    const none = { reason: "hosted_key", message: expect.stringMatching(/holds no keys for businesses/) };
    await expect(process.keys.publicKey(of)).rejects.toMatchObject(none);
    const payload = sealOf("k".repeat(43));
    await expect(process.keys.seal(of, { payload, confirmation })).rejects.toMatchObject(none);
  });

  it("are away with the process", async () => {
    const gone = await started();
    await gone[Symbol.asyncDispose]();
    await expect(gone.keys.publicKey(of)).rejects.toMatchObject({ reason: "hosted_key" });
  });
});

describe("the issuance process does not start", () => {
  it("with a pair that the set does not list, or that is compromised", async () => {
    const keys = join(folder, "strange");
    const other = await makeProductionKeys(join(folder, "third"), { region: "eu-west1", nowMs: Date.now() });
    await mkdir(keys, { mode: 0o700 });
    for (const name of ["issuance-p256.jwk", "issuance-mldsa65.jwk"])
      await copyFile(join(other.path("issuance"), name), join(keys, name));
    for (const name of ["anchors.json", "key-set.json"]) await copyFile(made.path(name), join(keys, name));
    await expect(startIssuance(options({ keys }))).rejects.toThrow(
      /issuance-p256\.jwk: cannot issue: the pair is not in/,
    );
    const late = { now: () => Date.now() + 3_651 * 86_400_000 };
    await expect(startIssuance(options({ clock: late }))).rejects.toThrow(
      /cannot issue: The key was valid until/,
    );
  });

  it("without anchors, a key set or secrets of nodes", async () => {
    await expect(startIssuance(options({ keys: made.path("root") }))).rejects.toThrow(
      /anchors\.json: is missing/,
    );
    await expect(startIssuance(options({ clients: join(folder, "none") }))).rejects.toThrow(
      /cannot be read \(ENOENT\)/,
    );
    await expect(startIssuance(options({ clients: made.path("root") }))).rejects.toThrow(
      /holds no secret of a node/,
    );
  });

  it("with a secret that others may read, or that two nodes share", async () => {
    const clients = join(folder, "open");
    await mkdir(clients);
    await writeSecret(join(clients, "a.secret"));
    await copyFile(join(clients, "a.secret"), join(clients, "b.secret"));
    await chmod(join(clients, "b.secret"), 0o600);
    await expect(startIssuance(options({ clients }))).rejects.toThrow(/b\.secret: is also the secret of a/);
    await chmod(join(clients, "a.secret"), 0o644);
    await expect(startIssuance(options({ clients }))).rejects.toThrow(
      /a\.secret: can be read by other users/,
    );
    await expect(writeSecret(join(clients, "a.secret"))).rejects.toThrow(/a secret is not overwritten/);
  });

  it("for another machine to reach", async () => {
    expect(await serve("--listen", "0.0.0.0:7399")).toMatch(/^2: --listen: is .*, on this machine$/);
    for (const listen of ["10.0.0.1:7399", "unix:relative.sock", "7399", "127.0.0.1:99999"])
      expect(() => parseIssuanceAddress("--listen", listen)).toThrow(/^--listen: is .*, on this machine$/);
  });
});

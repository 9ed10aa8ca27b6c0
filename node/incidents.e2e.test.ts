// Plays the incidents of docs/incidents.md that one node can have: each is staged for real, and then found, explained and mended
// by the page's own commands over the operations surface. Those of a cluster are in incidents.regions.test.ts.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it, vi } from "vitest";
import { logRef } from "../actors/messages/refs.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { utf8 } from "../protocol/bytes.ts";
import { hashOf } from "../protocol/hash.ts";
import { logKeys } from "../verifier/log.ts";
import { batchBody, newBusiness, publishOver } from "./attack.fixture.ts";
import { commandsOf, type IncidentNode, openIncidentNode, played } from "./incident-node.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";
import { startWitness } from "./witness/witness-server.ts";

const untilMaxMs = 120_000;
const titles = {
  chunk: "A poisoned chunk",
  disk: "A full disk",
  flood: "A business that floods",
  key: "A revoked key in use",
  log: "A stalled sequencer",
  quarantine: "A quarantined business",
} as const;

const canMount = process.platform === "linux" && process.getuid?.() === 0;
if (!canMount) console.warn("SKIPPED: a full disk, for which root alone can mount a small one");

afterAll(() => {
  const mine = Object.values(titles).filter((title) => canMount || title !== titles.disk);
  expect(commandsOf(mine).filter((each) => !played.has(each))).toEqual([]);
});

const until = <T>(found: () => Promise<T>) => vi.waitUntil(found, { timeout: untilMaxMs, interval: 100 });

/** What a command prints once it prints what `shows`. */
async function shows(command: () => Promise<string>, pattern: RegExp): Promise<string> {
  let said = "";
  try {
    return await until(async () => {
      said = await command().catch(() => "");
      return pattern.test(said) ? said : "";
    });
  } catch {
    throw new Error(`${pattern} does not match what was printed last:\n${said}`);
  }
}

function products(prefix: string, count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => product(`${prefix}-${index}`));
}

async function push(
  node: IncidentNode,
  business: TestBusiness,
  { prefix, count, seq }: { readonly prefix: string; readonly count: number; readonly seq: number },
) {
  const { body, pushId } = await batchBody(business, products(prefix, count), { seq });
  const { status, json } = await publishOver(node, business, body);
  return { status, code: json["code"], pushId };
}

/** The store's file, as somebody changes it who may reach the disk. */
function inStore<T>({ home }: IncidentNode, change: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(home, "store.db"), { timeout: 10_000 });
  try {
    return change(db);
  } finally {
    db.close();
  }
}

describe(titles.chunk, () => {
  it("is found, explained, and goes on by itself once its cause is gone", async () => {
    await using node = await openIncidentNode();
    const business = await newBusiness(node);
    // A disk that loses the 251st staged record of the push.
    inStore(node, (db) =>
      db.exec(`CREATE TABLE lost (push_id TEXT, leaf INTEGER, bytes BLOB);
        CREATE TRIGGER loses AFTER INSERT ON staged_leaf WHEN NEW.leaf = 250 BEGIN
          INSERT INTO lost SELECT push_id, leaf, bytes FROM staged_leaf WHERE push_id = NEW.push_id AND leaf = NEW.leaf;
          DELETE FROM staged_leaf WHERE push_id = NEW.push_id AND leaf = NEW.leaf; END`),
    );
    const { body, pushId } = await batchBody(business, products("lost", 400), { seq: 1 });
    expect((await publishOver(node, business, body)).status).toBe(202);
    const found = await shows(() => node.follow(titles.chunk, "find"), /outbox_failing/);
    const [, id = ""] = /^push\/(\S+) outbox_failing: /.exec(found) ?? [];
    expect(id).toBe(`${business.party.uuid}.${pushId}`);
    const env = { PUSH: id };
    const why = await node.follow(titles.chunk, "explain", env);
    expect(why).toMatch(/It waits for chunk 2 of 2 to be judged, signed and stored; 1 chunk settled\./);
    expect(why).toMatch(/A leaf of chunk 1 of \S+ is not staged/);
    expect(why).toMatch(/"push\.accepted"/);
    // The business goes on beside it.
    expect((await push(node, business, { prefix: "beside", count: 3, seq: 2 })).status).toBe(200);
    inStore(node, (db) =>
      db.exec("DROP TRIGGER loses; INSERT INTO staged_leaf SELECT * FROM lost; DROP TABLE lost"),
    );
    expect(await node.follow(titles.chunk, "mend", env)).toBe("retried");
    await shows(() => node.follow(titles.chunk, "check", env), /^complete\n0$/);
  });
});

describe.skipIf(!canMount)(titles.disk, () => {
  it("is found, explained, and mended by making room; nothing acknowledged is lost", async () => {
    const home = mkdtempSync(join(tmpdir(), "svc-full-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=700", "svc-test", home]);
    const ballast = join(home, "ballast");
    const node = await openIncidentNode({ home });
    try {
      const business = await newBusiness(node);
      expect((await push(node, business, { prefix: "before", count: 20, seq: 1 })).status).toBe(200);
      fill(ballast, home);
      const found = await shows(() => node.follow(titles.disk, "find"), /^\[false,/);
      expect(found).not.toContain('"ok"');
      expect(await node.follow(titles.disk, "explain")).toMatch(/place="home"/);
      const refused = await push(node, business, { prefix: "meanwhile", count: 20, seq: 2 });
      expect(refused).toMatchObject({ status: 503, code: "unavailable" });
      rmSync(ballast);
      await shows(() => node.follow(titles.disk, "check"), /^\[true,"ok"\]$/);
      const { recordIdOf, records } = node.running.services;
      await until(
        async () => (await push(node, business, { prefix: "after", count: 20, seq: 2 })).status === 200,
      );
      for (const prefix of ["before", "after"]) {
        const id = recordIdOf(business.party.uuid, "products", `${prefix}-7`);
        expect((await records.readServed(id))?.head.live).toBe(true);
      }
    } finally {
      // A node ends in order once it can write.
      rmSync(ballast, { force: true });
      await node[Symbol.asyncDispose]();
      execFileSync("umount", ["--lazy", home]);
      rmSync(home, { recursive: true });
    }
  });
});

/** Leaves nothing free. */
function fill(path: string, folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const piece = new Uint8Array(1 << 20);
  for (let left = bavail * bsize; left > 0; left -= piece.length)
    try {
      writeFileSync(path, piece.subarray(0, Math.min(left, piece.length)), { flag: "a" });
    } catch {
      return;
    }
}

describe(titles.flood, () => {
  it("is found, explained, and ended with its key; others go on", async () => {
    await using node = await openIncidentNode();
    const [flooding, honest] = [await newBusiness(node), await newBusiness(node)];
    const bodies = await Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        batchBody(flooding, products(`flood-${at}`, 600), { seq: at + 1 }),
      ),
    );
    const statuses: number[] = [];
    const sending = (async () => {
      for (const { body } of bodies) statuses.push((await publishOver(node, flooding, body)).status);
    })();
    const found = await shows(() => node.follow(titles.flood, "find"), /^\s*([3-9]|\d\d) /);
    const [, uuid = ""] = /^\s*\d+ (\S+)/.exec(found) ?? [];
    expect(uuid).toBe(flooding.party.uuid);
    const why = await node.follow(titles.flood, "explain", { BUSINESS: uuid });
    expect(why).toMatch(/It has \d+ pushes under way/);
    const [, key = ""] = /^integration-key\/\S+?\.(\S{43}) live$/m.exec(why) ?? [];
    expect(key).toBe(flooding.key.key_id);
    const env = { BUSINESS: uuid, KEY: key };
    expect(await node.follow(titles.flood, "mend", env)).toBe("[true,true]");
    expect(await push(node, flooding, { prefix: "more", count: 3, seq: 99 })).toMatchObject({ status: 401 });
    expect((await push(node, honest, { prefix: "honest", count: 3, seq: 1 })).status).toBe(200);
    await sending;
    expect(statuses.filter((status) => ![202, 401, 429].includes(status))).toEqual([]);
    await shows(() => node.follow(titles.flood, "check", env), /^0$/);
  });
});

describe(titles.key, () => {
  it("is found, explained, and declared compromised", async () => {
    await using node = await openIncidentNode();
    const business = await newBusiness(node);
    const since = new Date(Date.now() - 1_000).toISOString();
    expect((await push(node, business, { prefix: "stolen", count: 2, seq: 1 })).status).toBe(200);
    const { key_id: keyId } = business.key;
    await node.follow(titles.flood, "mend", { KEY: keyId });
    for (let seq = 2; seq < 6; seq += 1)
      expect((await push(node, business, { prefix: `late-${seq}`, count: 1, seq })).status).toBe(401);
    const found = await node.follow(titles.key, "find");
    expect(found).toMatch(/surface="business".* [1-9]\d*$/m);
    const log = await shows(() => node.follow(titles.key, "log"), new RegExp(keyId));
    const [, key = ""] = /^\s*\d+ (\S+) 127\.0\.0\.1$/.exec(log) ?? [];
    expect(key).toBe(keyId);
    const why = (await node.follow(titles.key, "explain", { KEY: key }))
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(why[0]).toEqual([business.party.legal_name, expect.any(String), null]);
    expect(why.slice(1)).toContainEqual(["key.revoke", "Ada Lovelace", "Incident 4711"]);
    const env = { KEY: key, SINCE: since };
    expect(await node.follow(titles.key, "mend", env)).toBe("true");
    expect(Date.parse(await node.follow(titles.key, "check", env))).toBe(Date.parse(since));
  });
});

describe(titles.log, () => {
  it("is found, explained, and goes on once its witness is back", async () => {
    const witnessHome = mkdtempSync(join(tmpdir(), "svc-witness-"));
    const port = await freePort();
    let keys: Parameters<typeof startWitness>[0]["logs"] = () => [];
    const open = () =>
      startWitness({
        ...{ home: witnessHome, name: "witness.test/one", listen: { host: "127.0.0.1", port } },
        ...{ clock: { now: Date.now }, report: () => {}, logs: () => keys() },
      });
    const first = await open();
    const { verifierKey, url } = first;
    await first[Symbol.asyncDispose]();
    await using node = await openIncidentNode({
      settings: {
        ...{ SVC_LOG_INTERVAL_SECONDS: "0", SVC_LOG_WITNESS_PRIVATE: "yes", SVC_LOG_WITNESS_QUORUM: "1" },
        SVC_LOG_WITNESSES: `${verifierKey} ${url}`,
      },
    });
    const { services } = node.running;
    keys = () => [{ origin: "sandbox.svc/log", keys: logKeys(services.trust()) }];
    const leaf = hashOf(utf8("a seal"), nativeCrypto.sha256);
    const entries = [{ leaf, leaf_type: "seal", subject: "b" } as const];
    await services.actors.ask(logRef(), { type: "log.append", entries });
    const found = await shows(() => node.follow(titles.log, "find"), /unwitnessed/);
    expect(found).toMatch(/^log-sequencer\/svc-log unwitnessed: /);
    expect(await node.follow(titles.log, "explain")).toMatch(
      /Too few witnesses cosigned the newest tree head .*0 of 1 cosignatures.*It asks them again at \S+;/,
    );
    await using _witness = await open();
    await shows(() => node.follow(titles.log, "check"), /The newest tree head is published\.(?:\n.*)*\n0$/);
    const checkpoint = await fetch(`${node.running.urls.verify_url}/v1/log/checkpoint`);
    expect(await checkpoint.text()).toMatch(/^sandbox\.svc\/log\n[1-9]/);
    rmSync(witnessHome, { recursive: true });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe(titles.quarantine, () => {
  it("is found, explained, and released once the cause is gone", async () => {
    await using node = await openIncidentNode();
    const [business, other] = [await newBusiness(node), await newBusiness(node)];
    expect((await push(node, business, { prefix: "fine", count: 1, seq: 1 })).status).toBe(200);
    const { party } = business;
    const rows = "SELECT no FROM actor_head WHERE kind = 'business' AND id = ?";
    const recordId = node.running.services.recordIdOf(party.uuid, "products", "fine-0");
    const change = (body: string) =>
      inStore(node, (db) =>
        db
          .prepare(`UPDATE actor_row SET body = ? WHERE k2 = ? AND actor = (${rows})`)
          .run(body, recordId, party.uuid),
      );
    const sound = inStore(node, (db) =>
      db.prepare(`SELECT body FROM actor_row WHERE k2 = ? AND actor = (${rows})`).get(recordId, party.uuid),
    );
    expect(sound).toBeDefined();
    // Somebody changed a row of its store by hand.
    change("rubbish");
    let seq = 2;
    const crash = async () => {
      await push(node, business, { prefix: "fine", count: 1, seq });
      seq += 1;
      return node.follow(titles.quarantine, "find");
    };
    const found = await shows(crash, / quarantined: /);
    const [, uuid = ""] = /^business\/(\S+) quarantined: /.exec(found) ?? [];
    expect(uuid).toBe(party.uuid);
    const env = { BUSINESS: uuid };
    const why = await node.follow(titles.quarantine, "explain", env);
    expect(why).toMatch(/JSON|decode|row/i);
    expect((await push(node, other, { prefix: "other", count: 1, seq: 1 })).status).toBe(200);
    change(String(sound?.["body"]));
    expect(await node.follow(titles.quarantine, "mend", env)).toBe("released");
    await shows(() => node.follow(titles.quarantine, "check", env), /^(active|passive)\nnull\n0$/);
    expect((await push(node, business, { prefix: "later", count: 1, seq: seq + 1 })).status).toBe(200);
  });
});

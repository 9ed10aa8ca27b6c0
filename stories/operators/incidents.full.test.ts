// Plays the incidents of docs/incidents.md that one node can have: each is staged for real, found and explained both by the page's
// own commands over the operations surface and from the operators' pages in a browser, and mended from the pages. What the commands
// do about it is played as well. Those of a cluster are in regions/incidents.regions.test.ts.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logRef } from "../../actors/messages/refs.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { startWitness } from "../../node/witness/witness-server.ts";
import type { ActorCounts } from "../../ops/inspection-shapes.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { findBrowser } from "../../tools/browser.ts";
import { logKeys } from "../../verifier/log.ts";
import type { TestBusiness } from "../publishing/publishing.fixture.ts";
import { batchBody, newBusiness, publishOver } from "../retrieval/attack.fixture.ts";
import { commandsOf, type IncidentNode, openIncidentNode, played } from "./incident-node.fixture.ts";
import { type Operator, openOperator, operatorName, operatorReason } from "./incident-pages.fixture.ts";
import {
  freePort,
  loseStagedRecord,
  mountSmallDisk,
  products,
  push,
  shows,
  spoilRow,
  until,
} from "./incident-staging.fixture.ts";
import { openBrowser } from "./inspector.fixture.ts";

const titles = {
  chunk: "A poisoned chunk",
  disk: "A full disk",
  flood: "A business that floods",
  key: "A revoked key in use",
  log: "A stalled sequencer",
  quarantine: "A quarantined business",
} as const;

const isThere = findBrowser() !== null || process.env["CI"] !== undefined;
if (!isThere) console.warn("NOT TESTED: no Chromium on this machine, so no incident was played.");
const canMount = process.platform === "linux" && process.getuid?.() === 0;
if (!canMount) console.warn("SKIPPED: a full disk, for which root alone can mount a small one");

const inBrowser = it.skipIf(!isThere);
let browser: Browser;
beforeAll(async () => {
  if (isThere) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  const mine = Object.values(titles).filter((title) => canMount || title !== titles.disk);
  if (isThere) expect(commandsOf(mine).filter((each) => !played.has(each))).toEqual([]);
});

function operate({ home, running }: IncidentNode): Promise<Operator> {
  return openOperator(browser, { home, opsUrl: running.urls.ops_url });
}

describe(titles.chunk, () => {
  inBrowser("is found, explained, and goes on once its cause is gone", async () => {
    await using node = await openIncidentNode();
    const business = await newBusiness(node);
    const bringBack = loseStagedRecord(node);
    const { body, pushId } = await batchBody(business, products("lost", 400), { seq: 1 });
    expect((await publishOver(node, business, body)).status).toBe(202);
    const found = await shows(() => node.follow(titles.chunk, "find"), /outbox_failing/);
    const [, id = ""] = /^push\/(\S+) outbox_failing: /.exec(found) ?? [];
    expect(id).toBe(`${business.party.uuid}.${pushId}`);
    const env = { PUSH: id };
    const why = await node.follow(titles.chunk, "explain", env);
    const waits = /It waits for chunk 2 of 2 to be judged, signed and stored; 1 chunk settled\./;
    expect(why).toMatch(waits);
    expect(why).toMatch(/A leaf of chunk 2 of \S+ is not staged/);
    expect(why).toMatch(/"push\.accepted"/);
    // The business goes on beside it, and trying again alone mends nothing.
    expect((await push(node, business, { prefix: "beside", count: 3, seq: 2 })).status).toBe(200);
    expect(await node.follow(titles.chunk, "mend", env)).toBe("retried");

    await using pages = await operate(node);
    await pages.row("Needs a look", id, "effects fail").follow(id);
    expect(await pages.part("Why it waits").says(/is not staged/)).toMatch(waits);
    await pages.part("Journal").says(/push\.accepted/);
    const retry = await pages.prepare("try again now");
    bringBack();
    await retry();
    await pages.title.says(/\bcomplete\b/);
    await pages.go("Overview");
    await pages.gone("Needs a look", id);
    await pages.hasFollowed(titles.chunk);
    await shows(() => node.follow(titles.chunk, "check", env), /^complete\n0$/);
  });
});

describe.skipIf(!canMount)(titles.disk, () => {
  inBrowser("is found, explained, and mended by making room; nothing acknowledged is lost", async () => {
    using disk = mountSmallDisk();
    const node = await openIncidentNode({ home: disk.home });
    try {
      const business = await newBusiness(node);
      await using pages = await operate(node);
      expect((await push(node, business, { prefix: "before", count: 20, seq: 1 })).status).toBe(200);
      disk.fill();
      const found = await shows(() => node.follow(titles.disk, "find"), /^\[false,/);
      expect(found).not.toContain('"ok"');
      expect(await node.follow(titles.disk, "explain")).toMatch(/place="home"/);
      const refused = await push(node, business, { prefix: "meanwhile", count: 20, seq: 2 });
      expect(refused).toMatchObject({ status: 503, code: "unavailable" });

      await pages.go("Nodes");
      const ready = pages.row("Is each node ready?", "home: ");
      expect(await ready.says(/not ready: .*disk/)).toMatch(/home: 0\.0\d of 0\.39 GiB free/);
      disk.makeRoom();
      await ready.says(/^(?!.*not ready).*\bready\b/s);
      await pages.hasFollowed(titles.disk);
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
      disk.makeRoom();
      await node[Symbol.asyncDispose]();
    }
  });
});

/**
 * Sends batches on many connections at once until the key is refused, and returns what was answered: one connection alone does not
 * flood, since a node accepts at the pace at which it publishes. What overtakes another on its way is refused for its `seq`. There are
 * never so many under way that a slow machine is long done with the incident before it is done with them.
 */
async function flood(node: IncidentNode, business: TestBusiness): Promise<ReadonlySet<string>> {
  const answers = new Set<string>();
  let last = 0;
  let isRefused = false;
  const send = async () => {
    while (!isRefused && last < floodMax) {
      last += 1;
      const { body } = await batchBody(business, products(`flood-${last}`, 600), { seq: last });
      const { status, json } = await publishOver(node, business, body);
      answers.add(`${status} ${json["code"] ?? "queued"}`);
      isRefused ||= status === 401;
      await until(async () => (await underWay(node)) < underWayMax);
    }
  };
  await Promise.all(Array.from({ length: connections }, send));
  return answers;
}

const connections = 8;
const floodMax = 400;
const underWayMax = 8;

async function underWay({ running }: IncidentNode): Promise<number> {
  const counts = (await (await fetch(`${running.urls.ops_url}/ops/counts`)).json()) as ActorCounts;
  return counts.pushes_under_way.reduce((sum, { pushes }) => sum + pushes, 0);
}

describe(titles.flood, () => {
  inBrowser("is found, explained, and ended with its key; others go on", async () => {
    await using node = await openIncidentNode();
    const [flooding, honest] = [await newBusiness(node), await newBusiness(node)];
    const { party, key } = flooding;
    await using pages = await operate(node);
    const sending = flood(node, flooding);
    // Where it fails, it is seen below.
    sending.catch(() => {});
    // How many wait at once depends on how fast the machine publishes them.
    const found = await shows(() => node.follow(titles.flood, "find"), /^[1-9]\d* /);
    const [, uuid = "", keyId = ""] = /^\d+ (\S+) (\S+)/.exec(found) ?? [];
    expect([uuid, keyId]).toEqual([party.uuid, key.key_id]);
    const env = { BUSINESS: uuid, KEY: keyId };
    const pending = /It has \d+ push(?:es)? under way/;
    const why = await shows(() => node.follow(titles.flood, "explain", env), pending);
    expect(why).toMatch(new RegExp(`^integration-key/${uuid}\\.${keyId} live$`, "m"));

    await pages.row("Pushes under way", uuid).follow(uuid);
    await pages.part("Why it waits").says(pending);
    await pages.go("Overview");
    await pages.row("Pushes under way", uuid).follow(keyId);
    await pages.part("Whose it is").says(new RegExp(party.legal_name));
    await (await pages.prepare("revoke it"))();
    await pages.title.says(/\brevoked\b/);
    await pages.go("Overview");
    expect(await push(node, flooding, { prefix: "more", count: 3, seq: 999 })).toMatchObject({ status: 401 });
    expect((await push(node, honest, { prefix: "honest", count: 3, seq: 1 })).status).toBe(200);
    const allowed = ["202 queued", "401 key_unknown", "409 seq_not_increasing", "429 rate_limited"];
    expect([...(await sending)].filter((answer) => !allowed.includes(answer))).toEqual([]);
    await pages.gone("Pushes under way", uuid);
    await pages.hasFollowed(titles.flood);
    // It is ended already.
    expect(await node.follow(titles.flood, "mend", env)).toBe("[false,true]");
    await shows(() => node.follow(titles.flood, "check", env), /^0$/);
  });
});

describe(titles.key, () => {
  inBrowser("is found, explained, and declared compromised", async () => {
    await using node = await openIncidentNode();
    const business = await newBusiness(node);
    const [earlier, since] = [2_000, 1_000].map((ms) => new Date(Date.now() - ms).toISOString());
    expect((await push(node, business, { prefix: "stolen", count: 2, seq: 1 })).status).toBe(200);
    const { key_id: keyId } = business.key;
    const { legal_name: legalName } = business.party;
    expect(await node.follow(titles.flood, "mend", { KEY: keyId })).toBe("[true,true]");
    for (let seq = 2; seq < 6; seq += 1)
      expect((await push(node, business, { prefix: `late-${seq}`, count: 1, seq })).status).toBe(401);
    const found = await node.follow(titles.key, "find");
    expect(found).toMatch(/^4 business$/m);
    const [, key = ""] = /^4 (\S+) 127\.0\.0\.1$/m.exec(await node.follow(titles.key, "explain")) ?? [];
    expect(key).toBe(keyId);
    const env = { KEY: key, SINCE: earlier ?? "" };
    const [whose, ...acts] = (await node.follow(titles.key, "whose", env)).split("\n");
    expect(JSON.parse(whose ?? "")).toEqual([legalName, expect.any(String), null]);
    expect(acts.map((line) => JSON.parse(line))).toEqual([["key.revoke", operatorName, operatorReason]]);

    await using pages = await operate(node);
    await pages.go("Refusals");
    await pages.row("By surface and code", "key_unknown", "business").follow("key_unknown");
    await pages.row("By key and address", keyId, "127.0.0.1").follow(keyId);
    expect(await pages.part("Whose it is").says(/Compromised since\s+not/)).toContain(legalName);
    await pages.row("What operators did to it", "key.revoke", operatorName, operatorReason).says(/./);
    await pages.row("Refused requests that named it", "key_unknown", "127.0.0.1").says(/\b4\b/);
    const moment = "The moment, in UTC, such as 2026-11-21T03:00:00.000Z";
    await (await pages.prepare("declare it compromised", { [moment]: since ?? "" }))();
    await pages.title.says(/\bcompromised\b/);
    await pages.part("Whose it is").says(/Compromised since\s+\d/);
    await pages.hasFollowed(titles.key);
    const checked = () => node.follow(titles.key, "check", env);
    expect(Date.parse(await checked())).toBe(Date.parse(since ?? ""));
    // It turns out that it was earlier.
    expect(await node.follow(titles.key, "mend", env)).toBe("true");
    expect(Date.parse(await checked())).toBe(Date.parse(earlier ?? ""));
  });
});

describe(titles.log, () => {
  inBrowser("is found, explained, and goes on once its witness is back", async () => {
    const witnessHome = mkdtempSync(join(tmpdir(), "svc-witness-"));
    const port = await freePort();
    let keys: Parameters<typeof startWitness>[0]["logs"] = () => [];
    const open = () =>
      startWitness({
        home: witnessHome,
        name: "witness.test/one",
        listen: { host: "127.0.0.1", port },
        clock: { now: Date.now },
        report: () => {},
        logs: () => keys(),
      });
    const first = await open();
    const { verifierKey, url } = first;
    await first[Symbol.asyncDispose]();
    await using node = await openIncidentNode({
      settings: {
        SVC_LOG_INTERVAL_SECONDS: "0",
        SVC_LOG_WITNESS_PRIVATE: "yes",
        SVC_LOG_WITNESS_QUORUM: "1",
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
    const few =
      /Too few witnesses cosigned the newest tree head .*0 of 1 cosignatures.*It asks them again at \S+;/;
    expect(await node.follow(titles.log, "explain")).toMatch(few);

    await using pages = await operate(node);
    await pages.row("Needs a look", "svc-log", "not witnessed").follow("svc-log");
    const waits = pages.part("Why it waits");
    await waits.says(few);
    await using _witness = await open();
    await waits.says(/The newest tree head is published\./);
    await pages.go("Overview");
    await pages.gone("Needs a look", "svc-log");
    await pages.hasFollowed(titles.log);
    await shows(() => node.follow(titles.log, "check"), /The newest tree head is published\.(?:\n.*)*\n0$/);
    const checkpoint = await fetch(`${node.running.urls.verify_url}/v1/log/checkpoint`);
    expect(await checkpoint.text()).toMatch(/^sandbox\.svc\/log\n[1-9]/);
    rmSync(witnessHome, { recursive: true });
  });
});

describe(titles.quarantine, () => {
  inBrowser("is found, explained, and released once the cause is gone", async () => {
    await using node = await openIncidentNode();
    const [business, another, other] = [
      await newBusiness(node),
      await newBusiness(node),
      await newBusiness(node),
    ];
    const mends = [business, another].map((each) => ({ business: each, seq: 1, undo: () => {} }));
    for (const each of mends) {
      expect((await push(node, each.business, { prefix: "fine", count: 1, seq: 1 })).status).toBe(200);
      const { uuid } = each.business.party;
      each.undo = spoilRow(node, each.business, node.running.services.recordIdOf(uuid, "products", "fine-0"));
    }
    const crash = async () => {
      await Promise.all(
        mends.map(async (each) => {
          each.seq += 1;
          await push(node, each.business, { prefix: "fine", count: 1, seq: each.seq });
        }),
      );
      return node.follow(titles.quarantine, "find");
    };
    const found = await shows(crash, / quarantined: .* quarantined: /s);
    const uuids = [business, another].map(({ party }) => party.uuid);
    expect([...found.matchAll(/^business\/(\S+) quarantined: /gm)].map(([, uuid]) => uuid).sort()).toEqual(
      uuids.toSorted(),
    );
    const [uuid = "", env] = [uuids[0], { BUSINESS: uuids[1] ?? "" }];
    const why = await node.follow(titles.quarantine, "explain", env);
    expect(why).toMatch(/JSON|decode|row/i);
    expect((await push(node, other, { prefix: "other", count: 1, seq: 1 })).status).toBe(200);
    for (const { undo } of mends) undo();
    expect(await node.follow(titles.quarantine, "mend", env)).toBe("released");

    await using pages = await operate(node);
    await pages.row("Needs a look", uuid, "quarantined").follow(uuid);
    await pages.part("Why it waits").says(/crashed too often.*(?:JSON|decode|row)/i);
    await pages.part("Journal").says(/push\./);
    await (await pages.prepare("release from quarantine"))();
    await pages.title.says(/^(?!.*quarantined)/s);
    await pages.go("Overview");
    await pages.gone("Needs a look", uuid);
    await pages.hasFollowed(titles.quarantine);
    await shows(() => node.follow(titles.quarantine, "check", env), /^(active|passive)\nnull\n0$/);
    for (const { business: released, seq } of mends)
      expect((await push(node, released, { prefix: "later", count: 1, seq: seq + 1 })).status).toBe(200);
  });
});

import { hash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CallLoad } from "../actors/program.ts";
import { Child } from "../child.ts";
import { sendAll, sendOne } from "../load.ts";
import type { AdFloorPlan } from "./ads.ts";
import type { StoredRecord } from "./push.ts";
import type { FloorPlan } from "./serve.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-floor-"));
  file = join(folder, "floor.db");
});
afterEach(() => rm(folder, { recursive: true }));

const flushes = (child: Child): Promise<number> => child.call("floor/synced-file.ts", "flushCount");
const lengths = { signatureBaseLength: 300, receiptLength: 700, envelopeLength: 900 };

/** The first row that a file of a floor answers. */
function rowOf(path: string, sql: string) {
  const db = new DatabaseSync(path);
  try {
    return db.prepare(sql).get();
  } finally {
    db.close();
  }
}

describe("the bare server", () => {
  const request = (nonce: string): Uint8Array =>
    Buffer.from(`GET /v1/x HTTP/1.1\r\nhost: x\r\nsignature-input: sig1=();nonce="${nonce}"\r\n\r\n`);

  it("keeps a nonce and a receipt for every answer, and answers the bytes that it was given in turn", async () => {
    const plan: FloorPlan = { ...lengths, file, bodies: [Buffer.from("one"), Buffer.from("two")] };
    {
      await using child = new Child();
      const target = { host: "127.0.0.1", port: await child.call("floor/serve.ts", "listen", plan) };
      expect((await sendOne(target, request("nonce-of-the-first"))).body).toBe("one");
      expect((await sendOne(target, request("nonce-of-the-second"))).body).toBe("two");
      expect(await flushes(child)).toBe(2);
      const many = Array.from({ length: 20 }, (_, index) => request(`nonce-of-many-others-${index}`));
      await sendAll(target, many, 4);
    }
    expect(rowOf(file, "SELECT count(*) AS n FROM nonce")).toEqual({ n: 22 });
    const receipts = rowOf(file, "SELECT count(*) AS n, max(length(envelope)) AS l FROM receipt");
    expect(receipts).toEqual({ n: 22, l: 900 });
  });
});

describe("the bare server of ads", () => {
  const request = (what: string, nonce: string, body: object, digestOf?: string): Uint8Array => {
    const text = JSON.stringify(body);
    const digested = digestOf ?? text;
    return Buffer.from(
      `POST /v1/ads/${what} HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n` +
        `content-digest: sha-256=:${hash("sha256", digested, "base64")}:\r\n` +
        `signature-input: sig1=();nonce="nonce-of-${nonce}"\r\n\r\n${text}`,
    );
  };

  it("answers twenty items, and keeps the pool, each render with its campaign's sums, and each click", async () => {
    const plan: AdFloorPlan = {
      ...lengths,
      file,
      itemsLength: 500,
      keywords: ["shoes", "boots"],
      adsOfKeyword: 30,
      campaigns: 2,
      items: ['{"n":1,"render_token":"t"}', '{"n":2,"render_token":"t"}'],
    };
    {
      await using child = new Child();
      const target = { host: "127.0.0.1", port: await child.call("floor/ads.ts", "listen", plan) };
      const ask = (what: string, nonce: string, body: object) => sendOne(target, request(what, nonce, body));
      const pool = await ask("pool", "the-pool", { country: "US", keywords: ["boots"] });
      const { ads } = JSON.parse(pool.body) as { ads: readonly { readonly render_token: string }[] };
      expect(new Set(ads.map(({ render_token }) => render_token)).size).toBe(20);
      expect(await sendOne(target, request("pool", "another", {}, "other"))).toMatchObject({ status: 401 });
      const tokens = await child.call("floor/ads.ts", "tokens", 3);
      for (const [at, token] of tokens.entries())
        expect(await ask("render", `render-${at}`, { token })).toMatchObject({ status: 200 });
      expect(await ask("click", "the-click", { token: tokens[0] })).toMatchObject({ status: 200 });
      expect(await ask("click", "a-forged-click", { token: `${tokens[0]}A` })).toMatchObject({ status: 400 });
      expect(await flushes(child)).toBe(5);
    }
    expect(rowOf(file, "SELECT count(*) AS n FROM nonce")).toEqual({ n: 5 });
    expect(rowOf(file, "SELECT count(*) AS n, max(length(envelope)) AS l FROM receipt")).toEqual({
      n: 1,
      l: 900,
    });
    expect(rowOf(file, "SELECT length(items) AS l FROM pool")).toEqual({ l: 500 });
    const sums = rowOf(file, "SELECT sum(renders) AS n, sum(spent) AS s FROM campaign");
    expect(sums).toEqual({ n: 3, s: 30_000 });
    expect(rowOf(file, "SELECT count(clicked_at) AS n FROM item")).toEqual({ n: 1 });
  });
});

describe("the floor of a push", () => {
  it("waits for the disk with every chunk and with an upload, and for that of the rows never", async () => {
    const stored = Array.from(
      { length: 450 },
      (_, n): StoredRecord => ({
        record_id: `record-${n}`,
        business_uuid: "business",
        cert_id: "certificate",
        proof: new Uint8Array(),
        row: { n },
        texts: [`stone ${n}`],
        sidecarPayload: Buffer.from("{}"),
        sidecarMessage: Buffer.from("sidecar"),
      }),
    );
    const records = stored.map(({ row }) => Buffer.from(JSON.stringify(row)).toString("base64"));
    const body = Buffer.from(JSON.stringify({ records }));
    {
      await using child = new Child();
      await child.call("floor/push.ts", "run", { file, pushId: "push", from: body, stored });
      expect(await flushes(child)).toBe(3);
      const port = await child.call("floor/push.ts", "receiveUpload", join(folder, "upload"));
      const upload = Buffer.from("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nbytes");
      expect(await sendOne({ host: "127.0.0.1", port }, upload)).toMatchObject({ status: 201 });
      expect(await flushes(child)).toBe(4);
    }
    expect(rowOf(file, "SELECT count(*) AS n FROM version")).toEqual({ n: 450 });
    expect(rowOf(`${file}-rows`, "SELECT count(*) AS n FROM found")).toEqual({ n: 450 });
  });
});

describe("the floors of actors", () => {
  it("repeat every recorded commit, and refuse one that does not fit", async () => {
    const load: CallLoad = { at: join(folder, "ours.db"), actors: 5, callers: 5, calls: 50 };
    await using ours = new Child();
    const groups = await ours.call("actors/program.ts", "record", load);
    expect(groups.flat()).toHaveLength(55);
    const timed = await ours.call("actors/program.ts", "run", { ...load, at: join(folder, "timed.db") });
    expect(timed).toMatchObject({ commits: 50 });
    await using floor = new Child();
    const replay = (): Promise<number> => floor.call("floor/fenced-commits.ts", "replay", file, groups);
    expect(await replay()).toBeGreaterThan(0);
    expect(await flushes(floor)).toBe(groups.length);
    await expect(replay()).rejects.toThrow(/the fence refused/);
    expect(rowOf(file, "SELECT sum(head) AS commits FROM actor_head")).toEqual({ commits: 55 });
  });

  it("answer how long their messages took", async () => {
    await using child = new Child();
    for (const name of ["messages", "transitions"] as const)
      expect(await child.call("actors/program.ts", name, 10, 1_000)).toBeGreaterThan(0);
  });
});

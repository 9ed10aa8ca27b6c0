// Child process, floor of the ads: a bare `node:http` server that does for every request the work that no implementation could skip. Each
// verifies the request's signature and the digest of its body, and keeps its nonce. A pool finds the ads of a keyword, orders them by price
// and those that it needs by the hash of the pool, issues their tokens, splices the stored bytes of twenty, signs a receipt, and keeps the
// receipt and the pool's items in the same transaction. A render and a click check a token, and keep the item's state in the nonce's
// transaction; a render keeps the campaign's sums as well, and issues the token of a click.

import {
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { nativeCrypto } from "../../crypto/native.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { answerParent } from "../answer-parent.ts";
import { cpuTimes } from "../cpu-times.ts";
import { flushCount, SyncedFile } from "./synced-file.ts";

export interface AdFloorPlan {
  /** Path of the store file. */
  readonly file: string;
  /** Lengths of the signature base of the caller, of the receipt's signed bytes, and of its envelope and the pool's items as stored. */
  readonly signatureBaseLength: number;
  readonly receiptLength: number;
  readonly envelopeLength: number;
  readonly itemsLength: number;
  /** Texts of items, captured from ours. Ads have them in turn. */
  readonly items: readonly string[];
  readonly keywords: readonly string[];
  /** How many ads name each keyword. */
  readonly adsOfKeyword: number;
  readonly campaigns: number;
}

interface FloorAd {
  readonly id: string;
  readonly price: number;
  /** The text of its item up to its token, and from there on. */
  readonly opening: string;
  readonly closing: string;
}

interface Asked {
  readonly country?: string;
  readonly keywords?: readonly string[];
  readonly token?: string;
}

const nonceOf = /;nonce="([^"]{16,128})"/;
const nonceLifeMs = 120_000;
const poolAds = 20;
const price = 10_000;

class Floor {
  readonly #commits: SyncedFile;
  readonly #book = new Map<string, readonly FloorAd[]>();
  readonly #request: { readonly key: KeyObject; readonly base: Uint8Array; readonly signature: Uint8Array };
  readonly #receipt: { readonly key: KeyObject; readonly message: Uint8Array; readonly envelope: string };
  readonly #secret = randomBytes(32);
  readonly #campaigns: number;
  readonly #keep: Readonly<Record<"pool" | "render" | "click", (nonce: string, item: string) => void>>;
  readonly server: Server;
  #tokens = 0;

  constructor(plan: AdFloorPlan) {
    this.#commits = new SyncedFile(plan.file);
    const [caller, region] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    const base = randomBytes(plan.signatureBaseLength);
    this.#request = { key: caller.publicKey, base, signature: sign(null, base, caller.privateKey) };
    const envelope = "e".repeat(plan.envelopeLength);
    this.#receipt = { key: region.privateKey, message: randomBytes(plan.receiptLength), envelope };
    this.#campaigns = plan.campaigns;
    for (const [at, keyword] of plan.keywords.entries()) this.#book.set(`US ${keyword}`, adsOf(plan, at));
    this.#keep = prepareWrites(this.#commits, plan, envelope);
    this.server = createServer((request, response) => void this.#take(request, response));
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.#commits.close();
  }

  /** Tokens of items; the campaigns have them in turn. */
  tokens(count: number): readonly string[] {
    return Array.from({ length: count }, () => {
      this.#tokens += 1;
      return this.#tokenOf(`ret_${String(this.#tokens).padStart(32, "0")} ${this.#tokens % this.#campaigns}`);
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { key, base, signature } = this.#request;
    const nonce = nonceOf.exec(String(request.headers["signature-input"]))?.[1];
    if (nonce === undefined || !verify(null, base, key, signature)) return refuse(response, 401);
    const body = Buffer.concat(chunks);
    if (String(request.headers["content-digest"]) !== `sha-256=:${hash("sha256", body, "base64")}:`)
      return refuse(response, 401);
    const asked = JSON.parse(body.toString()) as Asked;
    if (request.url === "/v1/ads/pool") return await this.#pool(nonce, asked, response);
    const item = this.#itemOf(asked.token ?? "");
    if (item === null) return refuse(response, 400);
    const event = request.url === "/v1/ads/render" ? "render" : "click";
    const token = event === "render" ? this.#tokenOf(`click ${item}`) : null;
    await this.#commits.write(() => this.#keep[event](nonce, item));
    answer(response, JSON.stringify({ item, event, token, at: new Date().toISOString() }));
  }

  async #pool(nonce: string, { country, keywords }: Asked, response: ServerResponse): Promise<void> {
    const found = (keywords ?? []).flatMap((keyword) => this.#book.get(`${country} ${keyword}`) ?? []);
    const retrievalId = `ret_${Date.now().toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
    const ads = firstOf(found, retrievalId).map(
      ({ id, opening, closing }, at) => opening + this.#tokenOf(`${retrievalId} ${at} ${id}`) + closing,
    );
    const { key, message, envelope } = this.#receipt;
    await new Promise<void>((resolve, reject) => {
      sign(null, message, key, (error) => (error === null ? resolve() : reject(error)));
    });
    await this.#commits.write(() => this.#keep.pool(nonce, ""));
    answer(response, `{"ads":[${ads.join(",")}],"receipt":"${envelope}"}`);
  }

  #macOf(item: string): Uint8Array {
    return nativeCrypto.hmacSha256(this.#secret, utf8(item));
  }

  #tokenOf(item: string): string {
    return `${Buffer.from(item).toString("base64url")}.${Buffer.from(this.#macOf(item)).toString("base64url")}`;
  }

  #itemOf(token: string): string | null {
    const [payload = "", mac = ""] = token.split(".");
    const item = Buffer.from(payload, "base64url").toString();
    const given = Buffer.from(mac, "base64url");
    return given.length === 32 && timingSafeEqual(given, this.#macOf(item)) ? item : null;
  }
}

function adsOf({ items, adsOfKeyword }: AdFloorPlan, keyword: number): readonly FloorAd[] {
  return Array.from({ length: adsOfKeyword }, (_, at) => {
    const n = keyword * adsOfKeyword + at;
    const [opening = "", closing = ""] = (items[n % items.length] ?? "").split(tokenForm);
    return { id: `ad-${n}`, price: (n * 7_919) % 20, opening, closing };
  });
}

const tokenForm = /(?<="render_token":")[^"]+/;

/** The first by price, and of the same price by the hash of the pool: only those of which some are taken are hashed. */
function firstOf(found: readonly FloorAd[], retrievalId: string): readonly FloorAd[] {
  const ordered = found.toSorted((a, b) => b.price - a.price);
  const last = ordered[poolAds - 1]?.price ?? 0;
  return ordered
    .filter(({ price: each }) => each >= last)
    .map((ad) => ({ ad, at: hash("sha256", `${retrievalId}\n${ad.id}`) }))
    .sort((a, b) => b.ad.price - a.ad.price || (a.at < b.at ? -1 : 1))
    .slice(0, poolAds)
    .map(({ ad }) => ad);
}

function prepareWrites({ db }: SyncedFile, { itemsLength, campaigns }: AdFloorPlan, envelope: string) {
  db.exec(`CREATE TABLE nonce (nonce TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE receipt (retrieval_id TEXT PRIMARY KEY, key_id TEXT NOT NULL, nonce TEXT NOT NULL, envelope TEXT NOT NULL);
    CREATE TABLE pool (retrieval_id TEXT PRIMARY KEY, items TEXT NOT NULL);
    CREATE TABLE item (item TEXT PRIMARY KEY, rendered_at INTEGER, clicked_at INTEGER) WITHOUT ROWID;
    CREATE TABLE campaign (id INTEGER PRIMARY KEY, renders INTEGER NOT NULL, spent INTEGER NOT NULL);`);
  const addCampaign = db.prepare("INSERT INTO campaign VALUES (?, 0, 0)");
  for (let id = 0; id < campaigns; id += 1) addCampaign.run(id);
  const addNonce = db.prepare("INSERT INTO nonce VALUES (?, ?)");
  const addReceipt = db.prepare("INSERT INTO receipt VALUES (?, ?, ?, ?)");
  const addPool = db.prepare("INSERT INTO pool VALUES (?, ?)");
  const noteRender = db.prepare("INSERT INTO item VALUES (?, ?, NULL)");
  const charge = db.prepare("UPDATE campaign SET renders = renders + 1, spent = spent + ? WHERE id = ?");
  const noteClick = db.prepare("UPDATE item SET clicked_at = ? WHERE item = ?");
  const [keyId, items] = ["k".repeat(43), "i".repeat(itemsLength)];
  return {
    pool: (nonce: string) => {
      addNonce.run(nonce, Date.now() + nonceLifeMs);
      const retrievalId = `ret_${Date.now().toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
      addReceipt.run(retrievalId, keyId, nonce, envelope);
      addPool.run(retrievalId, items);
    },
    render: (nonce: string, item: string) => {
      addNonce.run(nonce, Date.now() + nonceLifeMs);
      noteRender.run(item, Date.now());
      charge.run(price, Number(item.split(" ")[1]));
    },
    click: (nonce: string, item: string) => {
      addNonce.run(nonce, Date.now() + nonceLifeMs);
      noteClick.run(Date.now(), item);
    },
  };
}

function answer(response: ServerResponse, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": 0 }).end();
}

let floor: Floor | null = null;

function running(): Floor {
  if (floor === null) throw new Error("the floor does not listen");
  return floor;
}

/** Starts to listen and returns the port. */
async function listen(plan: AdFloorPlan): Promise<number> {
  const started = new Floor(plan);
  floor = started;
  await new Promise<void>((resolve) => started.server.listen(0, "127.0.0.1", resolve));
  return (started.server.address() as AddressInfo).port;
}

answerParent({ listen, tokens: (count: number) => running().tokens(count), cpuTimes, flushCount }, async () =>
  floor?.close(),
);

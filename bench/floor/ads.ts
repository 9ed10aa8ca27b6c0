// In a child process, floor of the ads: the bare signed server, which also verifies the digest of each body and keeps each nonce. A pool
// finds the ads of a keyword, orders them by price and those that it needs by the hash of the pool, issues their tokens, splices
// the stored bytes of twenty, signs a receipt, and keeps the receipt and the pool's items in the same transaction. A render and a
// click check a token, and keep the item's state in the nonce's transaction; a render keeps the campaign's sums as well, and
// issues the token of a click.

import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { nativeCrypto } from "../../crypto/native.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { type AnswerPlan, BareServer, newRetrievalId } from "./bare-server.ts";
import { answersIn } from "./serve.ts";
import { SyncedFile } from "./synced-file.ts";

export interface AdFloorPlan extends Omit<AnswerPlan, "bodies"> {
  readonly file: string;
  /** Length of the pool's items as stored. */
  readonly itemsLength: number;
  /** Texts of items, captured from ours. Ads have them in turn. */
  readonly items: readonly string[];
  readonly keywords: readonly string[];
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

const poolAds = 20;
const price = 10_000;
const secret = randomBytes(32);
const closing = new AsyncDisposableStack();
let campaigns = 0;
let issued = 0;

export const close = () => closing.disposeAsync();

/** Tokens of items; the campaigns have them in turn. */
export function tokens(count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    issued += 1;
    return tokenOf(`ret_${String(issued).padStart(32, "0")} ${issued % campaigns}`);
  });
}

export async function listen(plan: AdFloorPlan): Promise<number> {
  ({ campaigns } = plan);
  const file = closing.adopt(new SyncedFile(plan.file), (opened) => opened.close());
  const book = new Map(plan.keywords.map((keyword, at) => [`US ${keyword}`, adsOf(plan, at)]));
  const pool = async (nonce: string, { country, keywords }: Asked): Promise<Uint8Array> => {
    const found = (keywords ?? []).flatMap((keyword) => book.get(`${country} ${keyword}`) ?? []);
    const retrievalId = newRetrievalId(Date.now());
    const ads = firstOf(found, retrievalId).map(
      ({ id, opening, closing }, at) => opening + tokenOf(`${retrievalId} ${at} ${id}`) + closing,
    );
    await server.sign();
    await file.write(() => keep.pool(nonce));
    return Buffer.from(`{"ads":[${ads.join(",")}],"receipt":"${server.envelope}"}`);
  };
  const server = new BareServer({ ...plan, bodies: [] }, async ({ request, body, nonce }) => {
    if (String(request.headers["content-digest"]) !== `sha-256=:${hash("sha256", body, "base64")}:`)
      return 401;
    const asked = JSON.parse(body.toString()) as Asked;
    if (request.url === "/v1/ads/pool") return await pool(nonce, asked);
    const item = itemOf(asked.token ?? "");
    if (item === null) return 400;
    const event = request.url === "/v1/ads/render" ? "render" : "click";
    const token = event === "render" ? tokenOf(`click ${item}`) : null;
    await file.write(() => keep[event](nonce, item));
    return Buffer.from(JSON.stringify({ item, event, token, at: new Date().toISOString() }));
  });
  const keep = prepareWrites(file, plan, server.envelope);
  return await closing.adopt(server, (opened) => opened.close()).listen();
}

function macOf(item: string): Uint8Array {
  return nativeCrypto.hmacSha256(secret, utf8(item));
}

function tokenOf(item: string): string {
  return `${Buffer.from(item).toString("base64url")}.${Buffer.from(macOf(item)).toString("base64url")}`;
}

function itemOf(token: string): string | null {
  const [payload = "", mac = ""] = token.split(".");
  const item = Buffer.from(payload, "base64url").toString();
  const given = Buffer.from(mac, "base64url");
  return given.length === 32 && timingSafeEqual(given, macOf(item)) ? item : null;
}

const tokenForm = /(?<="render_token":")[^"]+/;

function adsOf({ items, adsOfKeyword }: AdFloorPlan, keyword: number): readonly FloorAd[] {
  return Array.from({ length: adsOfKeyword }, (_, at) => {
    const n = keyword * adsOfKeyword + at;
    const [opening = "", closing = ""] = (items[n % items.length] ?? "").split(tokenForm);
    return { id: `ad-${n}`, price: (n * 7_919) % 20, opening, closing };
  });
}

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

function prepareWrites(file: SyncedFile, { itemsLength, campaigns }: AdFloorPlan, envelope: string) {
  const { db } = file;
  const { addNonce, addReceipt } = answersIn(file);
  db.exec(`CREATE TABLE pool (retrieval_id TEXT PRIMARY KEY, items TEXT NOT NULL);
    CREATE TABLE item (item TEXT PRIMARY KEY, rendered_at INTEGER, clicked_at INTEGER) WITHOUT ROWID;
    CREATE TABLE campaign (id INTEGER PRIMARY KEY, renders INTEGER NOT NULL, spent INTEGER NOT NULL);`);
  const addCampaign = db.prepare("INSERT INTO campaign VALUES (?, 0, 0)");
  for (let id = 0; id < campaigns; id += 1) addCampaign.run(id);
  const addPool = db.prepare("INSERT INTO pool VALUES (?, ?)");
  const noteRender = db.prepare("INSERT INTO item VALUES (?, ?, NULL)");
  const charge = db.prepare("UPDATE campaign SET renders = renders + 1, spent = spent + ? WHERE id = ?");
  const noteClick = db.prepare("UPDATE item SET clicked_at = ? WHERE item = ?");
  const items = "i".repeat(itemsLength);
  return {
    pool: (nonce: string): void => {
      addNonce(nonce);
      addPool.run(addReceipt(nonce, envelope), items);
    },
    render: (nonce: string, item: string): void => {
      addNonce(nonce);
      noteRender.run(item, Date.now());
      charge.run(price, Number(item.split(" ")[1]));
    },
    click: (nonce: string, item: string): void => {
      addNonce(nonce);
      noteClick.run(Date.now(), item);
    },
  };
}

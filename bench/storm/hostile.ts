// In a child process: one hostile party, which does what it does without a pause until it is told to stop. Each kind takes a different
// thing that others need: the deciding thread, the room for bodies, the decoder of images, turns of verification, the index.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import sharp from "sharp";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { publishBytesMax } from "../../protocol/limits.ts";
import { productBytes, type QueryBody, searchPlan } from "../catalogue.ts";
import { Connection } from "../load.ts";
import { type GrantedParty, type Publisher, publisherOf } from "../parties.ts";
import { askForUpload, inlineRecords, preparePush, uploadForm } from "../publishing.ts";
import { callerOf, makeRequest, type RequestPlan, requestBytes, targetOf } from "../requests.ts";
import { numbersTo } from "../world.ts";

export const hostileKinds = {
  faults: "a business validates records of 150 KB of unknown members",
  batches: "a business pushes batches of 2,000 records",
  files: "three businesses send files as slowly as they may",
  lines: "a business sends files of tiny lines",
  images: "a business sends large images",
  searches: "an AI company searches by words that most rows have",
  pools: "an AI company asks for ads in conversations without end",
  checks: "a stranger has 64 connections verify",
  forgeries: "a stranger sends forged signatures over 64 connections",
  bodies: "three businesses send 16 bodies each of 32 MiB as slowly as they may",
} as const;
export type HostileKind = keyof typeof hostileKinds;

export interface StormUrls {
  readonly base_url: string;
  readonly business_url: string;
  readonly verify_url: string;
}

export interface HostileSetting {
  readonly urls: StormUrls;
  readonly businesses: readonly GrantedParty[];
  readonly company: GrantedParty;
}

/** A search that finds a page of the honest products; no two are alike. */
export function stonesSearch(index: number): QueryBody {
  return {
    collection: "products",
    q: "diamond",
    query_by: ["product_name", "short_description"],
    filter: { all: [{ country: "US" }, { price_amount: { gte: 1 + (index % 10_000) / 100 } }] },
    sort_by: "price_amount:asc",
  };
}

/** A request that has a number of spaces verified. */
export function checkRequest(verifyUrl: string, spaces: number): Uint8Array {
  const record_base64 = Buffer.alloc(spaces, " ").toString("base64");
  const body = Buffer.from(JSON.stringify({ record_base64, seal: {} }));
  return requestBytes("POST", new URL(`${verifyUrl}/v1/verify`), body);
}

/** A product that no search for stones finds. */
function hoseBytes(index: number): Uint8Array {
  const stone = JSON.parse(Buffer.from(productBytes(index)).toString()) as JsonObject;
  const words = { product_name: "Garden hose", short_description: "A hose for a garden.", tags: ["hose"] };
  return canonicalBytes({ ...stone, ...words });
}

/** An object of unknown members, whose names are as dear to compare with known ones as any. */
function unknownMembers(bytes: number): Uint8Array {
  const members: string[] = [];
  for (let at = 0, length = 0; length < bytes; at += 1) {
    members.push(`"${at.toString(36)}_availab":1`);
    length += (members.at(-1)?.length ?? 0) + 1;
  }
  return Buffer.from(`{${members.join(",")}}`);
}

/** A picture of so many pixels each way that cannot be compressed. */
export async function noise(side: number): Promise<Uint8Array> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const drawn = sharp({ create: { width: side, height: side, channels: 3, background: "#336699", noise } });
  return new Uint8Array(await drawn.png().toBuffer());
}

export function imagePlan(body: Uint8Array): RequestPlan {
  const headers = { "content-type": "image/png" };
  return { method: "POST", path: "/v1/ads/images", tag: "svc-push", headers, body };
}

/** Where requests are sent, by how many lanes, each of which sends one after another, and what makes them. */
type Attack = readonly [url: string, lanes: number, next: () => Promise<Uint8Array>];

type Attacks = Readonly<Record<Exclude<HostileKind, "files" | "lines" | "bodies">, () => Promise<Attack>>>;

function attacksOf({ urls, businesses, company }: HostileSetting): Attacks {
  const { base_url, business_url, verify_url } = urls;
  const caller = callerOf(company);
  const publisher = (): Promise<Publisher> => publisherOf(businesses[0] ?? company, business_url);
  let made = 0;
  const number = (): number => {
    made += 1;
    return made;
  };
  return {
    faults: async () => {
      const by = await publisher();
      const records = Array<Uint8Array>(inlineRecords).fill(unknownMembers(150_000));
      const path = "/v1/publish/products?validate_only=true";
      return [business_url, 4, async () => (await preparePush(business_url, by, records, path)).request];
    },
    batches: async () => {
      const by = await publisher();
      const next = async () => {
        const first = number() * 2_000;
        const records = numbersTo(2_000).map((at) => hoseBytes(first + at));
        return (await preparePush(business_url, by, records)).request;
      };
      return [business_url, 2, next];
    },
    images: async () => {
      const by = await publisher();
      const images = await Promise.all(Array.from({ length: 24 }, () => noise(768)));
      const next = () => {
        const body = images[number() % images.length] ?? new Uint8Array();
        return makeRequest(business_url, by.caller, imagePlan(body));
      };
      return [business_url, 4, next];
    },
    searches: async () => {
      return [base_url, 16, () => makeRequest(base_url, caller, searchPlan(stonesSearch(number())))];
    },
    pools: async () => {
      const plan = { method: "POST", path: "/v1/ads/pool", tag: "svc-retrieval" } as const;
      const next = () => {
        const session_ref = randomBytes(16).toString("hex");
        const asked = { session_ref, country: "GB", keywords: ["bread"], sort_by: "random:asc" };
        return makeRequest(base_url, caller, { ...plan, body: Buffer.from(JSON.stringify(asked)) });
      };
      return [base_url, 16, next];
    },
    checks: async () => {
      const request = checkRequest(verify_url, 24_576);
      return [verify_url, 64, async () => request];
    },
    forgeries: async () => {
      const genuine = Buffer.from(await makeRequest(base_url, caller, searchPlan(stonesSearch(0))));
      const forged = `$1${Buffer.alloc(64).toString("base64")}`;
      const text = genuine.toString("latin1").replace(/(\r\nsignature: sig1=:)[^:]+/, forged);
      return [base_url, 64, async () => Buffer.from(text, "latin1")];
    },
  };
}

const sent = new Map<string, number>();
let isOver = false;
let running: Promise<unknown> = Promise.resolve();

function count(status: number | string): void {
  sent.set(String(status), (sent.get(String(status)) ?? 0) + 1);
}

async function lane([url, , next]: Attack): Promise<void> {
  let connection = await Connection.open(targetOf(url));
  while (!isOver) {
    try {
      const { status } = await connection.exchange(await next());
      count(status);
      if (status === 429 || status === 503) await delay(50);
      // A refusal may end the connection.
      if (status >= 400) throw new Error("refused");
    } catch {
      connection.close();
      await delay(20);
      connection = await Connection.open(targetOf(url));
    }
  }
  connection.close();
}

/** What an upload says that it will send, of which little comes. */
const announcedBytes = 100_000_000;

/** Opens one upload after another, and sends each a file of tiny lines: slowly, or as fast as it is taken. */
async function fileLane({ business_url }: StormUrls, file: GrantedParty, isSlow: boolean): Promise<void> {
  const caller = callerOf(file);
  const piece = Buffer.from("e30=\n".repeat(isSlow ? 1_500 : 10_000));
  while (!isOver) {
    const upload = await askForUpload(business_url, caller, randomBytes(16).toString("hex"));
    if ("status" in upload) {
      count(`begin ${upload.status}`);
      await delay(200);
      continue;
    }
    const socket = connect(targetOf(upload.upload_url));
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(uploadForm(upload, announcedBytes).front);
    while (!isOver && !socket.destroyed && text === "") {
      if (!socket.writableNeedDrain) socket.write(piece);
      await delay(isSlow ? 100 : 5);
    }
    socket.destroy();
    count(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "unanswered");
  }
}

/** Begins one body after another from an address, each with a genuine head, and sends no more of it than it has to. */
async function bodyLane({ business_url }: StormUrls, sender: GrantedParty, address: string): Promise<void> {
  const caller = callerOf(sender);
  const target = targetOf(business_url);
  const piece = Buffer.alloc(32_768, " ");
  while (!isOver) {
    const headers = { "idempotency-key": randomBytes(16).toString("hex") };
    const plan = { method: "POST", path: "/v1/publish/products", tag: "svc-push", headers } as const;
    const whole = Buffer.from(await makeRequest(business_url, caller, { ...plan, body: Buffer.from("x") }));
    const text = whole.toString("latin1").replace(/\r\ncontent-length: 1\r\n/, longBody);
    const socket = connect({ ...target, localAddress: address });
    let answer = "";
    socket.on("data", (bytes) => {
      answer += bytes.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(Buffer.from(text.slice(0, -1), "latin1"));
    while (!isOver && !socket.destroyed && answer === "") {
      if (!socket.writableNeedDrain) socket.write(piece);
      await delay(100);
    }
    socket.destroy();
    count(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "unanswered");
    await delay(20);
  }
}

const longBody = `\r\ncontent-length: ${publishBytesMax}\r\n`;

async function lanesOf(kind: HostileKind, setting: HostileSetting): Promise<readonly Promise<void>[]> {
  const { urls, businesses, company } = setting;
  const business = (at: number): GrantedParty => businesses[at % businesses.length] ?? company;
  if (kind === "files") return numbersTo(36).map((at) => fileLane(urls, business(at), true));
  // A sandbox counts bodies by the address that they come from, so each business has its own, beside that of the honest parties.
  if (kind === "bodies")
    return numbersTo(48).map((at) => bodyLane(urls, business(at), `127.0.0.${2 + (at % 3)}`));
  if (kind === "lines") return numbersTo(12).map(() => fileLane(urls, business(0), false));
  const attack = await attacksOf(setting)[kind]();
  return numbersTo(attack[1]).map(() => lane(attack));
}

export async function start(kind: HostileKind, setting: HostileSetting): Promise<void> {
  sent.clear();
  isOver = false;
  running = Promise.allSettled(await lanesOf(kind, setting));
}

export async function stop(): Promise<Readonly<Record<string, number>>> {
  isOver = true;
  await running;
  return Object.fromEntries(sent);
}

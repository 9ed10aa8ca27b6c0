// Child process: one hostile party, which does what it does without a pause until it is told to stop. Each kind takes a different
// thing that others need: the deciding thread, the room for bodies, the decoder of images, turns of verification, the index.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import sharp from "sharp";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import { answerParent } from "../answer-parent.ts";
import { searchPlan } from "../catalogue.ts";
import { Connection, sendOne } from "../load.ts";
import { makeRequest, requestBytes, targetOf } from "../requests.ts";
import {
  type HostileKind,
  type HostileSetting,
  hoseBytes,
  Publisher,
  partyOf,
  type Sent,
  stonesSearch,
} from "./parties.ts";

/** A lane sends one request after another; it is asked for the next one, and for as many lanes as it wants. */
interface Attack {
  readonly url: string;
  readonly lanes: number;
  readonly next: (lane: number) => Promise<Uint8Array>;
}

const kilobyte = 1_000;
const recordsInline = 50;

/** An object of unknown members, whose names are as dear to compare with known ones as any. */
function unknownMembers(bytes: number): Uint8Array {
  const members: string[] = [];
  for (let at = 0, length = 0; length < bytes; at += 1) {
    members.push(`"${at.toString(36)}_availab":1`);
    length += (members.at(-1)?.length ?? 0) + 1;
  }
  return Buffer.from(`{${members.join(",")}}`);
}

type Attacks = Readonly<Record<Exclude<HostileKind, "files" | "lines">, () => Attack | Promise<Attack>>>;

function attacksOf({ urls, businesses, company }: HostileSetting): Attacks {
  const { caller } = partyOf(company);
  const [first] = businesses;
  const publisher = new Publisher(urls, partyOf(first ?? company));
  const post = (path: string, body: Uint8Array) =>
    makeRequest(urls.base_url, caller, { method: "POST", path, tag: "svc-retrieval", body });
  let made = 0;
  const number = (): number => {
    made += 1;
    return made;
  };
  return {
    faults: () => {
      const record = unknownMembers(150 * kilobyte);
      const records = Array.from({ length: recordsInline }, () => record);
      const next = () => publisher.push(records, "?validate_only=true");
      return { url: urls.business_url, lanes: 4, next };
    },
    batches: () => {
      const next = () => {
        const batch = number();
        return publisher.push(Array.from({ length: 2_000 }, (_, at) => hoseBytes(batch * 2_000 + at)));
      };
      return { url: urls.business_url, lanes: 2, next };
    },
    images: async () => {
      const images = await Promise.all(Array.from({ length: 24 }, noise));
      const headers = { "content-type": "image/png" };
      const plan = { method: "POST", path: "/v1/ads/images", tag: "svc-push", headers } as const;
      const next = () => {
        const body = images[number() % images.length] ?? new Uint8Array();
        return makeRequest(urls.business_url, publisher.party.caller, { ...plan, body });
      };
      return { url: urls.business_url, lanes: 4, next };
    },
    searches: () => {
      const next = () => makeRequest(urls.base_url, caller, searchPlan(stonesSearch(number())));
      return { url: urls.base_url, lanes: 16, next };
    },
    pools: () => {
      const next = () => {
        const session_ref = randomBytes(16).toString("hex");
        const asked = { session_ref, country: "GB", keywords: ["bread"], sort_by: "random:asc" };
        return post("/v1/ads/pool", Buffer.from(JSON.stringify(asked)));
      };
      return { url: urls.base_url, lanes: 16, next };
    },
    checks: () => {
      const record_base64 = Buffer.alloc(24_576, " ").toString("base64");
      const body = Buffer.from(JSON.stringify({ record_base64, seal: {} }));
      const request = requestBytes("POST", new URL(`${urls.verify_url}/v1/verify`), body, {});
      return { url: urls.verify_url, lanes: 64, next: async () => request };
    },
    forgeries: async () => {
      const genuine = Buffer.from(await makeRequest(urls.base_url, caller, searchPlan(stonesSearch(0))));
      const forged = `$1${Buffer.alloc(64).toString("base64")}`;
      const text = genuine.toString("latin1").replace(/(\r\nsignature: sig1=:)[^:]+/, forged);
      return { url: urls.base_url, lanes: 64, next: async () => Buffer.from(text, "latin1") };
    },
  };
}

/** An image that cannot be compressed. */
async function noise(): Promise<Uint8Array> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const drawn = sharp({ create: { width: 768, height: 768, channels: 3, background: "#336699", noise } });
  return new Uint8Array(await drawn.png().toBuffer());
}

const sent = new Map<string, number>();
let isOver = false;
let running: Promise<unknown> = Promise.resolve();

function count(status: number | string): void {
  sent.set(String(status), (sent.get(String(status)) ?? 0) + 1);
}

async function lane({ url, next }: Attack, at: number): Promise<void> {
  let connection = await Connection.open(targetOf(url));
  while (!isOver) {
    try {
      const { status } = await connection.exchange(await next(at));
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

const boundary = "the-boundary-of-a-storm";

/** Opens one upload after another, and sends each a file of tiny lines: slowly, or as fast as it is taken. */
async function fileLane({ urls, businesses }: HostileSetting, at: number, isSlow: boolean): Promise<void> {
  const file = businesses[at % businesses.length];
  if (file === undefined) return;
  const publisher = new Publisher(urls, partyOf(file));
  const piece = Buffer.from("e30=\n".repeat(isSlow ? 1_500 : 10_000));
  while (!isOver) {
    const body = Buffer.from(JSON.stringify({ record_type: "products" }));
    const begin = await publisher.post("/v1/bulk-uploads", body, randomBytes(16).toString("hex"));
    const answer = await sendOne(targetOf(urls.business_url), begin);
    count(`begin ${answer.status}`);
    if (answer.status !== 201) {
      await delay(200);
      continue;
    }
    const { upload_url, fields, content_type } = JSON.parse(answer.body) as BulkUpload;
    const { host, pathname, port, hostname } = new URL(upload_url);
    const part = (name: string, rest: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n`;
    const front = Object.entries(fields).map(([name, value]) => `${part(name, "")}${value}\r\n`);
    const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: 100000000\r\n\r\n`;
    const fileHead = part("file", `; filename="records.ndjson"\r\nContent-Type: ${content_type}`);
    const socket = connect({ port: Number(port), host: hostname });
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(head + front.join("") + fileHead);
    while (!isOver && !socket.destroyed && text === "") {
      if (!socket.writableNeedDrain) socket.write(piece);
      await delay(isSlow ? 100 : 5);
    }
    socket.destroy();
    count(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "unanswered");
  }
}

async function start({ kind, setting }: { readonly kind: HostileKind; readonly setting: HostileSetting }) {
  const attack = kind === "files" || kind === "lines" ? kind : await attacksOf(setting)[kind]();
  sent.clear();
  isOver = false;
  const lanes =
    typeof attack === "string"
      ? Array.from({ length: attack === "files" ? 36 : 12 }, (_, at) =>
          fileLane(setting, attack === "files" ? at : 0, attack === "files"),
        )
      : Array.from({ length: attack.lanes }, (_, at) => lane(attack, at));
  running = Promise.allSettled(lanes);
}

async function stop(): Promise<Sent> {
  isOver = true;
  await running;
  return Object.fromEntries(sent);
}

answerParent({ start, stop });

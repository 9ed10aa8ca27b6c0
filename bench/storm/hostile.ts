// Child process: one hostile party, which does what it does without a pause until it is told to stop. Each kind takes a different
// thing that others need: the deciding thread, the room for bodies, the decoder of images, turns of verification, the index.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { imageOf } from "../../node/images/images.fixture.ts";
import { product } from "../../node/publishing.fixture.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import { answerParent } from "../answer-parent.ts";
import { searchPlan } from "../catalogue.ts";
import { Connection, sendOne } from "../load.ts";
import { makeRequest, requestBytes, targetOf } from "../requests.ts";
import {
  type HostileKind,
  type HostileSetting,
  Publisher,
  partyOf,
  type Sent,
  trailRunners,
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

async function attackOf(kind: HostileKind, setting: HostileSetting): Promise<Attack | "files" | "lines"> {
  const { urls, businesses, company } = setting;
  const { caller } = partyOf(company);
  const publishers = businesses.map((file) => new Publisher(urls, partyOf(file)));
  const publisher = (lane: number): Publisher =>
    publishers[lane % publishers.length] ?? new Publisher(urls, partyOf(company));
  switch (kind) {
    case "files":
    case "lines":
      return kind;
    case "faults": {
      const record = unknownMembers(150 * kilobyte);
      const records = Array.from({ length: recordsInline }, () => record);
      const next = () => publisher(0).push(records, "?validate_only=true");
      return { url: urls.business_url, lanes: 4, next };
    }
    case "batches": {
      let made = 0;
      const next = () => {
        made += 1;
        // Nothing that others search for.
        const other = {
          product_name: "Garden hose",
          short_description: "A hose for a garden.",
          tags: ["hose"],
        };
        return publisher(0).push(Array.from({ length: 2_000 }, (_, at) => product(`h-${made}-${at}`, other)));
      };
      return { url: urls.business_url, lanes: 2, next };
    }
    case "images": {
      const images = await Promise.all(
        Array.from({ length: 24 }, () => imageOf("image/png", { width: 768, height: 768 })),
      );
      const headers = { "content-type": "image/png" };
      const plan = { method: "POST", path: "/v1/ads/images", tag: "svc-push", headers } as const;
      let sentImages = 0;
      const next = () => {
        const body = images[sentImages % images.length] ?? new Uint8Array();
        sentImages += 1;
        return makeRequest(urls.business_url, publisher(0).party.caller, { ...plan, body });
      };
      return { url: urls.business_url, lanes: 4, next };
    }
    case "searches": {
      let asked = 0;
      const next = () => {
        asked += 1;
        return makeRequest(urls.base_url, caller, searchPlan(trailRunners(asked)));
      };
      return { url: urls.base_url, lanes: 16, next };
    }
    case "pools": {
      const next = () => {
        const context = {
          ...{ session_ref: randomBytes(16).toString("hex"), country: "GB" },
          ...{ keywords: ["bread"], sort_by: "random" },
        };
        const body = Buffer.from(JSON.stringify(context));
        return makeRequest(urls.base_url, caller, {
          ...{ method: "POST", path: "/v1/ads/pool", tag: "svc-retrieval", body },
        });
      };
      return { url: urls.base_url, lanes: 16, next };
    }
    case "checks": {
      const record_base64 = Buffer.alloc(24_576, " ").toString("base64");
      const body = Buffer.from(JSON.stringify({ record_base64, seal: {} }));
      const request = requestBytes("POST", new URL(`${urls.verify_url}/v1/verify`), body, {});
      return { url: urls.verify_url, lanes: 64, next: async () => request };
    }
    case "forgeries": {
      const plan = searchPlan(trailRunners(0));
      const genuine = Buffer.from(await makeRequest(urls.base_url, caller, plan)).toString("latin1");
      const forged = genuine.replace(
        /(\r\nsignature: sig1=:)[^:]+/,
        `$1${Buffer.alloc(64).toString("base64")}`,
      );
      return { url: urls.base_url, lanes: 64, next: async () => Buffer.from(forged, "latin1") };
    }
  }
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
  const attack = await attackOf(kind, setting);
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

// What the parties of a storm do: each act is one request, or one file, from its arrival at the node until it is answered.

import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { utf8 } from "../../protocol/bytes.ts";
import { problem } from "../../protocol/problem.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import { answerJson, refused } from "../../service/answer.ts";
import { type FormEvent, receiveFile } from "../../service/publishing/bulk-file.ts";
import type { Random } from "../kernel/random.ts";
import { sealBatch } from "../workload/batch.ts";
import type { ProductChoice } from "../workload/product.ts";
import { type RequestParts, type SimRequest, signRequest } from "../workload/signed-request.ts";
import { codeOf, formOf, type ServeWitness, serve } from "../world/serve.ts";
import type { SimBusiness, SimCompany } from "../world/setup.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import { costs, type StormNode } from "./storm-node.ts";

/** Resolves with `ok`, or the code of the refusal. */
export type Act = () => Promise<string>;

export interface Stage {
  readonly storm: StormNode;
  readonly world: World;
  readonly node: SimNode;
  readonly random: Random;
}

/** A business that publishes, with the numbers that it has used. */
export interface Publisher {
  readonly business: SimBusiness;
  seq: number;
  /** Its last batch: it sends one after another. */
  last: Promise<unknown>;
}

const nobody: ServeWitness = {
  begun: () => {},
  refused: () => {},
  nonceAccepted: () => {},
  servedRecords: () => {},
  bug: (_node, _request, error) => {
    throw error;
  },
};

export function pause({ storm }: Pick<Stage, "storm">, ms: number): Promise<void> {
  return new Promise((resolve) => storm.kernel.after(ms, "storm waits", resolve));
}

async function answered(stage: Stage, request: SimRequest): Promise<string> {
  const { storm, node } = stage;
  storm.work(costs.request);
  await storm.edge.signatures(request.keyId, () => storm.work(costs.signature));
  const outcome = await serve(node, request, nobody);
  return outcome === null ? "not_answered" : codeOf(outcome);
}

type Sent = Pick<RequestParts, "route" | "path" | "body" | "subject" | "tag" | "idempotencyKey">;

function signed({ world, random }: Stage, party: SimCompany | Publisher, sent: Sent): SimRequest {
  const { crypto, kernel } = world.parts;
  const signer = "business" in party ? party.business.keys[0] : party.key;
  if (signer === undefined) throw new Error("a business of a storm has a key");
  return signRequest(crypto, {
    ...sent,
    signer,
    role: "business" in party ? "integration" : "retrieval",
    nonce: random.hex(24),
    created: Math.floor(kernel.now() / 1_000),
    lifetimeSeconds: 120,
  });
}

const retrieval = { tag: "svc-retrieval", idempotencyKey: null } as const;

function searchOf(stage: Stage, company: SimCompany, q: string | null): SimRequest {
  const text = q === null ? {} : { q, query_by: ["product_name"] };
  const body = { ...text, filter: { all: [{ country: "US" }] }, sort_by: "published_at:desc", limit: 10 };
  const path = "/v1/products/search";
  return signed(stage, company, {
    ...retrieval,
    route: "search",
    path,
    subject: "",
    body: utf8(JSON.stringify(body)),
  });
}

/** With `q`, a search by words that most rows have. */
export function search(stage: Stage, company: SimCompany, q: string | null = null): Act {
  return () => answered(stage, searchOf(stage, company, q));
}

/** A search whose signature is of another request. */
export function forgery(stage: Stage, company: SimCompany): Act {
  return () => {
    const { head, ...rest } = searchOf(stage, company, null);
    const { head: other } = searchOf(stage, company, null);
    return answered(stage, { ...rest, head: { ...head, signature: other.signature } });
  };
}

export function fetchRecord(stage: Stage, company: SimCompany, recordIds: readonly string[]): Act {
  return () => {
    const subject = stage.random.pick(recordIds);
    const path = `/v1/records/${subject}`;
    return answered(
      stage,
      signed(stage, company, { ...retrieval, route: "fetch", path, subject, body: null }),
    );
  };
}

export interface BatchPlan {
  readonly route: "publish" | "validate";
  readonly records: number;
  /** How large its body counts as, in bytes. */
  readonly bytes: number;
  /** Whether it is sent before the last one is answered. */
  readonly isImpatient?: boolean;
}

/** `published` is called with the ids of the records, once the batch is answered. */
export function batch(
  stage: Stage,
  publisher: Publisher,
  { route, records, bytes, isImpatient = false }: BatchPlan,
  published: (recordIds: readonly string[]) => void = () => {},
): Act {
  const { world, storm } = stage;
  const { business } = publisher;
  const send = async (): Promise<string> => {
    publisher.seq += 1;
    const idempotencyKey = `${business.uuid.slice(0, 6)}-${publisher.seq}`;
    const products = Array.from({ length: records }, (_, at) => productOf(publisher.seq, at));
    const { seq } = publisher;
    const [key] = business.keys;
    if (key === undefined) throw new Error("a business of a storm has a key");
    const { policyVersion } = business;
    const sealed = sealBatch(world.parts, { business, key, seq, products, policyVersion, idempotencyKey });
    const request = signed(stage, publisher, {
      route,
      path: "/v1/publish/products",
      tag: "svc-push",
      subject: sealed.pushId,
      body: sealed.body,
      idempotencyKey,
    });
    const turn = Promise.withResolvers<"ended" | "in work">();
    const owner = storm.ownerOf("bodyShares", business.uuid);
    const room = storm.edge.openBody(owner, () => turn.resolve("ended"));
    if (!room.take(bytes)) return "bodies_in_flight";
    // It arrives in no time.
    room.arrived(() => turn.resolve("in work"));
    if ((await turn.promise) === "ended") return "bodies_in_flight";
    const code = await answered(stage, request);
    room.release();
    published(sealed.leaves.map(({ recordId }) => recordId));
    return code;
  };
  if (isImpatient) return send;
  return () => {
    const sent = publisher.last.then(send);
    publisher.last = sent.catch(() => {});
    return sent;
  };
}

function productOf(edition: number, at: number): ProductChoice {
  return {
    id: `p${edition}-${at}`,
    cents: 1_000 + at,
    countries: ["US"],
    edition: 41 * edition,
    fault: null,
  };
}

/** A body that takes its room and never arrives as a whole. */
export function unfinishedBody(stage: Stage, owner: string): Act {
  const { storm } = stage;
  return async () => {
    const ended = Promise.withResolvers<"bodies_in_flight">();
    const room = storm.edge.openBody(storm.ownerOf("bodyShares", owner), () =>
      ended.resolve("bodies_in_flight"),
    );
    if (!room.take(16 * 1_048_576)) return "bodies_in_flight";
    const code = await Promise.race([ended.promise, pause(stage, 10_000).then(() => "ok")]);
    room.release();
    return code;
  };
}

export interface FilePlan {
  readonly pieces: number;
  readonly linesPerPiece: number;
  readonly pauseMs: number;
}

/** Asks for an upload, and sends its file piece by piece. */
export function file(stage: Stage, publisher: Publisher, plan: FilePlan): Act {
  const { world, storm, node, random } = stage;
  return async () => {
    storm.work(costs.request);
    const asked = signed(stage, publisher, {
      route: "upload",
      path: "/v1/bulk-uploads",
      tag: "svc-push",
      subject: "",
      body: utf8('{"record_type":"products"}'),
      idempotencyKey: random.hex(16),
    });
    const outcome = await serve(node, asked, nobody);
    if (outcome?.kind !== "answer" || typeof outcome.body !== "string")
      return outcome === null ? "not_answered" : codeOf(outcome);
    const upload = JSON.parse(outcome.body) as BulkUpload;
    let isEnded = false;
    const end = (): void => {
      isEnded = true;
    };
    const takeRoom = (business: string) =>
      storm.edge.takeFile(storm.ownerOf("filePlaces", business), end) ?? refused(noPlace);
    const form = piecesOf(stage, upload, plan, () => isEnded);
    const hash = { update: () => {}, digest: () => world.parts.crypto.sha256(utf8(upload.upload_id)) };
    return codeOf(await receiveFile(node.bulk, { uploadId: upload.upload_id, form, takeRoom, hash }));
  };
}

const noPlace = problem("unavailable", "Too many files are being taken in.", { reason: "bodies_in_flight" });

async function* piecesOf(
  stage: Stage,
  upload: BulkUpload,
  { pieces, linesPerPiece, pauseMs }: FilePlan,
  isEnded: () => boolean,
): AsyncGenerator<FormEvent, void> {
  yield* formOf(upload, new Uint8Array());
  const bytes = utf8("e30=\n".repeat(linesPerPiece));
  for (let piece = 0; piece < pieces; piece += 1) {
    await pause(stage, pauseMs);
    if (isEnded()) return yield { kind: "fault", problem: noPlace };
    stage.storm.work(costs.piece);
    yield { kind: "bytes", bytes };
  }
}

/** Decoding takes another process, and no time of the thread. */
export function image(stage: Stage, owner: string, decodeMs: number): Act {
  const { storm } = stage;
  return async () => {
    storm.work(costs.request);
    const endTurn = await storm.decoding(storm.ownerOf("decodingTurns", owner));
    if (endTurn === null) return "images_in_decoding";
    await pause(stage, decodeMs);
    endTurn();
    return "ok";
  };
}

/** A check that anyone may make, from one address. */
export function check({ storm }: Stage, address: string): Act {
  const request = new IncomingMessage(new Socket());
  return async () => {
    const owner = storm.ownerOf("checkTurns", address);
    const outcome = await storm.edge.checks.answer({ request, owner }, () => {
      storm.work(costs.check);
      return answerJson(200, {});
    });
    return codeOf(outcome);
  };
}

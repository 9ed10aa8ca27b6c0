// Parties of the storm: businesses and AI companies with keys of their own, and the requests that they sign.

import { publishBody, sealBatch } from "../../client/batch.ts";
import { createSigner } from "../../crypto/file-signer.ts";
import { generatePrivateJwk, type PrivateJwk } from "../../crypto/private-jwk.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/canonical-json.ts";
import type { SealContext } from "../../protocol/wire/push.ts";
import { productBytes, type QueryBody } from "../catalogue.ts";
import type { Child } from "../child.ts";
import { ask, type Caller, callerOf, makeRequest, type RequestPlan } from "../requests.ts";

/** A party as another process is told of it. */
export interface PartyFile {
  readonly uuid: string;
  readonly private_jwk: PrivateJwk;
  readonly grant: string;
}

export interface Party {
  readonly file: PartyFile;
  readonly caller: Caller;
}

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
} as const;
export type HostileKind = keyof typeof hostileKinds;

export interface StormUrls {
  readonly base_url: string;
  readonly business_url: string;
  readonly verify_url: string;
}

export interface HostileSetting {
  readonly urls: StormUrls;
  readonly businesses: readonly PartyFile[];
  readonly company: PartyFile;
}

/** How many requests of each status it sent. */
export type Sent = Readonly<Record<string, number>>;

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

/** A product that no search for stones finds. */
export function hoseBytes(index: number): Uint8Array {
  const stone = JSON.parse(Buffer.from(productBytes(index)).toString()) as JsonObject;
  const words = { product_name: "Garden hose", short_description: "A hose for a garden.", tags: ["hose"] };
  return canonicalBytes({ ...stone, ...words });
}

let parties = 0;

export async function newParty(child: Child, role: "integration" | "retrieval"): Promise<Party> {
  parties += 1;
  const uuid = `30000000-0000-4000-8000-${String(parties).padStart(12, "0")}`;
  const private_jwk = generatePrivateJwk("Ed25519");
  const { publicJwk } = createSigner(private_jwk);
  return partyOf({ uuid, private_jwk, grant: await child.call<string>("grant", { role, uuid, publicJwk }) });
}

export function partyOf(file: PartyFile): Party {
  return { file, caller: callerOf(file) };
}

/** A business that knows what its next seal must name. */
export class Publisher {
  readonly party: Party;
  readonly #urls: StormUrls;
  #context: Promise<SealContext> | null = null;
  #seq = Date.now();

  constructor(urls: StormUrls, party: Party) {
    this.#urls = urls;
    this.party = party;
  }

  /** The request that pushes these records, signed; `query` begins with `?`. */
  async push(records: readonly Uint8Array[], query = ""): Promise<Uint8Array> {
    const { caller, file } = this.party;
    this.#context ??= ask(this.#urls.business_url, caller, {
      ...{ method: "GET", path: "/v1/seal-context", tag: "svc-business-read" },
    }).then((text) => JSON.parse(text) as SealContext);
    const { cert_id: certId, ai_policy_version: aiPolicyVersion } = await this.#context;
    this.#seq += 1;
    const batch = await sealBatch(
      records,
      {
        ...{ businessUuid: file.uuid, certId, aiPolicyVersion, recordType: "products" },
        ...{ seq: this.#seq, sealedAtMs: Date.now() },
      },
      caller.key,
    );
    return this.post(`/v1/publish/products${query}`, publishBody(batch.batch_seal, records), batch.push_id);
  }

  post(path: string, body: Uint8Array, idempotencyKey: string): Promise<Uint8Array> {
    const headers = { "idempotency-key": idempotencyKey };
    const plan: RequestPlan = { method: "POST", path, tag: "svc-push", body, headers };
    return makeRequest(this.#urls.business_url, this.party.caller, plan);
  }
}

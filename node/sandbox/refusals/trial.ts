// What trying a refusal needs: the sandbox as `sandbox.json` describes it, and HTTP. It knows nothing else, so a stranger
// can do everything that it does.

import { request as httpRequest } from "node:http";
import { publishBody, sealBatch } from "../../../client/batch.ts";
import { signRequest } from "../../../client/sign-request.ts";
import { generatePrivateJwk, parseSigningKey, type SigningKey } from "../../../client/signing-key.ts";
import { toBase64Url, utf8 } from "../../../protocol/bytes.ts";
import type { SignatureTag } from "../../../protocol/http-signature.ts";
import { canonicalBytes, type JsonObject } from "../../../protocol/json/canonical-json.ts";
import type { Sandbox, SandboxKey } from "../sandbox-file.ts";
import { sealOwnersDecision } from "../sealer.ts";

/** How something was refused. */
export interface Refused {
  /** The status of the answer; null if no service was asked. */
  readonly status: number | null;
  readonly code: string;
  readonly reason?: string;
  readonly detail: string;
}

export interface Refusal {
  /** The code, or `verify/<reason>`, `record/<code>`, `seal_invalid/<reason>`. */
  readonly name: string;
  /** A sentence that says which sample is used and what is done with it. */
  readonly how: string;
  readonly attempt: (trial: Trial) => Promise<Refused>;
}

/** What is tried, by the names of refusals. */
export type Attempts = Readonly<Record<string, Refusal["attempt"]>>;

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The parsed body; empty if it is not JSON. */
  readonly json: JsonObject;
}

/** The key that signs a request. */
export interface Caller {
  readonly key: SigningKey;
  /** The grant that is sent; null if the key has none or does not send it. */
  readonly grant: string | null;
}

export interface Publisher extends Caller {
  readonly businessUuid: string;
  readonly certId: string;
}

export interface SentRequest {
  readonly url: string;
  readonly method?: string;
  readonly caller?: Caller | null;
  readonly tag?: SignatureTag;
  readonly body?: string | Uint8Array;
  /** The body that is sent in place of the one that was signed. */
  readonly sentBody?: string;
  readonly nonce?: string;
  /** Unix seconds. */
  readonly created?: number;
  /** Headers that replace or extend those of the request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SealChanges {
  readonly seq?: number;
  readonly sealedAtMs?: number;
  readonly certId?: string;
  readonly aiPolicyVersion?: number;
  readonly recordType?: string;
}

export interface Trial {
  readonly sandbox: Sandbox;
  send(request: SentRequest): Promise<Answer>;
  /** The integration key whose own note, or whose mandate's note, contains these words. */
  publisher(words: string): Promise<Publisher>;
  /** The key of the AI company whose note contains the first words; the key's own note contains the second. */
  searcher(company: string, words: string): Promise<Caller>;
  /** The keys for everyday use. */
  readonly everyday: Promise<{ readonly publisher: Publisher; readonly searcher: Caller }>;
  newKey(): Promise<SigningKey>;
  seal(
    publisher: Publisher,
    records: readonly Uint8Array[],
    changes?: SealChanges,
  ): ReturnType<typeof sealBatch>;
  /** The owner of the publisher's business decides about a held push. */
  decideHold(publisher: Publisher, pushId: string, decision: "confirm" | "reject"): Promise<Answer>;
  /** Seals the records and sends them. */
  publish(
    publisher: Publisher,
    records: readonly Uint8Array[],
    options?: {
      readonly seal?: SealChanges;
      readonly request?: Partial<SentRequest>;
      readonly type?: string;
    },
  ): Promise<Answer>;
}

export function openTrial(sandbox: Sandbox): Trial {
  let lastSeq = 0;
  const nextSeq = (): number => {
    lastSeq = Math.max(lastSeq + 1, Date.now());
    return lastSeq;
  };
  const seal: Trial["seal"] = (publisher, records, changes = {}) =>
    sealBatch(
      records,
      {
        businessUuid: publisher.businessUuid,
        certId: publisher.certId,
        // Every business that is meant for trying has one.
        aiPolicyVersion: 1,
        recordType: "products",
        seq: nextSeq(),
        sealedAtMs: Date.now(),
        ...changes,
      },
      publisher.key,
    );
  const everyday = async () => ({
    publisher: await publisherOf(sandbox, "for everyday use", "one for each way"),
    searcher: await searcherOf(sandbox, "unless told otherwise", "for everyday use"),
  });
  return {
    sandbox,
    send,
    publisher: (words) => publisherOf(sandbox, words),
    searcher: (company, words) => searcherOf(sandbox, company, words),
    get everyday() {
      return everyday();
    },
    newKey: async () => signingKey(await generatePrivateJwk("Ed25519")),
    seal,
    decideHold: async (publisher, push_id, decision) => {
      const { businessUuid: business_uuid } = publisher;
      const sealed = await sealOwnersDecision(sandbox, {
        business_uuid,
        push_id,
        decision,
        atMs: Date.now(),
      });
      return send({
        url: `${sandbox.business_url}/v1/pushes/${push_id}/hold`,
        caller: publisher,
        tag: "svc-push",
        body: JSON.stringify({ decision: sealed }),
      });
    },
    publish: async (publisher, records, { seal: changes, request, type = "products" } = {}) => {
      const { batch_seal } = await seal(publisher, records, changes);
      return send({
        url: `${sandbox.business_url}/v1/publish/${type}`,
        caller: publisher,
        tag: "svc-push",
        body: publishBody(batch_seal, records),
        ...request,
        headers: { "idempotency-key": freshText(), ...request?.headers },
      });
    },
  };
}

async function publisherOf(sandbox: Sandbox, words: string, business = ""): Promise<Publisher> {
  for (const each of sandbox.businesses) {
    if (!each.note.includes(business)) continue;
    const key = each.integration_keys.find(({ key_id, note }) => {
      const mandate = each.mandates.find((mandate) => mandate.key_id === key_id);
      return `${each.note} ${note} ${mandate?.note ?? ""}`.includes(words);
    });
    if (key !== undefined)
      return { ...(await callerOf(key)), businessUuid: each.business_uuid, certId: each.cert_id };
  }
  throw new Error(`sandbox.json notes no integration key with the words ${JSON.stringify(words)}.`);
}

async function searcherOf(sandbox: Sandbox, company: string, words: string): Promise<Caller> {
  const keys = sandbox.ai_companies.filter(({ note }) => note.includes(company)).flatMap((each) => each.keys);
  const key = keys.find(({ note }) => note.includes(words));
  if (key === undefined)
    throw new Error(`sandbox.json notes no retrieval key with the words ${JSON.stringify(words)}.`);
  return callerOf(key);
}

async function callerOf({ private_jwk, grant }: SandboxKey): Promise<Caller> {
  return { key: await signingKey(private_jwk), grant };
}

async function signingKey(jwk: unknown): Promise<SigningKey> {
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new Error(`A key cannot be used: ${key.detail}`);
  return key.value;
}

export function freshText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

async function send(request: SentRequest): Promise<Answer> {
  const url = new URL(request.url);
  const body = typeof request.body === "string" ? utf8(request.body) : (request.body ?? null);
  const method = request.method ?? (body === null ? "GET" : "POST");
  const { caller = null, tag = "svc-retrieval" } = request;
  const signed =
    caller &&
    (await signRequest({
      method,
      url,
      body,
      key: caller.key,
      tag,
      created: request.created ?? Math.floor(Date.now() / 1_000),
      nonce: request.nonce ?? freshText(),
    }));
  const headers: Record<string, string> = {
    accept: "application/json",
    ...(body === null ? {} : { "content-type": "application/json" }),
    ...(caller?.grant ? { "svc-sandbox-key": caller.grant } : {}),
    ...signed?.headers,
    ...request.headers,
  };
  return exchange(url, {
    method,
    headers,
    body: request.sentBody === undefined ? body : utf8(request.sentBody),
  });
}

/** `fetch` would set Host itself. */
function exchange(
  url: URL,
  {
    method,
    headers,
    body,
  }: { readonly method: string; readonly headers: Record<string, string>; readonly body: Uint8Array | null },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { "content-length": String(body.length) };
    const request = httpRequest(
      url,
      { method, headers: { ...length, ...headers }, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text, json: jsonOf(text) }));
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(body ?? undefined);
  });
}

export function jsonOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

/** The content of a problem document. Any other answer was not a refusal: its code is empty. */
export function refusedBy({ status, json }: Answer): Refused {
  const { code = "", reason, detail = "" } = json;
  return {
    status,
    code: String(code),
    ...(typeof reason === "string" ? { reason } : {}),
    detail: String(detail),
  };
}

/** The exact bytes of a trial product; `changes` replace members, or leave them out if undefined. */
export function trialProduct(id: string, changes: Readonly<Record<string, unknown>> = {}): Uint8Array {
  const record = {
    schema: "svc/products/1",
    language: "en",
    business_product_id: id,
    product_name: "Trial product",
    countries: ["IE"],
    vertical: "home_garden",
    category: "lighting",
    channel: "online",
    brand: "Trial",
    tags: ["trial"],
    short_description: "It is not for sale.",
    prices: [{ country: "IE", currency: "EUR", amount: "19.00" }],
    on_sale: false,
    availability: "in_stock",
    product_url: "https://brightwater-trials.example/product",
    ...changes,
  };
  const members = Object.entries(record).filter(([, value]) => value !== undefined);
  return canonicalBytes(Object.fromEntries(members) as JsonObject);
}

/** A search that has results; `changes` replace members, or leave them out if undefined. */
export function trialSearch(changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    collection: "products",
    filter: { all: [{ country: "US" }] },
    sort_by: "price_amount:asc",
    limit: 1,
    ...changes,
  });
}

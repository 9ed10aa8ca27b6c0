// An AI company as a customer is one: its script has the client library, the verifier with pinned anchors, and HTTP. It searches,
// fetches, shows ads and pays, at every region in turn, while nodes come and go. For tests.
//   C1. Nothing is believed before it is verified offline: each row, record, receipt and ad, with the bytes of its pictures.
//   C2. A request that got no answer is sent again under the same key with a new nonce. The service charges a nonce once at most, so
//       what is charged lies between the answers that came and the requests that were signed; which of the others were served is
//       in the listed receipts, each of which names the hash of one signed request.
//       A request that was refused, for whatever reason, is not charged: no receipt answers it.
//   C3. When the money is spent, the company pays in, and goes on.

import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import { SvcConnectionError, SvcProblemError } from "../../client/errors.ts";
import type { Fetch } from "../../client/sender.ts";
import { createSvcClient, type JsonAnswer, type SvcClient } from "../../client/service-client.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { signatureBase } from "../../protocol/http-signature.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import type { AdItem, PoolAnswer } from "../../protocol/wire/ad-requests.ts";
import type { Report } from "../../verifier/members.ts";
import { createVerifier, type Verifier } from "../../verifier/verifier.ts";

/** Where a node, or a region behind a load balancer, is asked. */
export interface Door {
  readonly region: string;
  readonly baseUrl: string;
  readonly businessUrl: string;
  readonly verifyUrl: string;
}

export interface CompanyOptions {
  readonly anchors: Anchors;
  readonly key: SigningKey;
  /** They may change while the company works. */
  readonly doors: () => readonly Door[];
  /** The brand of what is searched, and the subject of the ads. */
  readonly brand: string;
  readonly subject: string;
  readonly random: () => number;
  /** By the company's clock. */
  readonly now?: () => number;
  /** An operator enters what the company has transferred. */
  readonly payIn: (entryId: string, amount: string) => Promise<void>;
}

/** What the company knows of its own requests. */
export interface OwnBooks {
  /** The hash of every signed search and fetch. */
  readonly signed: Set<string>;
  /** The hash of each of them that was refused. */
  readonly refused: Set<string>;
  /** The hash of each of them that was answered, with the kind. */
  readonly answered: Map<string, "search" | "fetch">;
  /** How many searches and fetches each address is being asked now. */
  readonly asked: Map<string, number>;
  /** Requests without an answer that may have been served. */
  lost: number;
  exhausted: number;
  readonly paidIn: string[];
  /** The tokens of renders that were confirmed, by campaign. */
  readonly rendered: Map<string, Set<string>>;
  readonly clicked: Set<string>;
  verified: number;
}

export interface AiCompany {
  readonly options: CompanyOptions;
  readonly books: OwnBooks;
  /** Under the key set that the service publishes, judged by the anchors. */
  verifier(): Promise<Verifier>;
  client(door: Door): SvcClient;
  /** Sends a request at some region until it is answered (C2). */
  patiently<T>(ask: (client: SvcClient) => Promise<T>): Promise<T>;
  pay(): Promise<void>;
  /** Searches and fetches once, and shows an ad of a pool. */
  round(): Promise<void>;
  openPool(subject: string): Promise<PoolAnswer>;
  /** Confirms a render and a click; the reason why the render is refused, or null. */
  show(item: AdItem): Promise<string | null>;
}

export const payment = "12.5";
const patienceMs = 120_000;
const pauseMs = 100;
/** A payment is noticed within a second. */
const noticedMs = 2_000;
const timeoutMs = 15_000;

export function openAiCompany(options: CompanyOptions): AiCompany {
  const books: OwnBooks = {
    signed: new Set(),
    refused: new Set(),
    asked: new Map(),
    answered: new Map(),
    lost: 0,
    exhausted: 0,
    paidIn: [],
    rendered: new Map(),
    clicked: new Set(),
    verified: 0,
  };
  const client = (door: Door): SvcClient => clientOf(options, books, door);
  const asking = { options, books, client, pay: paying(options, books) };
  const patiently: AiCompany["patiently"] = (ask) => askPatiently(asking, ask);
  let trusted: Promise<Verifier> | null = null;
  const verifier = (): Promise<Verifier> => {
    trusted ??= readVerifier(options.anchors, patiently);
    return trusted;
  };
  const company: AiCompany = {
    options,
    books,
    client,
    verifier,
    patiently,
    pay: asking.pay,
    round: async () => {
      await searchAndFetch(company);
      const { ads } = await company.openPool(options.subject);
      const item = ads[Math.floor(options.random() * ads.length)];
      if (item !== undefined) await company.show(item);
    },
    openPool: (subject) => openPool(company, subject),
    show: (item) => show(company, item),
  };
  return company;
}

/** The campaign that the sealed record of an ad names. */
function campaignOf({ record_base64 }: AdItem): string {
  return (JSON.parse(atob(record_base64)) as { readonly campaign_id: string }).campaign_id;
}

function clientOf({ key, now = Date.now }: CompanyOptions, books: OwnBooks, door: Door): SvcClient {
  const { baseUrl, businessUrl, verifyUrl } = door;
  const count = (change: number) => books.asked.set(baseUrl, (books.asked.get(baseUrl) ?? 0) + change);
  const noted: Fetch = (url, init) => {
    if (!isBilled(init.method, new URL(url).pathname)) return fetch(url, init);
    const request = hashOfRequest(url, init);
    books.signed.add(request);
    count(1);
    return fetch(url, init)
      .then((answer) => {
        if (!answer.ok) books.refused.add(request);
        return answer;
      })
      .finally(() => count(-1));
  };
  return createSvcClient({ fetch: noted, key, now, baseUrl, businessUrl, verifyUrl, timeoutMs });
}

function isBilled(method: string, path: string): boolean {
  return (method === "POST" && path === "/v1/search") || path.startsWith("/v1/records/");
}

/** What the receipt of a request will name, made from what is sent. */
function hashOfRequest(url: string, { method, headers }: Parameters<Fetch>[1]): string {
  const { host, pathname, search } = new URL(url);
  const params = (headers["signature-input"] ?? "").replace(/^sig1=/, "");
  const query = search === "" ? null : search;
  const contentDigest = headers["content-digest"] ?? null;
  return hashOf(
    utf8(signatureBase({ method, authority: host, path: pathname, query, contentDigest }, params)),
  );
}

/** Pays in once for all requests that find the money spent at the same time. */
function paying({ payIn }: CompanyOptions, books: OwnBooks): () => Promise<void> {
  let paying: Promise<void> | null = null;
  let paidMs = 0;
  const pay = async (): Promise<void> => {
    await payIn(`payment-${books.paidIn.length + 1}`, payment);
    books.paidIn.push(payment);
    paidMs = performance.now();
  };
  return () => {
    if (paying === null && performance.now() - paidMs < noticedMs) return wait(pauseMs);
    paying ??= pay().finally(() => {
      paying = null;
    });
    return paying;
  };
}

async function askPatiently<T>(
  { options: { doors, random }, books, client, pay }: Pick<AiCompany, "options" | "books" | "client" | "pay">,
  ask: (client: SvcClient) => Promise<T>,
): Promise<T> {
  const lateMs = performance.now() + patienceMs;
  for (let at = Math.floor(random() * doors().length); ; at += 1) {
    const door = doors()[at % doors().length];
    if (door === undefined) throw new Error("The company knows no door.");
    try {
      return await ask(client(door));
    } catch (error) {
      if (performance.now() > lateMs) throw error;
      if (error instanceof SvcConnectionError) {
        if (error.effect === "unknown") books.lost += 1;
      } else if (!(error instanceof SvcProblemError)) throw error;
      else if (error.code === "allowance_exhausted") {
        books.exhausted += 1;
        await pay();
      } else if (![429, 502, 503, 504].includes(error.status)) throw error;
      await wait(pauseMs);
    }
  }
}

async function readVerifier(anchors: Anchors, patiently: AiCompany["patiently"]): Promise<Verifier> {
  const { body } = await patiently((client) => client.verificationRead("/.well-known/keys"));
  const verifier = createVerifier({ anchors, keySet: body as JsonValue });
  if (!verifier.ok) throw new Error(verifier.detail);
  return verifier.value;
}

async function searchAndFetch(company: AiCompany): Promise<void> {
  const { patiently, options, books } = company;
  const verifier = await company.verifier();
  const found = await patiently((client) =>
    client.search({
      collection: "products",
      sort_by: "published_at:desc",
      filter: { all: [{ country: "US" }, { brand: options.brand }] },
    }),
  );
  books.answered.set(found.requestHash ?? "", "search");
  const caller = callerOf(company, found);
  noteValid(books, verifier.searchAnswer(utf8(found.text), caller));
  const [row] = found.body.rows;
  if (row === undefined) return;
  const fetched = await patiently((client) => client.fetchRecord(row.record_id));
  books.answered.set(fetched.requestHash ?? "", "fetch");
  const about = `/v1/certificates/${fetched.body.business_uuid}`;
  const read = async (path: string) =>
    (await patiently((client) => client.verificationRead(`${about}${path}`))).body as JsonValue;
  const [businessKeys, certificate, keyCustody] = [
    await read("/keys"),
    await read(""),
    await read("/key-custody"),
  ];
  const evidence = { ...callerOf(company, fetched), businessKeys, certificate, keyCustody };
  const report = verifier.fetchAnswer(utf8(fetched.text), evidence);
  noteValid(books, report);
  expect(report.checks.find(({ name }) => name === "seal")?.state, JSON.stringify(report)).toBe("ok");
}

function callerOf(
  { options: { key } }: AiCompany,
  { requestHash }: Pick<JsonAnswer<unknown>, "requestHash">,
) {
  return { callerKeyId: key.keyId, requestHash: requestHash ?? "" };
}

function noteValid(books: OwnBooks, report: Report): void {
  expect(report, JSON.stringify(report)).toMatchObject({ valid: true });
  books.verified += 1;
}

/** A pool, each item of which is verified alone, with its pictures. */
async function openPool(company: AiCompany, subject: string): Promise<PoolAnswer> {
  const { patiently, books } = company;
  const verifier = await company.verifier();
  const answer = await patiently((client) =>
    client.adPool({ country: "US", keywords: [subject], sort_by: "random:asc" }),
  );
  const { ads, retrieval_id: retrievalId, receipt } = answer.body;
  const rows = ads.flatMap(({ row }) => {
    const verdict = verifier.rowSignature(row as JsonValue);
    return verdict.ok ? [verdict.value] : [];
  });
  expect(rows).toHaveLength(ads.length);
  const told = { ...callerOf(company, answer), retrievalId, rows, isWhole: true };
  const served = verifier.receipt(receipt as unknown as JsonValue, told);
  expect(served, JSON.stringify(served)).toMatchObject({ ok: true });
  for (const item of ads) {
    const images = new Map<string, Uint8Array>();
    for (const { url } of item.creative.images) images.set(url, await imageAt(company, url));
    const servedAt = served.ok ? served.value.served_at : "";
    const report = verifier.adItem(item as unknown as JsonValue, { images, servedAt });
    noteValid(books, report);
    expect(report.checks.find(({ name }) => name === "images")?.state).toBe("ok");
  }
  return answer.body;
}

/** A link is valid on every node, so another is asked where the one that made it is gone. */
async function imageAt({ patiently, options }: AiCompany, url: string): Promise<Uint8Array> {
  const { pathname, search } = new URL(url);
  const origins = [new URL(url).origin, ...options.doors().map(({ baseUrl }) => baseUrl)];
  let at = -1;
  return patiently(async () => {
    at += 1;
    const origin = origins[at % origins.length] ?? "";
    const answer = await fetch(`${origin}${pathname}${search}`).catch((cause: unknown) => {
      throw new SvcConnectionError("The picture cannot be fetched.", { effect: "not_applied", cause });
    });
    expect(answer.status).toBe(200);
    return new Uint8Array(await answer.arrayBuffer());
  });
}

/** A statement that got no answer is repeated with its token, which is confirmed once. */
async function show({ patiently, books }: AiCompany, item: AdItem): Promise<string | null> {
  const { render_token, ad_id } = item;
  try {
    const { body } = await patiently((client) => client.renderAd({ render_token, format: "card" }));
    expect(body).toMatchObject({ ad_id, label: { text: "Sponsored" } });
    const campaign = campaignOf(item);
    const tokens = books.rendered.get(campaign) ?? new Set();
    books.rendered.set(campaign, tokens.add(render_token));
    const { click_token } = body;
    const clicked = await patiently((client) => client.clickAd({ click_token }));
    expect(clicked.body).toMatchObject({ ad_id });
    books.clicked.add(click_token);
    return null;
  } catch (error) {
    if (error instanceof SvcProblemError && error.code === "ad_unavailable")
      return String(error.problem["reason"]);
    throw error;
  }
}

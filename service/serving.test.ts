import { describe, expect, it } from "vitest";
import type { PartyFacts } from "../actors/messages/business.ts";
import type { DomainStatus } from "../actors/messages/domains.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { hashOf, utf8 } from "../protocol/bytes.ts";
import { canonicalBytes } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { endpointDomains } from "../protocol/keys/certificate.ts";
import { problem } from "../protocol/problem.ts";
import { projectedRowText, projectRecord } from "../protocol/projection/project.ts";
import { representUsNames } from "../protocol/records/business-files.ts";
import { parseRecord } from "../protocol/records/parse-record.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { signedRowText } from "../protocol/row.ts";
import { part, rubbish } from "../protocol/rubbish.fixture.ts";
import type { RecordHead, RecordStore, ServedRecord } from "../storage/record-store.ts";
import type { RowIndex } from "../storage/row-index.ts";
import type { Sponsored, SponsoredRows } from "./ads/sponsored-rows.ts";
import { bodyText, type Refused, refused } from "./answer.ts";
import type { Authenticated } from "./authentication/authenticate.ts";
import { createQueryBudget, type QueryBudget, queryCostMax } from "./authentication/request-rate.ts";
import { businessUuid, companyUuid, keyFacts, partyFacts } from "./authentication.fixture.ts";
import type { Allowance } from "./money/allowance.ts";
import { createTakenDown, noPolicyInForce, type PolicyInForce, type Register } from "./register/register.ts";
import { createFetch } from "./retrieval/fetch.ts";
import type { Insight } from "./retrieval/insight.ts";
import { LeaseLost, type Receipts } from "./retrieval/receipts.ts";
import { createRecordStanding } from "./retrieval/record-standing.ts";
import { createSearch } from "./retrieval/search.ts";

const recordId = `bf_${"a".repeat(26)}`;
const record = sampleRecords.business_files;
const bytes = canonicalBytes(record);
const hash = hashOf(bytes);
const certId = `sha256:${"1".repeat(64)}`;
const row = signedRowText(
  projectedRowText(
    projectRecord({
      collection: "business_files",
      record,
      recordId,
      businessUuid,
      hash,
      certId,
      keyId: "k".repeat(43),
      publishedAt: 1_770_000_000,
      aiPolicyVersion: 1,
    }),
  ),
  `${"A".repeat(86)}==`,
);
const head: RecordHead = {
  record_id: recordId,
  business_uuid: businessUuid,
  type: "business_files",
  live: true,
  generation: 1,
  change: 1,
  hash,
};
const served: ServedRecord = {
  head,
  seal: { seal_id: "s", envelope: '{"seal":1}', tree_size: null },
  version: {
    ...head,
    bytes,
    seal_id: "s",
    leaf_index: null,
    proof: new Uint8Array(),
    sidecar: '{"sidecar":1}',
    row,
    cert_id: certId,
    published_at_ms: 1_770_000_000_000,
  },
};

function world(budget: QueryBudget | null = null, allowance: Allowance | null = null) {
  const state = {
    kept: 0,
    signed: 0,
    reads: 0,
    searches: 0,
    head: head as RecordHead | null,
    party: partyFacts(businessUuid) as PartyFacts | null,
    keepFails: false,
    policy: { version: 1, bitsText: '{"x":1}' } as PolicyInForce,
    delayedUntil: [] as number[],
    counted: [] as unknown[],
    mayHaveFallen: false,
    filtered: null as Sponsored | null,
    sponsored: new Map() as Sponsored,
    poolFails: false,
  };
  const receipts = receiptsIn(state);
  const register = {
    policyInForce: () => state.policy,
    party: () => state.party,
    policy: async () => ({
      version: state.policy.version,
      record_base64: btoa('{"schema" : "svc/ai_policy/1"}'),
      seal: '{"policySeal":1}',
    }),
    blockedBusinesses: () => [],
    hasBlocked: () => false,
    takenDown: createTakenDown(),
    mayHaveFallen: () => state.mayHaveFallen,
    companyGroups: { membersOf: () => [] },
  } as unknown as Register;
  const records = {
    readHead: async () => state.head,
    readServed: async () => {
      state.reads += 1;
      return state.head?.live === true ? { ...served, head: state.head } : null;
    },
  } as unknown as RecordStore;
  const insight = part<Insight>({
    markOf: (_, sessionRef) => `mark of ${sessionRef}`,
    searched: (each) => void state.counted.push(each),
    fetched: (each) => void state.counted.push(each),
  });
  const standing = createRecordStanding({ register, records });
  const delayUntil = async (atMs: number): Promise<void> => void state.delayedUntil.push(atMs);
  const index = {
    search: async () => {
      state.searches += 1;
      return [{ record_id: recordId, business_uuid: businessUuid, row }];
    },
  } as unknown as RowIndex;
  return {
    state,
    fetch: createFetch({
      records,
      register,
      receipts,
      insight,
      budget,
      allowance,
      standing,
      clock: { now: () => 0 },
      crypto: nativeCrypto,
      verifyUrl: "https://verify.test",
      delayUntil,
    }),
    search: createSearch({
      index,
      register,
      receipts,
      insight,
      budget,
      allowance,
      sponsored: sponsoredIn(state),
      searchTurns: (_, query) => query(),
      standing,
    }),
  };
}

function receiptsIn(state: { signed: number; kept: number; readonly keepFails: boolean }): Receipts {
  return {
    begin: () => ({ retrievalId: "ret_1", servedAtMs: 0, servedAt: "2026-03-01T00:00:00.000Z" }),
    sign: async (what) => {
      state.signed += 1;
      return { envelope: '{"receipt":1}', keyId: "", signature: new Uint8Array(64), served: what };
    },
    unsigned: () => '{"receipt":0}',
    sharesCommits: true,
    keep: async () => {
      if (state.keepFails) throw new LeaseLost();
      state.kept += 1;
      return { retract: async () => {} };
    },
  };
}

function sponsoredIn(state: {
  readonly filtered: Sponsored | null;
  readonly sponsored: Sponsored;
  readonly poolFails: boolean;
}): SponsoredRows {
  return {
    open: () => ({
      filtered: async () => state.filtered,
      among: async () => state.sponsored,
      keep: async () => {
        if (state.poolFails) throw new Error("the pool was not kept");
      },
    }),
  };
}

function caller(claim: Refused | null = null): Authenticated {
  return {
    kind: "authenticated",
    caller: {
      key: keyFacts("k", { kty: "OKP", crv: "Ed25519", x: "" }, { role: "retrieval", party: companyUuid }),
      party: partyFacts(companyUuid, { kind: "ai_company" }),
      nonce: "n",
      expiresMs: 0,
      requestHash: hash,
      tag: "svc-retrieval",
    },
    claimNonce: () => ({
      claimed: Promise.resolve(claim),
      decided: Promise.resolve({ refused: claim, commit: null }),
    }),
    headers: {},
  };
}

const reused = refused(problem("nonce_reused", "used"));
const fetchCall = (claim: Refused | null = null) => ({
  authenticated: caller(claim),
  recordId,
  arrivedAtMs: 5_000,
  isDelivered: true,
});
const searchBody = utf8('{"filter":{"all":[{"country":"GB"}]},"sort_by":"published_at:desc"}');
const searchCall = (claim: Refused | null = null) => ({
  authenticated: caller(claim),
  body: searchBody,
  collection: "business_files" as const,
});
const textOf = (outcome: Awaited<ReturnType<ReturnType<typeof createFetch>>>): string => {
  if (outcome.kind === "problem") throw new Error(outcome.problem.detail);
  return bodyText(outcome.body);
};

describe("no answer leaves", () => {
  it.each(["fetch", "search"] as const)("of a %s before its receipt is kept", async (which) => {
    const { state, fetch, search } = world();
    const run = () => (which === "fetch" ? fetch(fetchCall()) : search(searchCall()));
    expect(textOf(await run())).toContain('"receipt":{"receipt":1}');
    expect(state.kept).toBe(1);
    state.keepFails = true;
    await expect(run()).rejects.toThrow(LeaseLost);
  });

  it.each(["fetch", "search"] as const)(
    "of a %s with a nonce that was used, and no receipt of it is kept",
    async (which) => {
      const { state, fetch, search } = world();
      expect(await (which === "fetch" ? fetch(fetchCall(reused)) : search(searchCall(reused)))).toBe(reused);
      expect(state.kept).toBe(0);
    },
  );
});

describe("a search with sponsored rows", () => {
  it("marks these after their signature, and is not answered before they are kept", async () => {
    const { state, search } = world();
    expect(textOf(await search(searchCall()))).not.toContain("sponsored");
    state.sponsored = new Map([[recordId, rubbish({})]]);
    expect(textOf(await search(searchCall()))).toContain('"sponsored":true}],"receipt"');
    state.poolFails = true;
    await expect(search(searchCall())).rejects.toThrow("the pool was not kept");
    expect(state.kept).toBe(2);
  });

  it("marks those that its filter named, whatever has changed meanwhile", async () => {
    const { state, search } = world();
    state.filtered = new Map([[recordId, rubbish({})]]);
    expect(textOf(await search(searchCall()))).toContain('"sponsored":true}],"receipt"');
    [state.filtered, state.sponsored] = [new Map(), state.filtered];
    expect(textOf(await search(searchCall()))).not.toContain("sponsored");
  });
});

describe("what is counted of an answer", () => {
  const common = { company: companyUuid, servedAt: "2026-03-01T00:00:00.000Z", collection: "business_files" };

  it("is who asked, and whose row or record was served", async () => {
    const { state, fetch, search } = world();
    await fetch(fetchCall());
    const asked = { session: null, subjects: [] };
    await search(searchCall());
    expect(state.counted).toEqual([
      { ...common, business: businessUuid },
      { ...common, country: "GB", businesses: [businessUuid], asked },
    ]);
  });

  it("has the mark of a session, never the session", async () => {
    const { state, search } = world();
    const body = JSON.parse(new TextDecoder().decode(searchBody)) as object;
    const asked = { ...body, session_ref: "chat-7", topic_keywords: ["Kettle"], client_query_id: "q" };
    await search({ ...searchCall(), body: utf8(JSON.stringify(asked)) });
    expect(state.counted).toMatchObject([{ asked: { session: "mark of chat-7", subjects: ["Kettle"] } }]);
  });

  it.each(["fetch", "search"] as const)("is nothing of a %s that was not answered", async (which) => {
    const { state, fetch, search } = world();
    await (which === "fetch" ? fetch(fetchCall(reused)) : search(searchCall(reused)));
    await (which === "fetch"
      ? fetch({ ...fetchCall(), isDelivered: false })
      : search({ ...searchCall(), body: utf8("{}") }));
    state.keepFails = true;
    const run = which === "fetch" ? fetch(fetchCall()) : search(searchCall());
    await expect(run).rejects.toThrow(LeaseLost);
    expect(state.counted).toEqual([]);
  });
});

describe("a search or a fetch beyond its key's budget", () => {
  const usedUp = () => {
    const budget = createQueryBudget({ perMinute: queryCostMax, elapsedMs: () => 0 });
    budget.spend("k", queryCostMax);
    return world(budget);
  };

  it.each(["fetch", "search"] as const)("of a %s asks nothing and keeps no receipt", async (which) => {
    const { state, fetch, search } = usedUp();
    const run = (claim: Refused | null) =>
      which === "fetch" ? fetch(fetchCall(claim)) : search(searchCall(claim));
    expect(await run(null)).toMatchObject({ problem: { code: "rate_limited", reason: "query_cost" } });
    expect(await run(reused)).toBe(reused);
    expect(state).toMatchObject({ kept: 0, signed: 0, reads: 0, searches: 0 });
  });

  it("is told what is wrong with it first, which costs nothing", async () => {
    const budget = createQueryBudget({ perMinute: queryCostMax, elapsedMs: () => 0 });
    const { fetch, search } = world(budget);
    const wrong = { problem: { code: "request_invalid" } };
    expect(await search({ ...searchCall(), body: utf8("{") })).toMatchObject(wrong);
    expect(await fetch({ ...fetchCall(), recordId: "x" })).toMatchObject(wrong);
    expect(budget.spend("k", queryCostMax)).toBeNull();
  });
});

describe("a fetched business file", () => {
  it("carries its five texts and its endpoints, with their status", async () => {
    expect(parseRecord("business_files", bytes)).toMatchObject({ ok: true });
    const text = textOf(await world().fetch(fetchCall()));
    const answer = JSON.parse(text) as Record<string, Record<string, unknown>>;
    expect(Object.keys(answer["represent_us"] ?? {})).toEqual([...representUsNames]);
    expect(answer["represent_us"]).toEqual(record["represent_us"]);
    expect(answer["endpoints"]).toEqual({ status: "unconfirmed", items: record["endpoints"] });
    expect(exactMember(text, "record")).toBe(new TextDecoder().decode(bytes));
    expect(exactMember(text, "seal")).toBe('{"seal":1}');
    expect(exactMember(text, "ai_policy", "record")).toBe('{"schema" : "svc/ai_policy/1"}');
  });

  it("says that its endpoints are suspended while one of their domains is, however often it was fetched before", async () => {
    const { state, fetch } = world();
    const status = async (): Promise<unknown> =>
      (JSON.parse(textOf(await fetch(fetchCall()))) as { endpoints: { status: string } }).endpoints.status;
    const [domain = ""] = endpointDomains(record);
    const know = (known: string, standing: DomainStatus): void => {
      const times = { since: "t", confirmed_at: "t" };
      state.party = partyFacts(businessUuid, { domains: [{ domain: known, status: standing, ...times }] });
    };
    for (const before of ["unconfirmed", "confirmed"] as const) {
      know(domain, before);
      const said = before === "confirmed" ? "authorised" : "unconfirmed";
      for (let turn = 0; turn < 3; turn += 1) expect(await status()).toBe(said);
    }
    know(domain, "suspended");
    for (let turn = 0; turn < 3; turn += 1) expect(await status()).toBe("suspended");
    know(domain, "confirmed");
    expect(await status()).toBe("authorised");
    know("another.example", "suspended");
    expect(await status()).toBe("unconfirmed");
    state.party = null;
    expect(await status()).toBe("unconfirmed");
  });

  it("has no AI policy before one is sealed", async () => {
    const { state, fetch } = world();
    state.policy = noPolicyInForce;
    expect(JSON.parse(textOf(await fetch(fetchCall())))).toMatchObject({
      ai_policy: { version: 0, record: null, seal: null },
    });
  });
});

describe("what is kept between fetches", () => {
  it("is used from the third fetch on, while the record and the policy are the same (F2)", async () => {
    const { state, fetch } = world();
    const read = async (): Promise<unknown> =>
      (JSON.parse(textOf(await fetch(fetchCall()))) as Record<string, unknown>)["ai_policy"];
    for (const reads of [1, 2, 2, 2]) {
      await read();
      expect(state.reads).toBe(reads);
    }
    state.policy = { version: 2, bitsText: "{}" };
    expect(await read()).toMatchObject({ version: 2 });
    expect(state.reads).toBe(3);
    state.head = { ...head, change: 2 };
    await read();
    expect(state.reads).toBe(4);
    await read();
    expect(state.reads).toBe(4);
  });

  it.each([
    ["is withdrawn", { head: { ...head, live: false, change: 2 } }],
    // The sidecar of this sample shows nothing that stands.
    ["does not stand any more, though its head is still live", { mayHaveFallen: true }],
  ])("is not served once the record %s", async (_what, change) => {
    const { state, fetch } = world();
    for (let turn = 0; turn < 3; turn += 1) await fetch(fetchCall());
    Object.assign(state, change);
    expect(await fetch(fetchCall())).toMatchObject({ kind: "problem", problem: { code: "not_found" } });
    expect(state.delayedUntil).toEqual([5_021]);
  });
});

it("rows are served as they were signed, with the bits of the policy in force put in", async () => {
  const text = textOf(await world().search(searchCall()));
  const served = exactMember(text, "rows") ?? "";
  expect(served.slice(1, -1).replace(',"ai_policy_bits":{"x":1}', "")).toBe(row);
  expect(JSON.parse(text)).toMatchObject({ rows: [{ ai_policy_bits: { x: 1 } }] });
});

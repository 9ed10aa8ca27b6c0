import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseBase64 } from "../protocol/bytes.ts";
import {
  type DailyAnalytics,
  type Demand,
  demandCompaniesMin,
  demandRestMin,
  demandSearchesMin,
  type WhoIsAsking,
} from "../protocol/wire/analytics.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  productSearch,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let businesses: readonly TestBusiness[];
let companies: readonly TestCaller[];
const ownerOf = new Map<string, string>();
const companyUuids = [1, 2, 3].map((n) => `10000000-0000-4000-8000-00000000000${n}`);

beforeAll(async () => {
  surfaces = await openSurfaces();
  const { services } = surfaces;
  companies = await Promise.all(
    companyUuids.map((uuid) => newCaller(services.keys.grant, "retrieval", uuid)),
  );
  businesses = [
    await openBusiness(services, "00000000-0000-4000-8000-0000000000a1"),
    await openBusiness(services, "00000000-0000-4000-8000-0000000000a2"),
    await openBusiness(services, "00000000-0000-4000-8000-0000000000a3"),
  ];
  for (const [index, business] of businesses.slice(0, 2).entries()) {
    const records = Array.from({ length: 3 + index }, (_, n) =>
      product(`p${n}`, { product_name: n === 0 ? "Copper kettle" : `Thing ${n}` }),
    );
    const outcome = await sealAndPublish(services, business, records);
    const { results } = JSON.parse(String("body" in outcome ? outcome.body : "{}")) as {
      results: { record_id: string }[];
    };
    for (const { record_id } of results) ownerOf.set(record_id, business.party.uuid);
  }
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const search = (by: TestCaller | undefined, change: object = {}, nonce = freshNonce()) =>
  send(surfaces.retrievalUrl, by ?? null, {
    path: "/v1/products/search",
    body: JSON.stringify({ ...productSearch, ...change }),
    nonce,
  });
const fetchRecord = (by: TestCaller | undefined, id: string) =>
  send(surfaces.retrievalUrl, by ?? null, { path: `/v1/records/${id}` });

async function read(path: string, by = businesses[0], flush = true): Promise<ReceivedAnswer> {
  if (flush) await surfaces.services.insight.flush();
  const caller = { key: by?.signingKey, grant: "" } as TestCaller;
  return send(surfaces.businessUrl, caller, { path: `/v1/analytics/${path}`, tag: "svc-business-read" });
}

interface ReadReceipt {
  readonly company: string;
  readonly day: string;
  readonly kind: "search" | "fetch";
  readonly country: string | null;
  readonly owners: readonly string[];
}

/** What the receipt in an answer says. */
function receiptIn(answer: ReceivedAnswer): ReadReceipt {
  const { payload } = answer.json["receipt"] as { payload: string };
  const text = new TextDecoder().decode(parseBase64(payload) ?? new Uint8Array());
  const receipt = JSON.parse(text) as {
    readonly ai_company_uuid: string;
    readonly served_at: string;
    readonly kind: "search" | "fetch";
    readonly country: string | null;
    readonly rows: readonly { readonly record_id: string }[];
  };
  return {
    company: receipt.ai_company_uuid,
    day: receipt.served_at.slice(0, 10),
    kind: receipt.kind,
    country: receipt.country,
    owners: receipt.rows.map((row) => ownerOf.get(row.record_id) ?? ""),
  };
}

function countsIn(receipts: readonly ReadReceipt[], owner: string) {
  const searches = receipts.filter((each) => each.kind === "search" && each.owners.includes(owner));
  const fetches = receipts.filter((each) => each.kind === "fetch" && each.owners.includes(owner));
  const rows = searches.flatMap((each) => each.owners.filter((of) => of === owner));
  return { searches: searches.length, rows: rows.length, fetches: fetches.length };
}

const draw = (() => {
  let state = 20_260_304;
  return (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
})();

describe("the figures of a business", () => {
  it("are nothing before anybody asked", async () => {
    const daily = await read("daily");
    expect(daily).toMatchObject({ status: 200, json: { totals: { searches: 0, rows: 0 }, figures: [] } });
    expect((await read("who-is-asking")).json).toMatchObject({ companies: [] });
  });

  it("equal what the receipts say, after any history of requests", async () => {
    const receipts: ReadReceipt[] = [];
    const ids = [...ownerOf.keys()];
    for (let step = 0; step < 90; step += 1) {
      const company = companies[draw(3)];
      const nonce = freshNonce();
      const kinds = [
        () => search(company, {}, nonce),
        () => search(company, { limit: 1 + draw(4) }),
        () => search(company, { filter: { all: [{ country: "GB" }] } }),
        () => search(company, { q: "kettle", sort_by: "_text_match:desc" }),
        () => fetchRecord(company, ids[draw(ids.length)] ?? ""),
        () => fetchRecord(company, `svc_${"a".repeat(26)}`),
        () => search(company, { sort_by: "nothing:asc" }),
      ];
      const kind = draw(kinds.length);
      const answer = await kinds[kind]?.();
      if (answer?.status === 200) receipts.push(receiptIn(answer));
      // A replay is refused, and counts nothing.
      if (kind === 0) expect((await search(company, {}, nonce)).status).toBe(401);
      if (draw(10) === 0) await surfaces.services.insight.flush();
    }
    expect(receipts.length).toBeGreaterThan(50);
    for (const { party } of businesses.slice(0, 2)) {
      const by = businesses.find((each) => each.party.uuid === party.uuid);
      const daily = (await read("daily", by)).json as unknown as DailyAnalytics;
      expect(daily.totals).toEqual(countsIn(receipts, party.uuid));
      expect(daily.totals.searches).toBeGreaterThan(5);
      for (const { day, country, type, ...counts } of daily.figures) {
        const these = receipts.filter((each) => each.day === day && each.country === country);
        expect([type, counts]).toEqual(["products", countsIn(these, party.uuid)]);
      }
      const who = (await read("who-is-asking", by)).json as unknown as WhoIsAsking;
      expect(who.companies.map((each) => each.ai_company_uuid).sort()).toEqual(companyUuids);
      for (const { ai_company_uuid: uuid, days, legal_name, certificate_url, ...counts } of who.companies) {
        const these = receipts.filter((each) => each.company === uuid);
        expect(counts).toEqual(countsIn(these, party.uuid));
        expect(legal_name).toBe("Test ai_company");
        expect(certificate_url).toBe(`${surfaces.verifyUrl}/v1/certificates/${uuid}`);
        for (const { day, ...of } of days)
          expect(of).toEqual(
            countsIn(
              these.filter((each) => each.day === day),
              party.uuid,
            ),
          );
      }
      const asked = who.companies.map((each) => each.searches + each.fetches);
      expect(asked).toEqual(asked.toSorted((a, b) => b - a));
    }
  });

  it("are those of one country or type if it is named", async () => {
    const all = (await read("daily")).json as unknown as DailyAnalytics;
    const countries = [...new Set(all.figures.map((each) => each.country))];
    expect(countries).toEqual([null, "GB", "US"].filter((each) => countries.includes(each)));
    const gb = (await read("daily?country=GB&type=products")).json as unknown as DailyAnalytics;
    expect(gb.figures).toEqual(all.figures.filter((each) => each.country === "GB"));
    expect((await read("daily?type=jobs")).json).toMatchObject({ figures: [] });
    expect((await read("who-is-asking?type=jobs")).json).toMatchObject({ companies: [] });
  });

  it("are nobody else's, and of the window that is asked for", async () => {
    expect((await read("daily", businesses[2])).json).toMatchObject({ figures: [] });
    expect((await read("daily?from=2025-01-01&to=2025-04-03")).json).toMatchObject({
      from: "2025-01-01",
      to: "2025-04-03",
      figures: [],
    });
    const today = new Date().toISOString().slice(0, 10);
    expect((await read(`daily?to=${today}`)).json).toMatchObject({ figures: [] });
    expect(((await read(`daily?from=${today}`)).json["figures"] as unknown[]).length).toBeGreaterThan(0);
  });
});

describe("what is asked of analytics wrongly", () => {
  const both = ["daily", "who-is-asking", "demand"];
  it.each([
    ["from=yesterday", "/query/from", both],
    ["from=2026-02-30", "/query/from", both],
    ["to=2026-3-4", "/query/to", both],
    ["to=2026-03-04T00:00:00Z", "/query/to", both],
    ["from=2026-03-04&to=2026-03-04", "/query/to", both],
    ["from=2026-03-04&to=2026-03-03", "/query/to", both],
    ["from=2026-01-01&to=2026-04-04", "/query/from", both],
    ["from=2026-01-01&to=2026-02-02", "/query/from", ["demand"]],
    ["to=0000-01-01", "/query/to", ["daily", "who-is-asking"]],
    ["to=0000-01-05&country=US&type=products", "/query/to", ["demand"]],
    ["from=1999-12-31&to=2000-01-05", "/query/from", both],
    ["country=us", "/query/country", both],
    ["type=shoes", "/query/type", both],
    ["type=products", "/query/country", ["demand"]],
    ["country=US", "/query/type", ["demand"]],
    ["limit=3", "/query", both],
    ["from=2026-03-04&from=2026-03-05", "/query/from", both],
  ])("%s is refused at %s", async (query, pointer, paths) => {
    for (const path of paths)
      expect(await read(`${path}?${query}`)).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer },
      });
  });

  it("is refused to a key of another role, and to a request with another tag", async () => {
    for (const path of both) {
      const asked = { path: `/v1/analytics/${path}`, tag: "svc-business-read" } as const;
      const [company = null] = companies;
      expect((await send(surfaces.businessUrl, company, asked)).json).toMatchObject({
        code: "role_not_allowed",
      });
      const own = { key: businesses[0]?.signingKey, grant: "" } as TestCaller;
      expect((await send(surfaces.businessUrl, own, { ...asked, tag: "svc-push" })).status).toBe(401);
      expect((await send(surfaces.businessUrl, null, asked)).status).toBe(401);
    }
  });
});

describe("demand", () => {
  const subjectsOf = async (by = businesses[0], query = "country=US&type=products") =>
    ((await read(`demand?${query}`, by)).json as unknown as Demand).subjects;
  const ask = async (times: number, by: readonly TestCaller[], keywords: readonly string[]) => {
    for (let n = 0; n < times; n += 1)
      await search(by[n % by.length], { topic_keywords: keywords, session_ref: `chat-${freshNonce()}` });
  };

  it("shows a subject once enough companies have named it often enough, not before", async () => {
    await ask(demandSearchesMin - 1, companies, ["Copper Kettle"]);
    expect(await subjectsOf()).toEqual([]);
    await ask(demandSearchesMin + 5, companies.slice(0, demandCompaniesMin - 1), ["tea cosy"]);
    expect(await subjectsOf()).toEqual([]);
    await ask(1, companies, ["copper kettle"]);
    expect(await subjectsOf()).toEqual([{ subject: "copper kettle", searches: demandSearchesMin, days: 1 }]);
    // Two that ask for it in vain learn nothing of the one or two searches of a third.
    await ask(demandRestMin - 1, companies.slice(2), ["tea cosy"]);
    expect((await subjectsOf()).map(({ subject }) => subject)).not.toContain("tea cosy");
    await ask(1, companies.slice(2), ["tea cosy"]);
    expect(await subjectsOf()).toEqual([
      { subject: "tea cosy", searches: demandSearchesMin + 5 + demandRestMin, days: 1 },
      { subject: "copper kettle", searches: demandSearchesMin, days: 1 },
    ]);
    expect(await subjectsOf(businesses[0], "country=GB&type=products")).toEqual([]);
  });

  it("is shown only to businesses that publish the type", async () => {
    const none = { status: 404, json: { code: "not_found" } };
    expect(await read("demand?country=US&type=products", businesses[2])).toMatchObject(none);
    expect(await read("demand?country=US&type=jobs")).toMatchObject(none);
  });

  it("counts one session's repetitions once", async () => {
    for (const [index, by] of companies.entries())
      for (let n = 0; n < 10; n += 1)
        await search(by, { topic_keywords: ["whistle"], session_ref: `one-${index}` });
    expect((await subjectsOf()).map(({ subject }) => subject)).not.toContain("whistle");
  });

  it("leaves nothing of what may be personal in any file or line of the log, and nothing of a session", async () => {
    const personal = ["zacharias.q@example.org", "+49 170 5550 1234", "Johanna Zwiebelfisch", "my lumbago"];
    for (let n = 0; n < 12; n += 1)
      await search(companies[n % 3], {
        topic_keywords: [...personal, "garlic press"],
        session_ref: "zwsession-1",
      });
    await surfaces.services.insight.flush();
    const { home } = surfaces.services.config;
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    const contents = files.map((each) => readFileSync(join(each.parentPath, each.name)));
    const log = JSON.stringify(surfaces.log).toLowerCase();
    const isAnywhere = (text: string) =>
      log.includes(text) || contents.some((bytes) => bytes.toString("latin1").toLowerCase().includes(text));
    expect(isAnywhere("garlic press")).toBe(true);
    const mark = surfaces.services.insight.markOf(companyUuids[0] ?? "", "zwsession-1").toLowerCase();
    for (const text of ["zacharias", "1705550", "170 5550", "zwiebelfisch", "lumbago", "zwsession", mark])
      expect([text, isAnywhere(text)]).toEqual([text, false]);
  });
});

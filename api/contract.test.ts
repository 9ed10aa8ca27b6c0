import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type contractOf, holdToContract, type JudgedAnswer } from "./contract.fixture.ts";
import { companyUuid } from "./routes/verification.fixture.ts";
import { newCaller, openSurfaces, productSearch, type ReceivedAnswer, send } from "./surfaces.fixture.ts";

let surfaces: Awaited<ReturnType<typeof openSurfaces>>;
let found: ReceivedAnswer;
let refused: ReceivedAnswer;

beforeAll(async () => {
  surfaces = await openSurfaces();
  const company = await newCaller(surfaces.services.keys.grant, "retrieval", companyUuid);
  const body = JSON.stringify(productSearch);
  found = await send(surfaces.retrievalUrl, company, { path: "/v1/products/search", body });
  refused = await send(surfaces.retrievalUrl, null, { path: "/v1/products/search", body });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const searched = (changes: Partial<JudgedAnswer> = {}): JudgedAnswer => ({
  method: "POST",
  path: "/v1/products/search",
  status: found.status,
  headers: found.headers,
  text: found.text,
  ...changes,
});
const without = (answer: ReceivedAnswer, name: string): Headers => {
  const headers = new Headers(answer.headers);
  headers.delete(name);
  return headers;
};

const withCode = ({ text }: ReceivedAnswer, code: string): string =>
  JSON.stringify({ ...(JSON.parse(text) as object), code });

describe("every answer that a test receives is held to its document, which refuses", () => {
  const judge = async (answer: JudgedAnswer): Promise<string> =>
    holdToContract(surfaces.retrievalUrl, answer).then(
      () => "as documented",
      (error: Error) => error.message,
    );

  it("nothing of what was really answered", async () => {
    expect(found.status).toBe(200);
    expect(await judge(searched())).toBe("as documented");
    expect(refused.json["code"]).toBe("signature_missing");
    expect(await judge(searched(refused))).toBe("as documented");
  });

  it.each<[string, (answer: Record<string, unknown>) => unknown, RegExp]>([
    ["a member that no document names", (answer) => ({ ...answer, more: 1 }), /additional properties.*more/],
    ["a member that is missing", ({ receipt: _, ...answer }) => answer, /receipt/],
    ["a member of another kind", (answer) => ({ ...answer, rows: null }), /\/rows must be array/],
    [
      "a member that an envelope does not have",
      (answer) => ({ ...answer, receipt: { ...Object(answer["receipt"]), more: 1 } }),
      /additional properties/,
    ],
  ])("%s", async (_, change, message) => {
    const text = JSON.stringify(change(JSON.parse(found.text) as Record<string, unknown>));
    expect(await judge(searched({ text }))).toMatch(message);
  });

  it("a status, a media type and a code that are not listed, and a field that is missing", async () => {
    expect(await judge(searched({ status: 207 }))).toMatch(/207 is not listed/);
    const plain = new Headers(found.headers);
    plain.set("content-type", "text/plain");
    expect(await judge(searched({ headers: plain }))).toMatch(/text\/plain is not listed/);
    const other = { ...refused, text: withCode(refused, "token_invalid") };
    expect(await judge(searched(other))).toMatch(/allowed values/);
    for (const name of ["request-id", "cache-control"])
      expect(await judge(searched({ headers: without(found, name) }))).toMatch(/is missing/);
    expect(await judge(searched({ ...refused, headers: without(refused, "www-authenticate") }))).toMatch(
      /WWW-Authenticate is missing/,
    );
    const late = new Headers(refused.headers);
    late.set("retry-after", "9");
    expect(await judge(searched({ ...refused, headers: late }))).toMatch(/Retry-After is 9/);
  });

  it("an address that is not there, unless it says so", async () => {
    const nowhere = await send(surfaces.retrievalUrl, null, { path: "/v1/nowhere" });
    const answer = { method: "GET", path: "/v1/nowhere", ...nowhere };
    expect(await judge(answer)).toBe("as documented");
    expect(await judge({ ...answer, text: withCode(nowhere, "out_of_scope") })).toMatch(/out_of_scope/);
    expect(await judge({ ...answer, status: 200, headers: found.headers })).toMatch(/undocumented address/);
  });
});

describe("the documents of the surfaces", () => {
  it("say of every answer what it is: none has an empty schema", async () => {
    const { retrievalUrl, businessUrl, verifyUrl, toolsUrl } = surfaces;
    let answers = 0;
    for (const base of [retrievalUrl, businessUrl, verifyUrl, toolsUrl]) {
      const document = (await send(base, null, { path: "/openapi.json" })).json as unknown as Parameters<
        typeof contractOf
      >[0];
      for (const operations of Object.values(document.paths)) {
        for (const { responses } of Object.values(operations)) {
          for (const { content = {} } of Object.values(responses)) {
            answers += 1;
            for (const { schema } of Object.values(content)) expect(Object.keys(schema)).not.toEqual([]);
          }
        }
      }
    }
    expect(answers).toBeGreaterThan(100);
  });
});

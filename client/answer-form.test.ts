import { describe, expect, it } from "vitest";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { anyText, described, dictionary, named, object } from "../protocol/shape.ts";
import { cataloguePage } from "../protocol/wire/catalogue.ts";
import { verifyAnswer } from "../protocol/wire/verify.ts";
import type { BulkUpload } from "./bulk.ts";
import { formed, forms } from "./business-client.ts";
import { readInclusion, readWitnessKeys } from "./log-reads.ts";
import { catalogueEntries, heldPushes, ownReceipts, pushAttempts, pushResults, watchPush } from "./pages.ts";
import type { ServiceAnswer } from "./sender.ts";
import { createSvcClient, type SvcClient } from "./service-client.ts";
import { generatePrivateJwk, parseSigningKey } from "./signing-key.ts";

const wrong = ["null", "[]", "{}", '"text"', "5"];
const patience = { now: () => 0, wait: async () => {}, patienceMs: 0, onWaiting: () => {} };
const unused = rubbish({ withdrawals: [] });
const upload: BulkUpload = rubbish({ upload_url: "http://127.0.0.1:1/file", max_bytes: 5, fields: {} });
const image = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0);

/** Every request whose answer is more than its text. */
const requests: Readonly<
  Record<
    Exclude<keyof SvcClient, "send" | "statementCsv" | "verificationRead">,
    (client: SvcClient) => Promise<unknown>
  >
> = {
  adPool: async (client) => formed(forms.pool, await client.adPool(unused)),
  agreeToTerms: (client) => client.agreeToTerms(unused),
  allowance: (client) => client.allowance(),
  attemptsPage: (client) => client.attemptsPage(),
  cancelPush: (client) => client.cancelPush("p"),
  cataloguePage: (client) => client.cataloguePage(),
  catalogueRecord: (client) => client.catalogueRecord("r"),
  chooseListing: (client) => client.chooseListing(unused),
  clickAd: (client) => client.clickAd(unused),
  dailyAnalytics: (client) => client.dailyAnalytics(),
  decideHold: (client) => client.decideHold("p", unused),
  demand: (client) => client.demand(unused),
  domains: (client) => client.domains(),
  entitlement: (client) => client.entitlement(),
  eventsPage: (client) => client.eventsPage(),
  fetchRecord: async (client) => formed(forms.record, await client.fetchRecord("r")),
  holdsPage: (client) => client.holdsPage(),
  importFile: (client) => client.importFile(unused),
  ownReceipt: (client) => client.ownReceipt("r"),
  publishAd: (client) => client.publishAd(image, unused),
  publishPolicy: (client) => client.publishPolicy(image, unused),
  publishProducts: (client) => client.publishProducts(unused),
  publishRecord: (client) => client.publishRecord("events", image, unused),
  pushStatus: (client) => client.pushStatus("p"),
  registerMandate: (client) => client.registerMandate(unused),
  receiptsPage: (client) => client.receiptsPage(),
  remove: (client) => client.remove(rubbish({ document: image })),
  removeAd: (client) => client.removeAd(rubbish({ document: image })),
  renderAd: (client) => client.renderAd(unused),
  requestCustody: (client) => client.requestCustody(unused),
  requestUpload: (client) => client.requestUpload(unused),
  sealContext: (client) => client.sealContext(),
  search: async (client) => formed(forms.search, await client.search(unused)),
  sendFile: (client) => client.sendFile(upload, new Blob([])),
  statement: (client) => client.statement("2026-11"),
  terms: (client) => client.terms(),
  uploadImage: (client) => client.uploadImage(image),
  usage: (client) => client.usage(),
  validateImport: (client) => client.validateImport(unused),
  validateProducts: (client) => client.validateProducts(unused),
  verify: async (client) => formed(verifyAnswer, await client.verify(unused)),
  whoIsAsking: (client) => client.whoIsAsking(),
  withdraw: (client) => client.withdraw(unused),
};

const logReads: Readonly<Record<string, (client: SvcClient) => Promise<unknown>>> = {
  readInclusion: (client) => readInclusion(client, "leaf=x"),
  readWitnessKeys,
};

const lists: Readonly<Record<string, (client: SvcClient) => AsyncIterator<unknown>>> = {
  catalogueEntries: (client) => catalogueEntries(client, patience),
  pushAttempts: (client) => pushAttempts(client, patience),
  ownReceipts: (client) => ownReceipts(client, patience),
  heldPushes: (client) => heldPushes(client, patience),
  pushResults: (client) => pushResults(client, patience, { pushId: "p" }),
  watchPush: (client) => watchPush(client, patience, "p"),
};

/** A client of a service that answers everything with this. */
async function clientOf(text: string): Promise<SvcClient> {
  const key = await parseSigningKey(await generatePrivateJwk("Ed25519"));
  if (!key.ok) throw new Error(key.detail);
  const url = "http://127.0.0.1:1";
  return createSvcClient({
    baseUrl: url,
    businessUrl: url,
    verifyUrl: url,
    key: key.value,
    fetch: async () => new Response(text),
  });
}

describe("an answer of another form", () => {
  it.each([
    ...Object.entries(requests),
    ...Object.entries(logReads),
    ...Object.entries(lists).map(
      ([name, list]) => [name, (client: SvcClient) => list(client).next()] as const,
    ),
  ])("is refused: %s", async (_name, ask) => {
    for (const text of wrong)
      await expect(ask(await clientOf(text)), text).rejects.toMatchObject({
        name: "SvcProblemError",
        code: "unexpected_answer",
      });
  });

  const answerOf = (body: unknown): ServiceAnswer =>
    rubbish({ text: JSON.stringify(body), status: 200, requestHash: null });
  const empty = { entries: [], next_cursor: null };

  it("is one with a member of another kind, at any depth", () => {
    for (const [body, said] of [
      [{ ...empty, entries: {} }, "`/entries` is not of the type array"],
      [{ ...empty, entries: [null] }, "`/entries/0` is not of the type object"],
      [{ ...empty, next_cursor: 5 }, "`/next_cursor` is not of the type string"],
      [{ entries: [] }, "`/next_cursor` is missing"],
      [null, "it is not of the type object"],
    ] as const)
      expect(() => formed(cataloguePage, answerOf(body))).toThrow(said);
    const texts = described(
      named("Texts", object({ texts: dictionary(anyText) })),
      "Described where it is used.",
    );
    expect(formed(texts, answerOf({ texts: { a: "b" } })).body).toEqual({ texts: { a: "b" } });
    for (const body of [{}, { texts: { a: "b", c: 5 } }])
      expect(() => formed(texts, answerOf(body))).toThrow("form");
  });

  it("is none that has more than this release knows", () => {
    expect(formed(cataloguePage, answerOf({ ...empty, later: 1 })).body).toMatchObject({ later: 1 });
  });
});

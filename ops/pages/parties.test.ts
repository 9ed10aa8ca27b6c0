// The pages of parties: the list, and what is shown of one and can be done to it.

import { describe, expect, it } from "vitest";
import { ok, type Refusal, refuse } from "../../protocol/result.ts";
import type { BlockState } from "../../service/register/blocks.ts";
import type { Enrolment, PartyState } from "../../service/register/enrolment.ts";
import { english } from "../../web/texts/catalogue.ts";
import {
  act,
  authorization,
  by,
  certificateFacts,
  keptAct,
  keyFacts,
  mandateFacts,
  noBlocks,
  noEnrolment,
  noInspection,
  noLedgers,
  noRevocations,
  openOps,
  since,
} from "../ops.fixture.ts";
import { firstValues } from "./views/act-form.ts";
import { accountChoices, blockChoices, partyChoices } from "./views/party.ts";

const uuid = keyFacts.party_uuid;
const texts = english.operations.party;
const legal_name = "Diamonds <Ltd>";
const mandate = { ...mandateFacts, legal_name, valid_until: "2099-01-01T00:00:00.000Z", revoked_at: null };
const certificate = { ...certificateFacts, legal_name };
const business: PartyState = {
  uuid,
  kind: "business",
  legal_name,
  country: "GB",
  certificate,
  keys: [keyFacts],
  mandates: [mandate],
  older_mandates: 0,
};
const company: PartyState = { ...business, kind: "ai_company", keys: [], mandates: [] };
const blocked: BlockState = {
  business_uuid: uuid,
  legal_name,
  blocked: [{ group: "g", companies: [] }],
};

function openParties(party: PartyState) {
  const asked: unknown[] = [];
  const done =
    (name: string) =>
    async (request: object): Promise<Refusal<"unknown">> => {
      asked.push([name, { ...request }]);
      return refuse("unknown", "It was asked.");
    };
  const enrolment: Enrolment = {
    ...noEnrolment,
    party: async (named) => (named === uuid ? ok(party) : refuse("unknown", "There is none.")),
    certify: done("certify"),
    reissue: done("reissue"),
  };
  const there = openOps({
    enrolment,
    blocks: { ...noBlocks, ofBusiness: async () => ok(blocked), setBlocked: done("setBlocked") },
    ledgers: {
      ...noLedgers,
      enter: (company_uuid, entry) => done("enter")({ company: company_uuid, ...entry }),
      account: async () => ({
        currency: "EUR",
        balance: "12.5",
        reserved: "2",
        available: "10.5",
        charged_before: [],
      }),
    },
    revocations: {
      ...noRevocations,
      acts: async () => ({ acts: [{ ...keptAct(4), reason: "<b>checked</b>" }], next_after: null }),
      revokeMandate: done("revokeMandate"),
      endCertificate: done("endCertificate"),
    },
    inspection: {
      ...noInspection,
      search: async () => ({ actors: [], is_complete: true, missing: [] }),
    },
  });
  const page = async (url: string) => {
    const { body, statusCode } = await there.inject({ url, headers: { host: "localhost:80" } });
    return { body, statusCode, text: body.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ") };
  };
  return { asked, there, page };
}

describe("the page of a party", () => {
  it("has its certificate, keys, mandates, blocks, and what operators did to it", async () => {
    const { page } = openParties(business);
    const { body, text, statusCode } = await page(`/ui/parties/${uuid}`);
    expect(statusCode).toBe(200);
    for (const shown of [certificate.cert_id, "certified", "m/1", "Ada at the desk", texts.blocks])
      expect(text).toContain(shown);
    expect(body).toContain(`<a href="/ui/keys/${keyFacts.key_id}">`);
    expect(body).toContain("&lt;b>checked&lt;/b>");
    expect(body).not.toMatch(/<b>checked|Diamonds <Ltd>/);
    expect(body).not.toContain('<h2 id="account">');
  });

  it("has the account of an AI company", async () => {
    const { body, text } = await openParties(company).page(`/ui/parties/${uuid}`);
    expect(body).toContain('<h2 id="account">');
    for (const shown of ["12.5 EUR", "10.5 EUR", texts.noKeys]) expect(text).toContain(shown);
    expect(text).not.toContain(texts.blocks);
  });

  it("says that there is no such party, and lists none that is not there", async () => {
    const { page } = openParties(business);
    expect(await page("/ui/parties/nobody")).toMatchObject({
      statusCode: 404,
      text: expect.stringContaining(texts.notThere),
    });
    for (const url of ["/ui/parties", "/ui/parties?q=Diamonds"])
      expect((await page(url)).text).toContain(texts.none);
  });
});

describe("the page of accounts", () => {
  it("shows those of the page, leads to their companies, and to the next page", async () => {
    const account = {
      company_uuid: uuid,
      legal_name,
      currency: "EUR",
      balance: "12.5",
      available: "10.5",
      used_last_day: "4",
      days_left: 3,
      is_low: true,
      last_top_up: { amount: "250", at: since },
    };
    const asked: string[] = [];
    const there = openOps({
      ledgers: {
        ...noLedgers,
        list: async (after) => {
          asked.push(after);
          return {
            accounts: after === "" ? [account] : [],
            next_after: after === "" ? uuid : null,
            is_complete: false,
          };
        },
      },
    });
    const { body } = await there.inject({ url: "/ui/accounts", headers: { host: "localhost:80" } });
    const { accounts } = english.operations;
    for (const shown of [accounts.low, accounts.incomplete, "12.5 EUR", "10.5 EUR", "4 EUR", "250 EUR"])
      expect(body).toContain(shown);
    expect(body).toContain(`<a href="/ui/parties/${uuid}">Diamonds &lt;Ltd></a>`);
    expect(body).toContain(`<a href="/ui/accounts?after=${uuid}">`);
    const next = await there.inject({ url: `/ui/accounts?after=${uuid}`, headers: { host: "localhost:80" } });
    expect(next.body).toContain(accounts.none);
    expect(asked).toEqual(["", uuid]);
  });
});

describe("an act on a party is a request that the API takes:", () => {
  const ended = { ...business, certificate: { ...certificate, status: "revoked" as const } };
  const asker = { act: { by, ...act } };
  it.each([
    ["mandate", business, {}, ["revokeMandate", { business_uuid: uuid, mandate_id: "m/1", ...asker }]],
    ["reissue", business, {}, ["reissue", { uuid, cert_id: certificate.cert_id, ...asker }]],
    ["certify", ended, {}, ["certify", { uuid, kind: "business", legal_name, country: "GB", ...asker }]],
    [
      "close",
      business,
      { status_reason: " ceased ", effective_from: since },
      [
        "endCertificate",
        {
          uuid,
          status: "closed",
          status_reason: "ceased",
          effective_from: since,
          keep_keys: false,
          ...asker,
        },
      ],
    ],
    [
      "revoke",
      company,
      { status_reason: "fraud" },
      [
        "endCertificate",
        { uuid, status: "revoked", status_reason: "fraud", effective_from: null, keep_keys: false, ...asker },
      ],
    ],
    [
      "block",
      business,
      { group: " h " },
      ["setBlocked", { business_uuid: uuid, group: "h", blocked: true, ...asker }],
    ],
    [
      "top_up",
      company,
      { amount: " 250 ", currency: " EUR ", entry_id: " p-1 " },
      [
        "enter",
        { company: uuid, kind: "top_up", amount: "250", currency: "EUR", entry_id: "p-1", by, ...act },
      ],
    ],
    [
      "correction",
      company,
      { amount: "-2.5", entry_id: "c-1" },
      [
        "enter",
        { company: uuid, kind: "correction", amount: "-2.5", currency: "EUR", entry_id: "c-1", by, ...act },
      ],
    ],
    ["unblock", business, {}, ["setBlocked", { business_uuid: uuid, group: "g", blocked: false, ...asker }]],
  ] as const)("%s", async (key, party, values, expected) => {
    const { asked, there } = openParties(party);
    const known = key === "correction" ? "EUR" : null;
    const choices = [
      ...partyChoices(party, texts),
      ...blockChoices(blocked, texts),
      ...accountChoices(party, known, texts),
    ];
    const choice = choices.find((each) => each.key === key);
    if (choice === undefined) throw new Error(`${key} is not offered`);
    const { address: url, members } = choice.request({ ...firstValues(choice), ...values });
    const payload = { ...members, ...act };
    expect((await there.inject({ method: "POST", url, payload })).statusCode).toBe(401);
    await there.inject({ method: "POST", url, payload, headers: { authorization } });
    expect(asked).toEqual([expected]);
  });

  it("what cannot be done is not offered", () => {
    const keysOf = (party: PartyState) => partyChoices(party, texts).map(({ key }) => key);
    expect(keysOf(business)).toEqual(["mandate", "reissue", "revoke", "close", "withdraw"]);
    expect(keysOf(company)).toEqual(["reissue", "revoke", "withdraw"]);
    expect(keysOf({ ...company, certificate: null })).toEqual(["certify"]);
    const revoked = { ...mandate, revoked_at: since };
    expect(keysOf({ ...ended, mandates: [revoked] })).toEqual(["certify", "revoke", "close", "withdraw"]);
    expect(blockChoices({ ...blocked, blocked: [] }, texts).map(({ key }) => key)).toEqual(["block"]);
  });
});

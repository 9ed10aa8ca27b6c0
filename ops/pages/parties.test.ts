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
import { openingChoices } from "./views/parties.ts";
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
const { cert_id } = certificate;
const newUuid = "20000000-0000-4000-8000-000000000002";
const proven = {
  public_key: { kty: "OKP", crv: "Ed25519", x: "A".repeat(43) },
  proof: { payloadType: "t", payload: "AAAA", signatures: [{ keyid: keyFacts.key_id, sig: "AAAA" }] },
};
const blocked: BlockState = {
  business_uuid: uuid,
  legal_name,
  blocked: [{ group: "g", companies: [] }],
  change: 8,
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
    registerKey: done("registerKey"),
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
      revokeGrant: done("revokeGrant"),
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
    ["reissue", business, {}, ["reissue", { uuid, cert_id, ...asker }]],
    [
      "key",
      business,
      { proven: JSON.stringify({ party_uuid: uuid, ...proven }), valid_until: ` ${since} ` },
      ["registerKey", { uuid, ...proven, valid_until: since, ...asker }],
    ],
    [
      "open",
      business,
      { kind: "ai_company", legal_name: " Ask Ltd ", country: " GB " },
      [
        "certify",
        { uuid: newUuid, kind: "ai_company", legal_name: "Ask Ltd", country: "GB", cert_id: null, ...asker },
      ],
    ],
    ["grant", business, { grant: " svc_sbxk1.a.b " }, ["revokeGrant", { grant: "svc_sbxk1.a.b", ...asker }]],
    [
      "certify",
      ended,
      {},
      ["certify", { uuid, kind: "business", legal_name, country: "GB", cert_id, ...asker }],
    ],
    [
      "close",
      business,
      { status_reason: " ceased ", effective_from: since },
      [
        "endCertificate",
        {
          uuid,
          cert_id,
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
        {
          uuid,
          cert_id,
          status: "revoked",
          status_reason: "fraud",
          effective_from: null,
          keep_keys: false,
          ...asker,
        },
      ],
    ],
    [
      "block",
      business,
      { group: " h " },
      ["setBlocked", { business_uuid: uuid, group: "h", blocked: true, expected: 8, ...asker }],
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
    [
      "unblock",
      business,
      {},
      ["setBlocked", { business_uuid: uuid, group: "g", blocked: false, expected: 8, ...asker }],
    ],
  ] as const)("%s", async (key, party, values, expected) => {
    const { asked, there } = openParties(party);
    const known = key === "correction" ? "EUR" : null;
    const choices = [
      ...openingChoices(texts, { hasGrants: true, newUuid: () => newUuid }),
      ...partyChoices(party, texts),
      ...blockChoices(blocked, texts),
      ...accountChoices(party, known, texts),
    ];
    const choice = choices.find((each) => each.key === key);
    if (choice === undefined) throw new Error(`${key} is not offered`);
    const { address: url, members } = choice.request({ ...firstValues(choice), ...values });
    const payload = { ...members, ...act };
    expect((await there.inject({ method: "POST", url, payload })).statusCode).toBe(401);
    const { body } = await there.inject({ method: "POST", url, payload, headers: { authorization } });
    expect(asked, body).toEqual([expected]);
  });

  it("what cannot be done is not offered", () => {
    const keysOf = (party: PartyState) => partyChoices(party, texts).map(({ key }) => key);
    expect(keysOf(business)).toEqual(["mandate", "key", "reissue", "revoke", "close", "withdraw"]);
    expect(keysOf(company)).toEqual(["key", "reissue", "revoke", "withdraw"]);
    expect(keysOf({ ...company, certificate: null })).toEqual(["certify"]);
    const revoked = { ...mandate, revoked_at: since };
    expect(keysOf({ ...ended, mandates: [revoked] })).toEqual(["certify", "revoke", "close", "withdraw"]);
    const opening = openingChoices(texts, { hasGrants: false, newUuid: () => newUuid });
    expect(opening.map(({ key }) => key)).toEqual(["open"]);
    expect(blockChoices({ ...blocked, blocked: [] }, texts).map(({ key }) => key)).toEqual(["block"]);
  });

  it("what is not the proof of this party is not sent, and says why", () => {
    const choice = partyChoices(business, texts).find(({ key }) => key === "key");
    const faultOf = (given: unknown) =>
      choice?.fault?.({ proven: typeof given === "string" ? given : JSON.stringify(given) });
    const own = { party_uuid: uuid, ...proven };
    expect(faultOf(own)).toBeNull();
    for (const other of [
      "",
      "{",
      "null",
      "7",
      { ...own, proof: undefined },
      { ...own, public_key: undefined },
    ])
      expect(faultOf(other)).toBe(texts.acts.notProven);
    expect(faultOf({ ...own, party_uuid: newUuid })).toBe(texts.acts.provenByOther);
  });

  it("the key of a proof is named by its id before it is registered", () => {
    const choice = partyChoices(business, texts).find(({ key }) => key === "key");
    const asked = choice?.request({ proven: JSON.stringify({ party_uuid: uuid, ...proven }) });
    expect(asked?.subject).toBe(`${keyFacts.key_id}, ${legal_name}`);
  });
});

describe("the page of parties", () => {
  it("has the form that opens one, and revokes a grant in a sandbox alone", async () => {
    const page = async (hasGrants: boolean) => {
      const there = openOps({ revocations: { ...noRevocations, hasGrants } });
      return (await there.inject({ url: "/ui/parties", headers: { host: "localhost:80" } })).body;
    };
    expect(await page(false)).toContain(texts.opening.open);
    expect(await page(false)).not.toContain(texts.opening.revokeGrant);
    expect(await page(true)).toContain(texts.opening.revokeGrant);
  });
});

// The pages of keys and of refused requests, and the keys with the most pushes under way.

import { describe, expect, it } from "vitest";
import { ok, refuse } from "../../protocol/result.ts";
import type { Revocations } from "../../service/register/revocations.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { english } from "../../web/texts/catalogue.ts";
import type { Inspection } from "../inspection.ts";
import type { RefusedRequests } from "../inspection-shapes.ts";
import {
  act,
  authorization,
  by,
  keptAct,
  keyFacts,
  noInspection,
  noRevocations,
  openOps,
  since,
} from "../ops.fixture.ts";
import { firstValues } from "./views/act-form.ts";
import { keyChoices } from "./views/key.ts";

const keyId = keyFacts.key_id;
const refusedOf = (key_id: string | null): RefusedRequests["requests"][number] => ({
  surface: "business",
  code: "key_unknown",
  key_id,
  from: "192.0.2.9",
  count: 12_345,
  first_at: since,
  last_at: since,
});

/** The acts and refused requests of which the pages are made, and what was asked for. */
function openKeys(changes: Partial<Revocations> = {}) {
  const asked: unknown[] = [];
  const revocations: Revocations = {
    ...noRevocations,
    key: async (id) => (id === keyId ? ok(keyFacts) : refuse("unknown", "There is none.")),
    acts: async (...given) => {
      asked.push(["acts", ...given]);
      return { acts: [{ ...keptAct(4), reason: "<b>stolen</b>" }], next_after: 4 };
    },
    revokeKey: async ({ key_id, compromised_from, act: by }) => {
      asked.push(["revokeKey", key_id, compromised_from, { ...by }]);
      return ok({ changed: true, since, subject: keyFacts });
    },
    ...changes,
  };
  const inspection: Inspection = {
    ...noInspection,
    counts: async () => ({
      at: since,
      kinds: [],
      attention: [],
      missing: [],
      pushes_under_way: [{ business_uuid: keyFacts.party_uuid, key_id: keyId, pushes: 1_204, records: 9 }],
    }),
    refused: async (query) => {
      asked.push(["refused", query]);
      return {
        codes: [{ surface: "business", code: "key_unknown", count: 7, first_at: since, last_at: since }],
        requests: [refusedOf(keyId), refusedOf(null)],
        forgotten: 3,
        missing: [],
      };
    },
  };
  const there = openOps({ revocations, inspection });
  const page = async (url: string) => {
    const { body, statusCode } = await there.inject({ url, headers: { host: "localhost:80" } });
    return { body, statusCode, text: body.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ") };
  };
  return { asked, there, page };
}

describe("the page of a key", () => {
  it("says whose it is, since when it is revoked, by whom and why, and what was refused in its name", async () => {
    const { asked, page } = openKeys();
    const { body, text, statusCode } = await page(`/ui/keys/${keyId}`);
    expect(statusCode).toBe(200);
    for (const shown of [keyFacts.legal_name, "20 November 2026", "revoked", "Ada at the desk", "key.revoke"])
      expect(text).toContain(shown);
    expect(text).toContain("There are more acts than were read.");
    expect(body).toContain("&lt;b>stolen&lt;/b>");
    expect(body).not.toContain("<b>stolen");
    expect(text).toContain("12,345");
    expect(text).toContain("Nothing proves that a sender has the key that it names");
    expect(body).toContain(`/ui/actors/integration-key/${keyFacts.party_uuid}.${keyId}`);
    expect(asked).toEqual([
      ["acts", keyFacts.party_uuid, { after: 0, entry: `key/${keyId}` }],
      ["refused", { surface: null, code: null, key_id: keyId }],
    ]);
  });

  it("OP1: says that there is no such key, and that its party does not answer now", async () => {
    expect(await openKeys().page("/ui/keys/nobody")).toMatchObject({
      statusCode: 404,
      text: expect.stringContaining(english.operations.key.notThere),
    });
    const away = openKeys({
      key: async () => {
        throw new Unavailable("It is quarantined.", {
          reason: "quarantined",
          effect: "not_applied",
          retryAfterSeconds: 5,
        });
      },
    });
    expect(await away.page(`/ui/keys/${keyId}`)).toMatchObject({
      statusCode: 503,
      text: expect.stringContaining(english.operations.notNow.title),
    });
  });

  const compromised = "2026-11-20T03:00:00.000Z";
  it.each([
    ["revoke", {}, null],
    ["compromise", { since: ` ${compromised}` }, compromised],
  ] as const)("%s %j is a request that the API takes", async (key, values, from) => {
    const { asked, there } = openKeys();
    const choice = keyChoices({ key_id: keyId, revoked_at: null }, english.operations.key).find(
      (each) => each.key === key,
    );
    if (choice === undefined) throw new Error(`${key} is not offered`);
    const { address: url, members } = choice.request({ ...firstValues(choice), ...values });
    const payload = { ...members, ...act };
    expect((await there.inject({ method: "POST", url, payload })).statusCode).toBe(401);
    const answer = await there.inject({ method: "POST", url, payload, headers: { authorization } });
    expect([answer.statusCode, asked]).toEqual([200, [["revokeKey", keyId, from, { by, ...act }]]]);
  });

  it("of a revoked key is not to revoke it again", () => {
    const choices = keyChoices({ key_id: keyId, revoked_at: compromised }, english.operations.key);
    expect(choices.map(({ key }) => key)).toEqual(["compromise"]);
  });
});

describe("the page of refused requests", () => {
  it("lists them by surface and code, and by key and address, and says what that proves", async () => {
    const { asked, page } = openKeys();
    const { body, text } = await page("/ui/refusals");
    for (const shown of ["key_unknown", "192.0.2.9", "12,345", "Nothing proves", "3 others were forgotten"])
      expect(text).toContain(shown);
    expect(body).toContain(`<a href="/ui/keys/${keyId}">`);
    expect(body).toContain('<a href="/ui/refusals?surface=business&amp;code=key_unknown">');
    expect(asked).toEqual([["refused", { surface: null, code: null, key_id: null }]]);
  });

  it("can be narrowed to a surface and a code", async () => {
    const { asked, page } = openKeys();
    const { text } = await page("/ui/refusals?surface=business&code=key_unknown");
    expect(text).toContain("Only business key_unknown.");
    expect(asked).toEqual([["refused", { surface: "business", code: "key_unknown", key_id: null }]]);
  });
});

it("the overview names the keys with the most pushes under way, and leads to them", async () => {
  const { body, text } = await openKeys().page("/ui/");
  expect(text).toContain("1,204");
  expect(body).toContain(`<a href="/ui/keys/${keyId}">`);
  expect(body).toContain(`<a href="/ui/actors/business/${keyFacts.party_uuid}">`);
});

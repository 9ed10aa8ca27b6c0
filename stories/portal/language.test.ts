// Another language is a file: every page of the portal takes its words from the catalogue of the language that the browser asks for.
// The language here is English in full-width letters, so that a word which a page has from anywhere else stays in plain ones.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ledgerRef } from "../../actors/messages/refs.ts";
import { textsFor } from "../../portal/language.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { english, languages, type Texts } from "../../web/texts/catalogue.ts";
import { openBusiness, product, publish } from "../publishing/publishing.fixture.ts";
import { batchBody } from "../retrieval/attack.fixture.ts";
import {
  approvedAt,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  provenKey,
  registerKeyAt,
  showMandate,
} from "./business.fixture.ts";

/** Full-width letters (Unicode, «Halfwidth and Fullwidth Forms»). */
const wide = (text: string) =>
  text.replaceAll(/[A-Za-z]/g, (each) => String.fromCodePoint((each.codePointAt(0) ?? 0) + 0xfee0));

/** Every text of a catalogue in full-width letters, also what its functions give. */
function widened(value: unknown): unknown {
  if (typeof value === "string") return wide(value);
  if (typeof value === "function") return (...given: unknown[]) => widened(value(...given));
  if (Array.isArray(value)) return value.map(widened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, widened(each)]));
}

const other = {
  ...(widened(english) as Texts),
  language: "en-x-wide",
  said: wide,
  sealedWords: (words: readonly string[]) => words.map(wide),
};

let portal: PortalNode;
let shop: Owned;
beforeAll(async () => {
  languages.set(other.language, other);
  portal = await openPortalNode();
  shop = await newBusinessAt(portal, "4711");
  await registerKeyAt(portal, shop, await provenKey(shop));
}, 120_000);
afterAll(async () => {
  languages.delete(other.language);
  await portal?.[Symbol.asyncDispose]();
});

/** The words of a page that are neither in its language nor code, a sealed text, a name, an id or what somebody wrote into an act. */
function strangeWords(html: string): readonly string[] {
  const shown = html
    .replace(/^.*?<body[^>]*>/s, "")
    .replaceAll(/<(code|pre|time|script|style)\b[^>]*>.*?<\/\1>/gs, " ")
    .replaceAll(/<[^>]*>/g, "\n")
    .replaceAll(
      /&[a-z]+;|Ada Lovelace|Registered at the portal\.|sha256:[0-9a-f]{64}|bat_[0-9a-f]{24}|EUR|\/[a-z_]+(?=:)|[\w-]{43}/g,
      " ",
    );
  return shown.split("\n").filter((each) => /[A-Za-z]{2}/.test(each) && each !== "GB");
}

async function expectWide(visitor: Visitor, paths: readonly string[]): Promise<void> {
  visitor.language = "fr, en-x-wide;q=0.9, en;q=0.5";
  const strange = [];
  for (const path of paths) {
    const { html, status } = await visitor.get(path);
    expect(status, path).toBe(200);
    expect(html, path).toContain('<html lang="en-x-wide"');
    strange.push(...strangeWords(html).map((each) => `${path}: ${each}`));
  }
  expect(strange).toEqual([]);
}

describe("a browser that asks for another language", () => {
  it("is shown the pages of a business in it", async () => {
    const { owner, uuid } = shop;
    const own = [
      "",
      "/ai-policy",
      "/records",
      "/pushes",
      "/holds",
      "/domains",
      "/asking",
      "/acts",
      "/blocks",
    ];
    await expectWide(owner, ["/", "/account", "/apply", "/recover"]);
    await expectWide(owner, [
      ...["/people/", "/notices/", "/webhooks/"].map((each) => each + uuid),
      ...[...own, "/campaigns", "/campaigns/new"].map((each) => `/businesses/${uuid}${each}`),
      ...collectionNames.map((type) => `/businesses/${uuid}/new/${type}`),
    ]);
    const faulty = await owner.send(
      (await owner.get(`/businesses/${uuid}/new/events`)).form("/records/make"),
    );
    expect(strangeWords(faulty.html)).toEqual([]);
    const stale = await owner.post("/records/make", {});
    expect([stale.status, strangeWords(stale.html)]).toEqual([403, []]);
  });

  it("is shown a push and what is wrong in it, and a refused one, in it", async () => {
    const { services } = portal.node;
    const business = await openBusiness(services, shop.uuid, "4711");
    const { body, pushId } = await batchBody(business, [product("1", { availability: "in_stok" })]);
    await publish(services, business, body);
    await publish(services, business, (await batchBody(business, [product("2")])).body);
    const pushes = `/businesses/${shop.uuid}/pushes`;
    await expectWide(shop.owner, [pushes, `${pushes}/${pushId}`]);
    expect((await shop.owner.get(pushes)).html).toContain("seq_not_increasing");
  });

  it("is shown the pages of an AI company in it", async () => {
    const { owner, uuid } = await approvedAt(portal, await companyAppliedAt(portal, "1234"));
    await expectWide(owner, [`/companies/${uuid}`, `/people/${uuid}`, `/notices/${uuid}`]);
    await portal.node.services.actors.ask(ledgerRef(uuid), {
      type: "money.enter",
      entry_id: "7",
      kind: "top_up",
      amount: 1_000_000,
      currency: "EUR",
      by: "Olga",
      reason: "Paid.",
    });
    const statements = `/companies/${uuid}/statements`;
    const month = new Date().toISOString().slice(0, 7);
    await expectWide(owner, [`/companies/${uuid}`, statements, `${statements}/${month}`]);
  });

  it("is told in it what is refused", async () => {
    const headers = { accept: "text/html", "accept-language": "en-x-wide" };
    for (const [path, status] of [
      ["/nothing", 404],
      ["/sign-out", 405],
    ] as const) {
      const answer = await fetch(`${portal.url}${path}`, { headers });
      const html = await answer.text();
      expect([answer.status, strangeWords(html)]).toEqual([status, []]);
      expect(html).toContain('<html lang="en-x-wide"');
    }
  });

  it("is shown the door in it", () =>
    expectWide(Visitor.of(portal), ["/sign-in", "/sign-up", "/invitation", "/asked", "/mail"]));

  it("seals the English words, with their translation beside them", async () => {
    const shown = async (language: string) => {
      shop.owner.language = language;
      const { html } = await showMandate(shop);
      return [...html.matchAll(/<pre[^>]*>(.*?)<\/pre>/gs)].map(([pre, words = ""]) => [
        / lang="([^"]*)"/.exec(pre)?.[1],
        words.replaceAll("&quot;", '"'),
      ]);
    };
    const [[, english = ""] = [], ...none] = await shown("en");
    expect(english).toContain("records an hour");
    expect(none).toEqual([]);
    const both = await shown("en-x-wide");
    expect(both.map(([language]) => language)).toEqual(["en", undefined]);
    expect(both[1]?.[1]).toBe(wide(both[0]?.[1] ?? ""));
  });
});

it.each([
  ["en-x-wide", "en-x-wide"],
  ["EN-X-Wide", "en-x-wide"],
  ["en;q=0.1, en-x-wide;q=0.2", "en-x-wide"],
  ["en-x-wide;q=0.1, en;q=0.2", "en"],
  ["en-x-wide;q=0, fr", "en"],
  ["en-GB", "en"],
  ["*", "en"],
  ["", "en"],
  [";;,,q=;-", "en"],
])("Accept-Language %j is answered in %s", (asked, language) => {
  expect(textsFor(asked).language).toBe(language);
});

// A script in every text that somebody writes is shown as text: on the pages of the portal, those of operators and those for everybody.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { openPortalNode, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Field, Members } from "../../protocol/records/fields.ts";
import { fullRecord } from "../../protocol/records/full-records.fixture.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import {
  approvedAt,
  decideAt,
  idIn,
  type Owned,
  portalRoutes,
  provenKey,
  registerKeyAt,
  showMandate,
  writeRecord,
  writtenInto,
} from "./business.fixture.ts";

/** It ends whatever it may be in. */
const script = `"'><script>x</script>`;
const asHtml = "<script>x";
const asText = /&lt;script(?:>|&gt;)x/g;

let portal: PortalNode;
let shop: Owned;
beforeAll(async () => {
  portal = await openPortalNode();
  shop = await approvedAt(portal, await newApplicant());
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

async function newApplicant(): Promise<Visitor> {
  const person = Visitor.of(portal);
  await person.signUp(script);
  await person.apply(script);
  return person;
}

/** The record with a script in every text for people, each another one, and how many there are. */
function scripted(members: Members, record: JsonObject) {
  let count = 0;
  const scriptedIn = (field: Field | undefined, value: JsonValue): JsonValue => {
    if (field?.kind === "text") {
      count += 1;
      const whole = `${count}${script}`;
      return whole.length > field.max ? `${count}${asHtml}` : whole;
    }
    if (field?.kind === "array")
      return (value as readonly JsonValue[]).map((each) => scriptedIn(field.items, each));
    return field?.kind === "object" ? membersOf(field.members, value as JsonObject) : value;
  };
  const membersOf = (of: Members, value: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(value).map(([name, each]) => [name, scriptedIn(of[name], each)]));
  return { record: membersOf(members, record), count: () => count };
}

it.each(collectionNames)(
  "of a record, wherever it is written, sealed, listed, edited or verified: %s",
  async (type) => {
    const { owner, uuid } = shop;
    const { members } = recordTypes[type];
    const full = JSON.parse(new TextDecoder().decode(fullRecord(type, "own", { phrase: "a", share: 0.1 })));
    const { record, count } = scripted(members, full);
    const faulty = Object.fromEntries(Object.keys(writtenInto(type, record)).map((name) => [name, script]));
    const form = (await owner.get(`/businesses/${uuid}/new/${type}`)).form("/records/make");
    const shown = await writeRecord(shop, type, record);
    expect([shown.status, shown.html.match(asText)?.length]).toEqual([200, count() + 1]);
    const published = await owner.answer(shown.form("/records/seal"));
    const record_id = idIn(published);
    const listed = await owner.get(`/businesses/${uuid}/records`);
    const origin = hashOf(canonicalBytes(record), portal.node.services.crypto.sha256);
    const address = `${portal.node.urls.verify_url}/v1/verify/${record_id}?format=html&origin=${origin}`;
    const verified = await (await contractFetch(address)).text();
    expect(verified.match(asText)?.length).toBeGreaterThan(count());
    const pages = [
      await owner.send(form, faulty),
      shown,
      published,
      listed,
      await owner.send(listed.form("/records/edit"), { record_id }),
      await owner.send(listed.form("/records/remove"), { record_id, action: "withdraw" }),
    ].map(({ html }) => html);
    for (const html of [...pages, verified]) expect(html).not.toContain(asHtml);
  },
);

/** What each form of the page leads to that no passkey answers, with what is in its fields, and with a script in all of them. */
async function followed(who: Visitor, page: Seen, seen: Set<string>): Promise<readonly Seen[]> {
  const found: Seen[] = [];
  const forms = page.html.matchAll(/<form(?![^>]*(?:data-ceremony|multipart))[^>]*action="([^"]*)"/g);
  for (const [, action = ""] of forms) {
    if (seen.has(action) || action === "/sign-out") continue;
    seen.add(action);
    const form = page.form(action);
    const written = Object.fromEntries(Object.keys(form.controls).map((name) => [name, script]));
    found.push(await who.send(form, form.controls), await who.send(form, written));
  }
  return found;
}

it("of people, a business and those who decide about it, on every page of the portal", async () => {
  const { owner, uuid } = shop;
  await registerKeyAt(portal, shop, await provenKey(shop));
  await owner.answer((await showMandate(shop, { sources: "" })).form("/mandates/seal"));
  const refused = await newApplicant();
  const [named = ""] = (await refused.get("/")).html.match(/(?<=\/applications\/)[0-9a-f-]{36}/) ?? [];
  expect(await decideAt(portal, named, "refuse", { statement: script })).toBe(200);
  const add = await owner.send((await owner.get("/account")).form("/passkeys/add"), { name: script });
  await owner.confirm(add.form("/confirm"));
  const paths = (await portalRoutes(portal)).flatMap((route) =>
    /^get \/(?!assets|openapi|\.well-known)/.test(route) ? [route.slice(4).replace("{named}", uuid)] : [],
  );
  const pages = new Map<string, Seen>([["refused", await refused.get("/")]]);
  const seen = new Set<string>();
  for (const path of paths) {
    const page = await owner.get(path);
    pages.set(path, page);
    for (const [at, answer] of (await followed(owner, page, seen)).entries())
      pages.set(`${path} ${at}`, answer);
  }
  expect(seen.size).toBeGreaterThan(20);
  const texts = [...pages].flatMap(([path, { html }]) => (html.match(asText) === null ? [] : [path]));
  expect(texts.length).toBeGreaterThan(pages.size / 2);
  for (const [path, { html }] of pages) expect([path, html.includes(asHtml)]).toEqual([path, false]);
});

it("of all of them on every page of operators that leads from their first one", async () => {
  const { config, urls } = portal.node;
  const token = (await readFile(join(config.home, "ops-token"), "utf8")).trim();
  const headers = { authorization: `Basic ${btoa(`Olga:${token}`)}`, accept: "text/html" };
  const found = new Set([
    "/ui/",
    `/ui/search?q=${encodeURIComponent(script)}`,
    `/ui/parties?q=${encodeURIComponent(script)}`,
  ]);
  let withText = 0;
  for (const path of found) {
    const html = await (await fetch(`${urls.ops_url}${path}`, { headers })).text();
    expect([path, html.includes(asHtml)]).toEqual([path, false]);
    if (html.match(asText) !== null) withText += 1;
    for (const [, href = ""] of html.matchAll(/href="(\/ui\/[^"#]*)"/g))
      if (found.size < pagesMax) found.add(href.replaceAll("&amp;", "&"));
  }
  expect(withText).toBeGreaterThan(10);
}, 120_000);

const pagesMax = 250;

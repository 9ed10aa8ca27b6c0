import { describe, expect, it } from "vitest";
import { itemsOf, merchantAtom, merchantRss, notesOf, recordOf } from "./feed.fixture.ts";
import type { FeedMapping } from "./feed-mapping.ts";

const nowMs = Date.parse("2026-11-22T12:00:00Z");

describe("a merchant feed as XML", () => {
  const changed = (from: string, to: string) => itemsOf(merchantRss.replace(from, to), { nowMs });

  it("leaves out an item that says two things of one attribute", async () => {
    const price = "<g:price>59.00 USD</g:price>";
    const [twice] = await changed(price, `${price}<g:price>24.99 EUR</g:price>`);
    expect(twice?.bytes).toBeNull();
    expect(twice?.notes[0]).toMatchObject({
      attribute: "price",
      code: "given_twice",
      value: "59.00 USD",
      detail: expect.stringContaining("24.99 EUR"),
    });
    const [same] = await changed(price, price + price);
    expect(same?.bytes).not.toBeNull();
    const [parts] = await changed(
      "<g:country>US</g:country>",
      "<g:country>US</g:country><g:country>MX</g:country>",
    );
    expect([parts?.bytes, notesOf(parts)[0]]).toEqual([null, "shipping syntax_invalid"]);
    const title = "<title>Desk lamp &amp; shade</title>";
    const [own] = await changed(title, `${title}<g:title>Lamp</g:title>`);
    expect(recordOf(own)).toMatchObject({ product_name: "Lamp" });
    expect(notesOf(own)).toContain("title given_twice");
    const [language] = await changed(price, `${price}<g:content_language>de</g:content_language>`);
    expect(recordOf(language)).toMatchObject({ language: "de" });
  });

  it.each([
    ["availability", "<g:availability>in_stock<", "<g:availability><x>in_stock</x><"],
    ["availability", "<g:availability>in_stock<", "<g:availability>out<br/>in_stock<"],
    ["price", "<g:price>59.00 USD<", "<g:price>1<b/>59.00 USD<"],
    ["price", "<g:price>59.00 USD<", "<g:price>59.00 USD<b/><"],
    ["shipping", "<g:country>US<", "<g:country>U<b>S</b><"],
    ["shipping", "<g:country>US<", "DE<g:country>US<"],
    ["shipping", "<g:country>US</g:country>", "<g:land>US</g:land>"],
    ["title", "<title>Desk lamp", "<title><b>Desk</b> lamp"],
  ])("leaves out an item with elements within %s, whatever is the default: %s", async (name, from, to) => {
    const defaults = { availability: "out_of_stock", product_name: "Lamp", countries: ["DE"] };
    const options = { nowMs, mapping: { v: 1, defaults } as const };
    const [read] = await itemsOf(merchantRss.replace(from, to), options);
    expect([read?.bytes, notesOf(read)[0]]).toEqual([null, `${name} syntax_invalid`]);
  });

  it("reads an attribute in any case of letters", async () => {
    const [read] = await changed(
      "<g:availability>in_stock</g:availability>",
      "<g:Availability>sold</g:Availability>",
    );
    expect([read?.bytes, notesOf(read)[0]]).toEqual([null, "availability value_invalid"]);
  });

  it("splits shipping that is written in one value, and takes Atom's link to the page", async () => {
    const group = "<g:shipping><g:country>US</g:country><g:price>4.00 USD</g:price></g:shipping>";
    const [flat] = await changed(group, "<g:shipping>DE:::4.90 EUR</g:shipping>");
    expect(recordOf(flat)).toMatchObject({ countries: ["CA", "DE"] });
    const links =
      '<link rel="self" href="https://lamps.example/feed"/><link href="https://lamps.example/9"/>';
    const atom = merchantAtom.replace('<link href="https://lamps.example/9"/>', links);
    const given: FeedMapping = { v: 1, defaults: { countries: ["DE"] } };
    expect(recordOf((await itemsOf(atom, { mapping: given, nowMs }))[0])).toMatchObject({
      product_url: "https://lamps.example/9",
    });
  });

  it.each([
    ["https://base.google.com/ns/1.0", true],
    ["http://base.google.com/ns/1.0/", true],
    ["http://base.google.com/cns/1.0", false],
  ])("with the namespace %s is read: %s", async (namespace, isRead) => {
    const reading = changed("http://base.google.com/ns/1.0", namespace);
    if (isRead) expect((await reading)[0]?.bytes).not.toBeNull();
    else await expect(reading).rejects.toThrow(/namespace of g: is "http.*it must be/);
  });

  it.each([
    ["a=1&b=2", "&b=2"],
    ["a=1&b;=2&c", "&c"],
    ["a=1 & b", "&"],
    ["a=1&#x;", "&#x;"],
  ])("names the line and place of a bare & in %s", async (query, shown) => {
    const text = merchantRss.replace("a=1&amp;b=2", query.replace("&b;", "&amp;"));
    const said = { place: 11, message: expect.stringContaining(`${JSON.stringify(shown)}: write &amp;`) };
    for (const size of [1, 13, 65_536])
      await expect(itemsOf(text, { nowMs, size })).rejects.toMatchObject(said);
    const hidden = merchantRss.replace("<g:brand>", `<!-- a & b --><g:brand><![CDATA[a & b]]>`);
    expect((await itemsOf(hidden, { nowMs, size: 3 }))[0]?.bytes).not.toBeNull();
  });
});

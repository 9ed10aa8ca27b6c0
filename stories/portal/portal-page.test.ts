// docs/portal.md and what the README says of the portal: every word of a page, address, command, link and picture in them is there.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../node/configuration/config.ts";
import { root } from "../../tools/process.ts";
import { english } from "../../web/texts/catalogue.ts";

const read = (...path: readonly string[]) => readFileSync(join(root, ...path), "utf8");
const page = read("docs", "portal.md");
const [readme = ""] = /^Or come in as in production[\s\S]*?\n\n/m.exec(read("README.md")) ?? [];
const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, each = ""]) => each);

it("names links, buttons and pages by their words", () => {
  const words = (value: unknown): readonly string[] =>
    typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(words);
  const known = words(english);
  const named = found(page + readme, /«([^»]*)»/g);
  expect(named.length).toBeGreaterThan(10);
  const isKnown = (name: string) =>
    name.endsWith("…") ? known.some((each) => each.startsWith(name.slice(0, -1))) : known.includes(name);
  expect(named.filter((name) => !isKnown(name))).toEqual([]);
});

it("names the address where a portal is, and scripts that npm has", () => {
  const address = `http://localhost:${loadConfig({}, {}).portBase + 5}`;
  const addresses = found(page + readme, /(https?:\/\/[^\s,)]*[^\s,).:])/g);
  expect(new Set(addresses)).toEqual(new Set([address]));
  const { scripts } = JSON.parse(read("package.json"));
  const asked = found(page + readme, /`npm (?:run -s )?(\w+)/g);
  expect(new Set(asked)).toEqual(new Set(["start", "svc"]));
  for (const each of asked) expect(scripts).toHaveProperty(each);
});

it("leads to pages and headings that there are", () => {
  const links = [...found(page, /(?<!!)\[[^\]]*\]\(([^)]*)\)/g), ...found(readme, /\]\(docs\/([^)]*)\)/g)];
  expect(links.length).toBeGreaterThan(2);
  for (const link of links) {
    const [file = "", anchor] = link.split("#");
    const headings = found(read("docs", file), /^#+ (.*)$/gm);
    const anchors = headings.map((each) =>
      each
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
    if (anchor !== undefined) expect([link, anchors.includes(anchor)]).toEqual([link, true]);
  }
});

it("shows every picture that the journey takes, and no other", () => {
  const shown = found(page, /!\[[^\]]+\]\(portal\/([\w-]+)\.png\)/g);
  const there = readdirSync(join(root, "docs", "portal")).map((each) => each.replace(/\.png$/, ""));
  expect(shown.toSorted()).toEqual(there.toSorted());
  const journey = read("stories", "portal", "journey-in-browser.full.test.ts");
  const untaken = shown.filter((each) => !journey.includes(`"${each}"`));
  // The forms of the types of records are named after them.
  expect(untaken).toEqual(
    ["product", "business-file", "event", "job"].filter((each) => untaken.includes(each)),
  );
});

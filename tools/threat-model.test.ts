// The pages on security name tests and pages: each of them exists, and the threat model is checked in full.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./process.ts";

const read = (page: string): string => readFileSync(join(root, page), "utf8");

describe("the threat model in docs/hardening.md", () => {
  const [, page = ""] = read("docs/hardening.md").split("\n## Threat model\n");
  const named = [...page.matchAll(/`([a-z0-9/-]+(?:\.[a-z0-9]+)*\.test\.ts)`/g)].map(([, file = ""]) => file);

  it("names tests that exist, and one or more for every check", () => {
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    const checks = page.split("\n").filter((line) => /^- [a-z0-9]/.test(line));
    expect(checks.length).toBeGreaterThan(25);
    expect(checks.filter((line) => !line.includes(".test.ts`"))).toEqual([]);
  });

  it("quotes titles that those tests have", () => {
    const quoted = [...page.matchAll(/`([a-z0-9/.-]+\.test\.ts)` \(([^|]*?»)\)/g)].flatMap(
      ([, file = "", titles = ""]) =>
        [...titles.matchAll(/«([^»]+)»/g)].map(([, title = ""]) => [file, title] as const),
    );
    expect(quoted.length).toBe([...page.matchAll(/«/g)].length);
    expect(quoted.length).toBeGreaterThan(15);
    expect(quoted.filter(([file, title]) => !read(file).includes(`"${title}`))).toEqual([]);
  });

  it("says of every asset and attacker where it is defended", () => {
    const defined = [...page.matchAll(/^\| ([AX]\d) \|/gm)].map(([, name = ""]) => name);
    expect(defined.length).toBeGreaterThan(15);
    const headings = page.split("\n").filter((line) => line.startsWith("### "));
    expect(defined.filter((name) => !headings.some((line) => line.includes(name)))).toEqual([]);
  });
});

describe.each(["SECURITY.md", "docs/hardening.md", "docs/retention.md", "docs/production.md"])(
  "%s",
  (page) => {
    it("links to pages that exist", () => {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, to = ""]) => to);
      expect(links.length).toBeGreaterThan(0);
      expect(links.filter((to) => !existsSync(join(root, dirname(page), to)))).toEqual([]);
    });
  },
);

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { openOperatorFiles } from "./operator-files.ts";
import { loadTerms, priceNoticeMs, pricesFault, termsFault, termsLost } from "./versioned-file.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-terms-"));
afterAll(() => rmSync(folder, { recursive: true }));

const first = { version: 1, effective_from: "2026-01-01T00:00:00.000Z", language: "en", text: "# Terms\n" };
const second = { ...first, version: 2, effective_from: "2026-02-01T00:00:00.000Z", language: "pt-BR" };

function fileOf(content: unknown): string {
  const path = join(folder, "terms.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

describe("the file of the terms", () => {
  it("has every version, oldest first", async () => {
    expect(await loadTerms(fileOf({ versions: [first, second] }))).toEqual([first, second]);
  });

  it.each<readonly [string, unknown, RegExp]>([
    ["that is not strict JSON", '{"versions":[],"versions":[]}', /^SVC_TERMS: .*strict JSON/],
    ["without a version", { versions: [] }, /^SVC_TERMS: \/versions in /],
    [
      "with a version that lacks something",
      { versions: [{ ...first, text: undefined }] },
      /\/versions\/0\/text/,
    ],
    ["with a further member", { versions: [{ ...first, title: "x" }] }, /\/versions\/0\/title/],
    [
      "with an instant that is none",
      { versions: [{ ...first, effective_from: "2026" }] },
      /effective_from in/,
    ],
    [
      "with a language that is none",
      { versions: [{ ...first, language: "English!" }] },
      /\/versions\/0\/language/,
    ],
    ["in another order", { versions: [second, first] }, /\/versions\/1 in .* does not come after/],
    ["with one version twice", { versions: [first, { ...second, version: 1 }] }, /does not come after/],
    [
      "with two that begin at once",
      { versions: [first, { ...second, effective_from: first.effective_from }] },
      /does not come after/,
    ],
    ["that is too large", " ".repeat(4 * 1024 * 1024 + 1), /use at most 4194304/],
  ])("%s is refused by its place", async (_what, content, fault) => {
    await expect(loadTerms(fileOf(content))).rejects.toThrow(fault);
  });

  it("that is not there is refused", async () => {
    await expect(loadTerms(join(folder, "none.json"))).rejects.toThrow(/^SVC_TERMS: .* cannot be read/);
  });

  it("is read again when it changes, and a fault keeps what is in force", async () => {
    const terms = fileOf({ versions: [first] });
    const files = await openOperatorFiles(
      { contentLists: null, blockedUrls: null, asTable: null, prices: null, terms },
      () => {},
    );
    expect(files.terms()).toEqual([first]);
    fileOf({ versions: [first, second] });
    // A file is taken once it has stayed the same for two looks.
    for (let look = 0; look < 3; look += 1) await files.look();
    expect(files.terms()).toEqual([first, second]);
    fileOf("{");
    for (let look = 0; look < 3; look += 1) await files.look();
    expect(files.terms()).toEqual([first, second]);
  });
});

describe("what an operator sets of prices and terms", () => {
  const nowMs = Date.parse("2026-11-20T03:00:00.000Z");
  const at = (ms: number) => formatTimestamp(nowMs + ms);
  const search = { products: 1, business_files: 1, events: 1, jobs: 1, updates: 1 };
  const price = (version: number, ms: number, fetch = 1) => ({
    version,
    effective_from: at(ms),
    search,
    fetch,
  });
  const prices = (...versions: readonly ReturnType<typeof price>[]) => ({ currency: "EUR", versions });
  const text = (version: number, ms: number, words = "# Terms\n") => ({
    version,
    effective_from: at(ms),
    language: "en",
    text: words,
  });

  it("first prices begin later, so that nothing that was free is charged", () => {
    expect(pricesFault(null, prices(price(1, priceNoticeMs)), nowMs)).toMatch("/versions/0 is new");
    expect(pricesFault(null, prices(price(1, priceNoticeMs + 1)), nowMs)).toBeNull();
  });

  it("a price that every node may charge by already is fixed, and one that begins later is not", () => {
    const before = prices(price(1, -9), price(2, priceNoticeMs), price(3, priceNoticeMs + 1));
    expect(pricesFault(before, prices(price(1, -9), price(2, priceNoticeMs)), nowMs)).toBeNull();
    expect(pricesFault(before, prices(price(1, -9)), nowMs)).toMatch("version 2 is or was in force");
    const after = prices(price(1, -9), price(2, priceNoticeMs), price(3, priceNoticeMs + 1, 2));
    expect(pricesFault(before, after, nowMs)).toBeNull();
    expect(pricesFault({ ...before, currency: "USD" }, before, nowMs)).toMatch("/currency is EUR");
  });

  it("terms that were published stay, and new ones begin later, unless there were none", () => {
    expect(termsFault(null, [text(1, -9)], nowMs)).toBeNull();
    const before = [text(2, -9), text(3, 9)];
    expect(termsFault(before, [...before, text(4, 10)], nowMs)).toBeNull();
    expect(termsFault(before, [text(2, -9)], nowMs)).toMatch("version 3 was published");
    expect(termsFault(before, [text(2, -9, "# Other\n"), text(3, 9)], nowMs)).toMatch("version 2 was");
    expect(termsFault(before, [text(1, -10), ...before], nowMs)).toMatch("/versions/0 is new");
  });

  it("terms of a node's file that were in force are in what was set, and others need not be", () => {
    const file = [text(2, -9), text(3, 9)];
    expect(termsLost(file, [text(2, -9), text(4, 9)], nowMs)).toBeNull();
    expect(termsLost(file, [text(2, -9, "# Other\n")], nowMs)).toMatch("version 2 was published");
    expect(termsLost(file, [text(3, 9)], nowMs)).toMatch("version 2 was published");
  });
});

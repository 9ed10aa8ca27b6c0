import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openOperatorFiles } from "./operator-files.ts";
import { loadTerms } from "./versioned-file.ts";

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

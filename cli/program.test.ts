// The program as a whole where no node is needed: its version, help, completion and failures.

import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { runRevoke } from "../stories/operators/revocations.fixture.ts";
import { root } from "../tools/process.ts";
import { optionsOf, parseArguments } from "./command.ts";
import { completion } from "./completion.ts";
import { connectionOptions, withConfig } from "./connection.ts";
import { failureJson } from "./failure.ts";
import { opsNodes, opsSearch } from "./ops/lists.ts";
import { search } from "./search.ts";
import { verify } from "./verify.ts";

async function svc(...words: readonly string[]) {
  const args = [join(root, "cli/main.ts"), ...words];
  return await promisify(execFile)(process.execPath, args, { cwd: root }).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

describe("svc", () => {
  it("says its version, and the help of a group, however it is asked", async () => {
    expect((await svc("--version")).stdout).toMatch(/^svc [0-9]+\.[0-9]+\.[0-9]+\n$/);
    const [named, asked] = [await svc("help", "ops"), await svc("ops", "--help")];
    expect(named.stdout).toContain("ops nodes");
    expect(asked).toEqual(named);
    expect((await svc("help", "--help")).stdout).toContain("Exit codes: 0 done");
  });

  it("has each command in its help once, by itself or by its group, among those for the same reader", async () => {
    const [help, script] = [(await svc("help")).stdout, (await svc("completion", "fish")).stdout];
    const firsts = [...script.matchAll(/use_subcommand -a ([a-z-]+)/g)].map(([, name]) => name);
    const shown = [...help.matchAll(/^ {2}([a-z-]+(?: [a-z]+)?) {2,}/gm)].map(([, name = ""]) => name);
    expect(new Set(shown.map((name) => name.split(" ")[0]))).toEqual(new Set([...firsts, "help"]));
    expect(new Set(shown).size).toBe(shown.length);
    expect(help).toContain("Publish, as a business:");
  });

  it("names the nearest option, and what it takes is still refused with 2", async () => {
    const { code, stderr } = await svc("search", "products", "--contry", "US");
    expect([code, stderr]).toEqual([2, expect.stringContaining("Did you mean --country?")]);
  });

  const given = (input: string, ...words: readonly string[]) =>
    spawnSync(process.execPath, [join(root, "cli/main.ts"), ...words], {
      cwd: root,
      input,
      encoding: "utf8",
    });

  it("ends with 2 where what it should verify is no JSON, also from the standard input", () => {
    const { status, stderr } = given("id,name\n", "verify", "-", "--anchors", join(root, "package.json"));
    expect([status, stderr]).toEqual([2, expect.stringContaining("no JSON object")]);
  });

  it("reads the products of a push from the standard input, and counts what it cannot read apart", () => {
    const home = mkdtempSync(join(tmpdir(), "svc-home-"));
    const table = "business_product_id,product_name,price_US,price_currency_US\nloaf,A loaf,4.00,USD\n";
    const whole = given(table, "push", "-", "--check", "--home", home);
    const part = given(`${table}bun,A bun,four,USD\n`, "push", "-", "--check", "--home", home);
    rmSync(home, { recursive: true });
    const said = "1 product, 1 with faults";
    expect([whole.status, whole.stdout]).toEqual([1, expect.stringContaining(`${said}. Nothing`)]);
    const unread = `${said}; 1 item cannot be read as a product. Nothing`;
    expect([part.status, part.stdout]).toEqual([1, expect.stringContaining(unread)]);
  });
});

describe("SVC_CONFIG", () => {
  const env = { SVC_CONFIG: "mine.json", HOME: "/x" };
  const given = (...words: readonly string[]) => {
    const args = parseArguments(search, words);
    if (args === null) throw new Error("help was asked for");
    return withConfig(search, args, env).text("config");
  };

  it("may name a profile, and so may --config", () => {
    const profile = join("/x", ".config", "svc", "work.json");
    expect(given("products", "--config", "work")).toBe(profile);
    expect(given("products", "--config", "./work")).toBe("./work");
    const args = parseArguments(search, ["products"]);
    const elsewhere = { ...env, SVC_CONFIG: "work", XDG_CONFIG_HOME: "/etc/xdg" };
    expect(args && withConfig(search, args, elsewhere).text("config")).toBe("/etc/xdg/svc/work.json");
  });

  it("is the configuration of a command that names no party", () => {
    expect(given("products")).toBe("mine.json");
    expect(given("products", "--config", "other.json")).toBe("other.json");
    expect(given("products", "--home", "elsewhere")).toBe(null);
    expect(given("products", "--company", "2")).toBe(null);
  });

  it("is no file of anything else", () => {
    expect(optionsOf(connectionOptions)["config"]?.help).toContain("SVC_CONFIG");
    const args = parseArguments(verify, ["file"]);
    expect(args && withConfig(verify, args, { SVC_CONFIG: "mine.json" }).text("config")).toBe(null);
  });
});

describe("a failure as JSON", () => {
  it("has the exit code, the words and the problem", () => {
    const problem = { code: "unknown_field" };
    expect(JSON.parse(failureJson({ lines: ["a", "b"], code: 3, problem }))).toEqual({
      type: "failed",
      exit_code: 3,
      message: "a\nb",
      problem,
    });
  });
});

describe("svc completion", () => {
  const own = completion(() => [search, opsNodes, opsSearch]);
  const script = async (shell: string) =>
    (await runRevoke([shell], { home: null, reply: null, command: own })).printed;

  it.each<[string, string]>([
    ["", "search ops"],
    ["ops n", "nodes"],
    ["ops ", "nodes search"],
    ["search --cou", "--country"],
    ["search --country US --wh", "--where"],
    ["ops search --jso", "--json"],
  ])("lets bash complete «svc %s»", async (typed, found) => {
    const words = ["svc", ...typed.split(" ")].map((word) => `"${word}"`).join(" ");
    const program = `${await script("bash")}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _svc; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", program], { encoding: "utf8" });
    expect([stdout.trim(), stderr]).toEqual([found, ""]);
  });

  it("gives fish each command and option with its help", async () => {
    const lines = (await script("fish")).split("\n");
    expect(lines).toContainEqual(
      expect.stringMatching(/^complete -c svc -n __fish_use_subcommand -a search -d 'find/),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(
        /-n '__fish_seen_subcommand_from ops; and __fish_seen_subcommand_from search' -l json /,
      ),
    );
    expect(lines).toContainEqual(expect.stringMatching(/from search' -l country -r -d '/));
  });

  it("is for three shells", async () => {
    expect(await script("zsh")).toMatch(/^autoload -U \+X bashcompinit/);
    expect((await runRevoke(["tcsh"], { home: null, reply: null, command: own })).code).toBe(2);
  });
});

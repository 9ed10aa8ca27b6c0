import { describe, expect, it } from "vitest";
import {
  type Call,
  type Command,
  type CommandContext,
  exitCodes,
  onlyArgument,
  optionsOf,
  parseArguments,
  runCommand,
  UsageError,
} from "./command.ts";
import { commandHelp } from "./help.ts";
import { push } from "./publishing/push.ts";
import { parseWhere, search, searchRequest } from "./search.ts";

const command: Command = {
  name: "try",
  usage: "FILE",
  summary: "",
  options: `
    -n, --size N       how many
    --all              all of it
    --where CONDITION… a condition, or
`.replace("… a", "…  a"),
  run: async () => exitCodes.done,
};

const read = (...args: string[]) =>
  parseArguments(command, args) as NonNullable<ReturnType<typeof parseArguments>>;

/** Runs the command with another usage; what it was given as its one argument. */
async function run(usage: string, ...args: string[]): Promise<string> {
  let argument = "";
  const keep = async (call: Call): Promise<void> => {
    argument = call.argument;
  };
  const told: Command = { ...command, usage, run: keep };
  expect(await runCommand(told, read(...args), {} as CommandContext)).toBe(exitCodes.done);
  return argument;
}

describe("arguments", () => {
  it("are read by name, short name and place", () => {
    const args = read("a.csv", "-n", "7", "--all", "--where", "x=1", "--where=y=2");
    expect(args.positionals).toEqual(["a.csv"]);
    expect(args.text("size")).toBe("7");
    expect(args.flag("all")).toBe(true);
    expect(args.texts("where")).toEqual(["x=1", "y=2"]);
    expect(args.integer("size", { min: 1, max: 9, fallback: 3 })).toBe(7);
    expect(read().integer("size", { min: 1, max: 9, fallback: 3 })).toBe(3);
    expect(onlyArgument(args, command)).toBe("a.csv");
    expect(parseArguments(command, ["--help"])).toBeNull();
  });

  it("may be a key_id that begins with a hyphen, in its place and as a value", () => {
    const [id, other] = [`-${"a".repeat(42)}`, `--${"b_-".repeat(13)}Zz`];
    expect(read("key", id, "--all").positionals).toEqual(["key", id]);
    expect(read("--all", "key", other).positionals).toEqual(["key", other]);
    expect(read("key", id, "--", "--all")).toMatchObject({ positionals: ["key", id, "--all"] });
    expect(read("--size", id, "x")).toMatchObject({ positionals: ["x"] });
    expect(read("--size", id, "x").text("size")).toBe(id);
    expect(() => read(`-${"a".repeat(41)}`)).toThrow(UsageError);
    expect(() => read(`-${"a".repeat(43)}`)).toThrow(UsageError);
  });

  it.each([
    ["an option that is not there", () => read("--sizes", "1")],
    ["an option without its value", () => read("--size")],
    ["a value for a flag", () => read("--all=1")],
    ["a number out of bounds", () => read("-n", "10").integer("size", { min: 1, max: 9, fallback: 3 })],
    ["a number that is none", () => read("-n", "7x").integer("size", { min: 1, max: 9, fallback: 3 })],
    ["a missing argument", () => onlyArgument(read(), command)],
    ["an argument too many", () => onlyArgument(read("a", "b"), command)],
    ["an argument where none is", () => run("", "a")],
  ])("refuse %s", async (_, attempt) => {
    await expect((async () => attempt())()).rejects.toThrow(UsageError);
  });

  it("are as many as the usage says", async () => {
    expect(await run("FILE", "a.csv")).toBe("a.csv");
    expect(await run("RENDER_TOKEN|RECORD_ID", "a")).toBe("a");
    expect(await run("[FILE]", "a", "b")).toBe("");
    for (const words of [[], ["a", "b"]]) await expect(run("KIND/ID", ...words)).rejects.toThrow(UsageError);
  });

  it("have options that are read from their lines in the help", () => {
    expect(optionsOf(command.options)).toEqual({
      size: { type: "string", short: "n", value: "N", help: "how many" },
      all: { type: "boolean", help: "all of it" },
      where: { type: "string", value: "CONDITION", multiple: true, help: "a condition, or" },
    });
    for (const line of ["--size N how many", "size N  how many", "or another"])
      expect(() => optionsOf(`${command.options}\n${line}`)).toThrow("not the line of an option");
  });

  it("are all in the help", () => {
    const help = commandHelp(push).join("\n");
    for (const name of Object.keys(optionsOf(push.options))) expect(help).toContain(`--${name}`);
  });
});

describe("a condition", () => {
  it.each<[string, unknown]>([
    ["brand=Saltmarsh", { brand: "Saltmarsh" }],
    ["on_sale=true", { on_sale: true }],
    ["brand!=A=B", { brand: { ne: "A=B" } }],
    ["price_amount<=1000", { price_amount: { lte: 1000 } }],
    ["price_amount>9.5", { price_amount: { gt: 9.5 } }],
    ["start_at>=2026-12-01T00:00:00.000Z", { start_at: { gte: "2026-12-01T00:00:00.000Z" } }],
    ["gtin=00012345", { gtin: "00012345" }],
    ["year_established:=1987", { year_established: 1987 }],
    ["tags in ring, gold", { tags: { in: ["ring", "gold"] } }],
    ["payment.methods nin cash", { "payment.methods": { nin: ["cash"] } }],
    ["geo near 51.36,-1.02,10", { geo: { near: { lat: 51.36, lng: -1.02, radius_km: 10 } } }],
  ])("%s", (text, clause) => {
    expect(parseWhere(text)).toEqual(clause);
  });

  it.each(["brand", "", "=x", "a:=no json"])("refuses %j", (text) => {
    expect(() => parseWhere(text)).toThrow(UsageError);
  });
});

describe("a search", () => {
  const request = (...args: string[]) =>
    searchRequest(parseArguments(search, args) as NonNullable<ReturnType<typeof parseArguments>>, "GB");

  it("names one country and an order, always", () => {
    expect(request("products", "ideal", "cut", "-c", "us", "-w", "price_amount<=5", "-n", "3")).toEqual({
      collection: "products",
      q: "ideal cut",
      filter: { all: [{ country: "US" }, { price_amount: { lte: 5 } }] },
      sort_by: "_text_match:desc",
      limit: 3,
    });
    expect(request("business-files")).toEqual({
      collection: "business_files",
      filter: { all: [{ country: "GB" }] },
      sort_by: "published_at:desc",
      limit: 20,
    });
  });

  it("refuses what is no collection, and a country that nobody named", () => {
    expect(() => request()).toThrow(UsageError);
    expect(() => request("things")).toThrow(UsageError);
    const args = parseArguments(search, ["jobs"]);
    expect(() => searchRequest(args as NonNullable<typeof args>, null)).toThrow(UsageError);
  });
});

import { describe, expect, it } from "vitest";
import { boundedLines, type LineFault, lineBytesMax } from "./program.ts";

const ping = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
const initialize = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":{}}`;

async function served(
  chunks: readonly string[],
): Promise<{ readonly lines: readonly string[]; readonly faults: readonly LineFault[] }> {
  const faults: LineFault[] = [];
  const stream = boundedLines((fault) => void faults.push(fault));
  const passed: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => passed.push(chunk));
  const ended = new Promise((resolve) => stream.once("end", resolve));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await ended;
  const text = Buffer.concat(passed).toString();
  return { lines: text.split("\n").filter((line) => line !== ""), faults };
}

describe("lines of stdin", () => {
  it("pass however they are cut, with and without carriage returns and empty lines", async () => {
    const text = `${ping(1)}\n\n  \r\n${ping(2)}\r\n`;
    for (const size of [1, 7, 1_000]) {
      const chunks = text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      const { lines, faults } = await served(chunks);
      expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2]);
      expect(faults).toEqual([]);
    }
  });

  it("may begin with a byte order mark, but no later line may", async () => {
    const { lines, faults } = await served([`\ufeff${initialize(1)}\n${ping(2)}\n\ufeff${ping(3)}\n`]);
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2]);
    expect(faults).toEqual([{ code: -32700, message: "The line is not JSON.", id: null }]);
  });

  it("of ten megabytes are dropped with one error, and the next is served (B1)", async () => {
    const part = "x".repeat(65_536);
    const { lines, faults } = await served([...Array.from({ length: 160 }, () => part), `\n${ping(3)}\n`]);
    expect(faults).toEqual([
      { code: -32600, id: null, message: `A line is longer than ${lineBytesMax} bytes and was not read.` },
    ]);
    expect(lines).toEqual([ping(3)]);
  });

  it("have at most a mebibyte (B1)", async () => {
    const within = ping(1).padEnd(lineBytesMax, " ");
    expect(lineBytesMax).toBe(1_048_576);
    expect(await served([`${within}\n`])).toEqual({ lines: [within], faults: [] });
    const { lines, faults } = await served([`${within} \n${ping(2)}\n`]);
    expect([lines, faults.length]).toEqual([[ping(2)], 1]);
  });

  it.each<[string, string, number, string | number | null]>([
    ["not JSON", "hello", -32700, null],
    ["half a message", '{"jsonrpc":"2.0"', -32700, null],
    ["a batch", `[${ping(1)}]`, -32600, null],
    ["a number", "7", -32600, null],
    ["of another protocol", '{"id":1,"method":"ping"}', -32600, null],
    ["without a method", '{"jsonrpc":"2.0","id":4}', -32600, 4],
    ["with a method that is not text", '{"jsonrpc":"2.0","id":"a","method":7}', -32600, "a"],
    ["with an id that is not one", '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, null],
    ["with params that are a list", '{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}', -32600, 5],
  ])("that are %s are answered with an error (B2)", async (_name, line, code, id) => {
    const { lines, faults } = await served([`${line}\n${ping(9)}\n`]);
    expect(faults).toMatchObject([{ code, id }]);
    expect(lines).toEqual([ping(9)]);
  });

  it("that initialize again are refused (B3)", async () => {
    const { lines, faults } = await served([`${initialize(1)}\n${ping(2)}\n${initialize(3)}\n`]);
    expect(lines).toEqual([initialize(1), ping(2)]);
    expect(faults).toMatchObject([{ code: -32600, id: 3, message: expect.stringContaining("initialized") }]);
  });
});

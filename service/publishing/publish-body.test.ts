import { describe, expect, it } from "vitest";
import { utf8 } from "../../protocol/bytes.ts";
import { isRefused } from "../answer.ts";
import { parsePublishBody } from "./publish-batch.ts";

const seal = '{"payloadType":"t","payload":"e30=","signatures":[{"keyid":"k","sig":"AAAA"}]}';
const bodyBytesMax = 33_554_432;

/** A body as large as the surface allows, filled with `item` repeated. */
function filled(item: string): Uint8Array {
  const start = `{"batch_seal":${seal},"records":[`;
  const count = Math.floor((bodyBytesMax - start.length - 2) / (item.length + 1));
  return utf8(`${start}${Array.from({ length: count }, () => item).join(",")}]}`);
}

interface Read {
  readonly outcome: Awaited<ReturnType<typeof parsePublishBody>>;
  readonly pauses: number;
}

async function read(body: Uint8Array): Promise<Read> {
  let pauses = 0;
  const outcome = await parsePublishBody(body, async () => {
    pauses += 1;
  });
  return { outcome, pauses };
}

describe("a body of 32 MiB", () => {
  it.each([["{}"], ["[]"], ['{"a":0}'], ['{"\\u0061":0}'], ['""'], ["0"]])(
    "of %s is refused after the items of a batch, and not parsed (B2)",
    async (item) => {
      const { outcome, pauses } = await read(filled(item));
      expect(outcome).toMatchObject({ problem: { code: "request_invalid", pointer: "/records" } });
      expect(pauses).toBeLessThanOrEqual(1);
    },
  );

  it("of one record's text is refused for its length, with a pause for each step (B1)", async () => {
    const { outcome } = await read(utf8(`{"batch_seal":${seal},"records":["${"A".repeat(33_000_000)}"]}`));
    expect(outcome).toMatchObject({
      problem: { code: "record_too_large", pointer: "/records/0" },
    });
  });

  it("of quotes in the records' texts is read in steps (B1)", async () => {
    const text = `"${'\\"'.repeat(600_000)}"`;
    const records = Array.from({ length: 26 }, () => text).join(",");
    const { outcome, pauses } = await read(utf8(`{"batch_seal":${seal},"records":[${records}]}`));
    expect(outcome).toMatchObject({
      problem: { code: "record_too_large", pointer: "/records/0" },
    });
    expect(pauses).toBeGreaterThan(50);
  });

  it("of other members than records is refused without a parse (B1)", async () => {
    const objects = `{"records":["AA=="],"batch_seal":[${"{},".repeat(11_000_000)}{}]}`;
    expect((await read(utf8(objects))).outcome).toMatchObject({
      problem: { code: "request_invalid", pointer: "" },
    });
    const renamed = `{"\\u0072ecords":[${"{},".repeat(11_000_000)}{}]}`;
    expect((await read(utf8(renamed))).outcome).toMatchObject({
      problem: { code: "request_invalid" },
    });
  });

  it("of 10,000 records is read whole, with a pause for each half MiB", async () => {
    const text = Buffer.alloc(2_400, 7).toString("base64");
    const { outcome, pauses } = await read(
      utf8(
        `{"batch_seal":${seal},"records":[${Array.from({ length: 10_000 }, () => `"${text}"`).join(",")}]}`,
      ),
    );
    expect(isRefused(outcome) ? null : outcome.records.length).toBe(10_000);
    expect(pauses).toBeGreaterThan(100);
  });
});

describe("a body that is no JSON", () => {
  it.each([
    [`{"batch_seal":${seal},"records":["AA==" "AA=="]}`],
    [`{"batch_seal":${seal},"records":["AA=="`],
    [`{"batch_seal":${seal},"records":["AA=="]`],
    [`{"batch_seal":${seal},"records":["AA==",`],
    [`{"batch_seal":${seal},"records":["AA==",]}`],
    [""],
    ["[]"],
  ])("is refused: %s", async (text) => {
    expect((await read(utf8(text))).outcome).toMatchObject({
      problem: { code: "request_invalid" },
    });
  });
});

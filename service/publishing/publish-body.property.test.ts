// The body of a batch, read in steps, compared with the strict parser reading it as a whole.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBase64, toBase64, utf8 } from "../../protocol/bytes.ts";
import { splitArray } from "../../protocol/json/json-records.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { parsePublishBody } from "./publish-batch.ts";

const seal = {
  payloadType: "application/vnd.svc.batch-seal.v2+json",
  payload: "e30=",
  signatures: [{ keyid: "k", sig: "AAAA" }],
};
const noPause = () => Promise.resolve();

/** JSON text with white space and escapes where JSON allows them. */
const spaces = fc.constantFrom("", " ", "\n\t", "\r\n  ");

function written(text: string, escapes: boolean): string {
  const plain = JSON.stringify(text);
  return escapes
    ? plain.replaceAll("/", "\\/").replace(/[A-Z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
    : plain;
}

const record = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.boolean())
  .map(([bytes, escapes]) => written(toBase64(bytes), escapes));
const oddItem = fc.constantFrom(
  "null",
  "7",
  "{}",
  '{"a":[1,"]"]}',
  "[]",
  '["AA=="]',
  '""',
  '"A"',
  '"AAAA\\n"',
  '"\u00e9AAA"',
  "true",
);
const items = fc.array(fc.oneof({ weight: 12, arbitrary: record }, { weight: 1, arbitrary: oddItem }), {
  maxLength: 12,
});

const body = fc
  .tuple(
    items,
    spaces,
    spaces,
    fc.boolean(),
    fc.constantFrom("", ',"records":[]', ',"more":1', ',"batch_seal":{}', ",", "}"),
  )
  .map(([list, before, after, sealFirst, extra]) => {
    const records = `"records"${before}:${after}[${before}${list.join(`${after},${before}`)}${after}]`;
    const batchSeal = `"batch_seal":${before}${JSON.stringify(seal)}`;
    return `${after}{${before}${sealFirst ? `${batchSeal},${records}` : `${records},${batchSeal}`}${extra}${before}}${after}`;
  });

/** The result of the strict parser alone. */
function expected(text: string): "malformed" | "refused" | readonly Uint8Array[] {
  const parsed = parseStrictJson(utf8(text));
  if (!parsed.ok) return "malformed";
  const value = parsed.value as { readonly records?: readonly unknown[]; readonly more?: unknown };
  if (value.more !== undefined || !Array.isArray(value.records) || value.records.length === 0)
    return "refused";
  const bytes = value.records.map((each: unknown) => (typeof each === "string" ? parseBase64(each) : null));
  return bytes.every((each) => each !== null && each.length > 0) ? (bytes as Uint8Array[]) : "refused";
}

describe("the body of a batch, read in steps", () => {
  it("is read as the strict parser reads it", async () => {
    const seen = { malformed: 0, refused: 0, read: 0 };
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const wanted = expected(text);
        seen[typeof wanted === "string" ? wanted : "read"] += 1;
        const outcome = await parsePublishBody(utf8(text), noPause);
        if (typeof wanted === "string") {
          expect(outcome).toMatchObject({ problem: { status: 400, code: "request_invalid" } });
        } else expect(outcome).toEqual({ batchSeal: seal, records: wanted });
      }),
      { numRuns: 2_000 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
  });

  it("ends for any bytes whatever, and loses none of them", () => {
    const alphabet = fc.constantFrom(
      '"',
      "\\",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      " ",
      "records",
      '"records":[',
      "a",
      "\u00e9",
    );
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 60 }), (parts) => {
        const bytes = utf8(parts.join(""));
        const work = splitArray(bytes, { member: "records", itemsMax: 5, stringBytesMax: 20, stepBytes: 3 });
        let steps = 0;
        let step = work.next();
        for (; step.done !== true; step = work.next()) steps += 1;
        expect(steps).toBeLessThanOrEqual(bytes.length);
        if (step.value.kind !== "split") return;
        if (step.value.items === null) expect(step.value.rest).toBe(bytes);
        else {
          for (const place of step.value.items) if (place !== null) expect(bytes[place.end]).toBe(0x22);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectionNames } from "../../protocol/identifiers.ts";
import type { AssignReply } from "../messages/business.ts";
import { answerText, type HeadRow, headText, parseAnswer, parseHead } from "./rows.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const count = fc.nat();
const head: fc.Arbitrary<HeadRow> = fc.record(
  {
    collection: fc.constantFrom(...collectionNames),
    generation: count,
    change: count,
    live: fc.boolean(),
    number: count,
    hash: text,
    bpid: fc.option(text),
    listings: fc.dictionary(fc.constantFrom("US", "DE", "__proto__x"), fc.tuple(text, text), {
      noNullPrototype: true,
    }),
    removed_by: text,
    sealed_at_ms: count,
    deletions: fc.array(fc.tuple(count, text)),
    mandate: fc.integer({ min: 1, max: 9 }),
    taken_down: fc.constant(true),
    unserved: fc.constant(true),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      "collection",
      "generation",
      "change",
      "live",
      "number",
      "hash",
      "bpid",
      "listings",
      "sealed_at_ms",
    ],
  },
);
const answer: fc.Arbitrary<AssignReply> = fc.record(
  {
    assigned_at_ms: count,
    assignments: fc.array(
      fc.record(
        {
          leaf_index: count,
          record_id: text,
          outcome: fc.constantFrom("accepted", "updated", "superseded", "duplicate"),
          generation: count,
          change: count,
        },
        { noNullPrototype: true },
      ),
    ),
  },
  { noNullPrototype: true },
);

describe("rows of a business", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(head, (each) => {
        expect(parseHead(headText(each))).toEqual(each);
      }),
    );
    fc.assert(
      fc.property(answer, (each) => {
        expect(parseAnswer(answerText(each))).toEqual(each);
      }),
    );
  });

  it("do not take an answer that is none", () => {
    expect(() => parseAnswer('{"assigned_at_ms":1,"assignments":[[0,"r",9,1,1]]}')).toThrow("not written");
  });
});

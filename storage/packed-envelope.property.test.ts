// P1 and P2 of receipt-store.ts.

import fc from "fast-check";
import { expect, it } from "vitest";
import { hashOf, toBase64, toHex, utf8 } from "../protocol/bytes.ts";
import { receiptPayloadText } from "../protocol/receipt.ts";
import { packEnvelope, type ReadSignedRows, unpackEnvelope } from "./receipt-store.ts";
import { type SignedRow, signedMembers, signedRowOf } from "./record-store.ts";

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const idOf = (kind: string) => fc.stringMatching(/^[a-z2-7]{26}$/).map((text) => `${kind}_${text}`);
const rowsOf = (kind: string) =>
  fc.array(
    fc.record({
      record_id: idOf(kind),
      generation: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
      adl_origin: bytes(32).map((hash) => `sha256:${toHex(hash)}`),
      adl_row_sig: bytes(64).map(toBase64),
      ai_policy_version: fc.nat(),
      isPurged: fc.boolean(),
    }),
    { maxLength: 50 },
  );

const receipt = fc
  .record({
    rows: fc.constantFrom("svc", "evt", "upd").chain(rowsOf),
    retrieval_id: fc.string({ unit: "grapheme", maxLength: 9 }),
    signature: bytes(64),
  })
  .map(({ rows, retrieval_id, signature }) => {
    const payloadOf = (of: readonly SignedRow[]) =>
      receiptPayloadText({
        ai_company_uuid: "10000000-0000-4000-8000-000000000001",
        collection: "products",
        country: "GB",
        key_id: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        kind: "search",
        region: "eu-west1",
        request_hash: `sha256:${"0".repeat(64)}`,
        retrieval_id,
        rows: of as typeof rows,
        served_at: "2026-03-04T05:06:07.123Z",
      });
    const payloadType = "application/vnd.svc.receipt.v3+json";
    const envelope = `{"payloadType":"${payloadType}","payload":"${toBase64(utf8(payloadOf(rows)))}","signatures":[{"keyid":"key","sig":"${toBase64(signature)}"}]}`;
    const reference = { payloadType, keyId: "key", signature, payload: payloadOf([]), versions: rows };
    return { envelope, hash: hashOf(utf8(envelope)), rows, reference };
  });
type Case = ReturnType<typeof receipt.generate>["value"];

/** The versions as a store has them: their rows, or what remains of them. */
function storeOf(rows: Case["rows"]): ReadSignedRows {
  const stored = new Map(
    rows.map((row) => {
      const text = JSON.stringify({ ...row, other: 1 });
      const remains = JSON.stringify({ purged: {}, signed: signedMembers(text) });
      const version = row.isPurged ? { row: "", sidecar: remains } : { row: text, sidecar: "{}" };
      return [`${row.record_id} ${row.generation}`, signedRowOf({ hash: row.adl_origin, ...version })];
    }),
  );
  return async (versions) =>
    versions.map(({ record_id, generation }) => stored.get(`${record_id} ${generation}`) ?? null);
}

const noVersions: ReadSignedRows = async (versions) => versions.map(() => null);

it("a receipt is made again as it was, from 21 bytes a row, also after its versions were purged (P1)", async () => {
  await fc.assert(
    fc.asyncProperty(receipt, async ({ rows, ...given }) => {
      const packed = packEnvelope(given);
      expect(packed.length).toBeLessThan(700 + 21 * rows.length);
      expect(await unpackEnvelope(packed, given, storeOf(rows))).toBe(given.envelope);
    }),
  );
});

it("no other text is given for it: where a version is another, or none, that is an error (P1)", async () => {
  const changed = fc.tuple(
    receipt.filter(({ rows }) => rows.length > 0),
    fc.nat(),
    fc.constantFrom<Partial<Case["rows"][number]>>(
      { adl_origin: `sha256:${"f".repeat(64)}` },
      { adl_row_sig: "A" },
      { ai_policy_version: -1 },
      { generation: 0 },
    ),
  );
  await fc.assert(
    fc.asyncProperty(changed, async ([given, nth, change]) => {
      const rows = given.rows.map((row, at) =>
        at === nth % given.rows.length ? { ...row, ...change } : row,
      );
      const read = unpackEnvelope(packEnvelope(given), given, storeOf(rows));
      await expect(read).rejects.toThrow("cannot be made again");
    }),
  );
});

it("bytes that were not packed, or that were changed, are refused (P1)", async () => {
  const [given] = fc.sample(
    receipt.filter(({ rows }) => rows.length > 1),
    { seed: 1, numRuns: 1 },
  );
  if (given === undefined) throw new Error("unreachable");
  const packed = packEnvelope(given);
  const others = [new Uint8Array(0), Uint8Array.of(7, 1), packed.subarray(0, -1), Uint8Array.of(1, 65, 10)];
  for (const other of [...others, packed.subarray(0, -21), packed.with(packed.length - 1, 9)])
    await expect(unpackEnvelope(other, given, storeOf(given.rows))).rejects.toThrow("cannot be made again");
});

it("anything else is kept whole (P2)", async () => {
  const mixed = fc.tuple(rowsOf("svc"), rowsOf("upd")).map((kinds) => kinds.flat());
  const odd = fc.array(fc.record({ record_id: fc.string(), generation: fc.nat() }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme" }),
      fc.option(
        fc.oneof(
          mixed.filter((all) => new Set(all.map(({ record_id: id }) => id[0])).size > 1),
          odd,
        ),
      ),
      receipt,
      async (envelope, versions, { reference }) => {
        const given = versions === null ? { envelope } : { envelope, reference: { ...reference, versions } };
        const hash = hashOf(utf8(envelope));
        expect(await unpackEnvelope(packEnvelope(given), { hash }, noVersions)).toBe(envelope);
      },
    ),
  );
});

import { describe, expect, it } from "vitest";
import { canonicalBytes } from "../../protocol/canonical-json.ts";
import { hashOf, sha256 } from "../../protocol/hash.ts";
import type { PackedMessages } from "../../protocol/packed-messages.ts";
import { type CertifiedNames, noCertifiedNames } from "../../protocol/records/content-lists.ts";
import { createNameIndex } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import type { BusinessCommand, LeafAssignment } from "../messages/business.ts";
import { assignChunk, signChunk } from "./prepare-chunk.ts";

describe("a chunk whose leaves are not all there", () => {
  it("is not begun: its outcomes would be settled without them", async () => {
    const asked: unknown[] = [];
    const ports = { records: { loadLeaves: async () => [new Uint8Array(), new Uint8Array()] } };
    const facts = { push_id: "bat_0", records: 203 };
    const prepared = assignChunk(ports as never, { facts: facts as never, chunk: 1 }, async (to) => {
      asked.push(to);
      return undefined as never;
    });
    await expect(prepared).rejects.toThrow("A leaf of chunk 1 of bat_0 is not staged.");
    expect(asked).toEqual([]);
  });
});

const names = ["Fellside Shoe", "Moorland Shoe", "Plain Shoe"];
const records = names.map((name, index) =>
  canonicalBytes({ ...sampleRecords.products, product_name: name, business_product_id: `p${index}` }),
);
const facts = { push_id: "bat_0", business_uuid: "u", collection: "products", records: 3, countries: null };
/** Of a push that was accepted while names were protected. */
const named = { ...facts, own_names: [] };
const signer = {
  keyId: "k",
  signMany: async ({ ends }: PackedMessages) => [...ends].map(() => new Uint8Array(64)),
};

const assignmentOf = (leaf: number): LeafAssignment => ({
  leaf_index: leaf,
  record_id: `svc_p${leaf}`,
  outcome: "accepted",
  generation: 1,
  change: 1,
});

/** Prepares the chunk under these lists; the business answers with `remembered`, or for what it is asked. */
async function prepare(
  protectedNames: readonly string[],
  remembered?: readonly LeafAssignment[],
  of: object = named,
  certified: CertifiedNames = noCertifiedNames,
) {
  const asked: number[] = [];
  const ports = {
    records: { loadLeaves: async () => records },
    parsed: { take: () => undefined },
    lists: { protectedNames, exemptNames: [], blockedHosts: [], certified },
    crypto: { sha256 },
    recordIdOf: (_business: string, _collection: string, id: string) => `svc_${id}`,
    projection: () => signer,
    sidecar: () => signer,
  } as never;
  const assigned = await assignChunk(ports, { facts: of as never, chunk: 0 }, async (_to, message) => {
    const { leaves } = message as Extract<BusinessCommand, { type: "chunk.assign" }>;
    asked.push(...leaves.map((leaf) => leaf.leaf_index));
    const assignments = remembered ?? asked.map(assignmentOf);
    return { assigned_at_ms: 0, assignments } as never;
  });
  const prepared = await signChunk(ports, of as never, assigned);
  return {
    asked,
    outcomes: prepared.outcomes.map(({ outcome, errors }) => [outcome, ...errors.map((each) => each.code)]),
    published: prepared.published.map(({ leaf, assignment }) => [assignment.record_id, leaf.hash]),
  };
}

const versionOf = (leaf: number) => [`svc_p${leaf}`, hashOf(records[leaf] as Uint8Array)];

describe("a chunk that is judged again after its rules changed", () => {
  it("asks for what it takes today, when it is judged first", async () => {
    expect(await prepare(["Moorland"])).toEqual({
      asked: [0, 2],
      outcomes: [["accepted"], ["rejected", "scope_violation"], ["accepted"]],
      published: [versionOf(0), versionOf(2)],
    });
  });

  it("publishes a leaf that has a generation, although today's rules refuse it (P1)", async () => {
    expect(await prepare(["Fellside"], [0, 1, 2].map(assignmentOf))).toEqual({
      asked: [1, 2],
      outcomes: [["accepted"], ["accepted"], ["accepted"]],
      published: [versionOf(0), versionOf(1), versionOf(2)],
    });
  });

  it("rejects a leaf that was refused then, although today's rules take it (P1)", async () => {
    expect(await prepare([], [1, 2].map(assignmentOf))).toEqual({
      asked: [0, 1, 2],
      outcomes: [["rejected", "refused_before"], ["accepted"], ["accepted"]],
      published: [versionOf(1), versionOf(2)],
    });
  });

  it("judges by the own names that were decided when the push was accepted", async () => {
    const own = { ...named, own_names: ["fellside"] };
    expect((await prepare(["Fellside", "Moorland"], undefined, own)).asked).toEqual([0, 2]);
  });

  it("goes by its first answer although a company was certified since, and another closed (P1)", async () => {
    const certified = { ...noCertifiedNames, index: createNameIndex([["fellside", "shoe"]]) };
    const lowered = { ...named, own_names: [] };
    // Fellside Shoe was certified after leaf 0 had its generation; Moorland Shoe was closed after leaf 1 was refused.
    const again = await prepare([], [0, 2].map(assignmentOf), lowered, certified);
    expect(again.outcomes).toEqual([["accepted"], ["rejected", "refused_before"], ["accepted"]]);
  });

  it("judges by the long lists of names that were kept with pushes before", async () => {
    const own_names = [...Array.from({ length: 299 }, (_, index) => `brand ${index}`), "fellside"];
    expect((await prepare(["Fellside", "Moorland"], undefined, { ...named, own_names })).asked).toEqual([
      0, 2,
    ]);
  });

  it("looks for no names where none were decided, as on pushes of before there were such names", async () => {
    expect((await prepare(["Fellside", "Moorland"], undefined, facts)).asked).toEqual([0, 1, 2]);
  });

  it("takes no answer for a leaf that is not of the chunk", async () => {
    await expect(prepare([], [assignmentOf(3)])).rejects.toThrow("a leaf that it was not asked about");
  });
});

import { describe, expect, it } from "vitest";
import type { Signer } from "../../crypto/port.ts";
import { hashOf, sha256 } from "../../protocol/bytes.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { type CertifiedNames, createNameIndex, noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { PackedMessages } from "../../protocol/signed-version.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { BusinessProtocol, LeafAssignment } from "../messages/business.ts";
import type { CommandOf, Message } from "../messages/protocol.ts";
import type { PushFacts, SettledOutcome } from "../messages/push.ts";
import type { Ask } from "../system/definition.ts";
import type { PushPorts } from "./ports.ts";
import { assignChunk, signChunk } from "./prepare-chunk.ts";

const actor = { kind: "push", id: "u.bat_0" } as const;

describe("a chunk whose leaves are not all there", () => {
  it("is not begun: its outcomes would be settled without them", async () => {
    const asked: unknown[] = [];
    const load = async () => [new Uint8Array(), new Uint8Array()];
    const ports = part<PushPorts>({ leaves: part({ load }) });
    const ask: Ask = async (to) => rubbish(asked.push(to));
    const work = { facts: pushFacts({ records: 203 }), chunk: 1 };
    const prepared = assignChunk(ports, work, { actor, ask });
    await expect(prepared).rejects.toThrow("A leaf of chunk 2 of bat_0 is not staged.");
    expect(asked).toEqual([]);
  });
});

const names = ["Fellside Shoe", "Moorland Shoe", "Plain Shoe"];
const records = names.map((name, index) =>
  canonicalBytes({ ...sampleRecords.products, product_name: name, business_product_id: `p${index}` }),
);
const facts = pushFacts({ business_uuid: "u", records: 3 });
/** The facts of a push that was accepted while names were protected. */
const named = { ...facts, own_names: [] };
const signer = part<Signer>({
  keyId: "k",
  signMany: async ({ ends }: PackedMessages) => [...ends].map(() => new Uint8Array(64)),
});

const assignmentOf = (leaf: number): LeafAssignment => ({
  leaf_index: leaf,
  record_id: `svc_p${leaf}`,
  outcome: "accepted",
  generation: 1,
  change: 1,
});

interface PreparedBy {
  readonly version?: number;
  readonly judgedBy?: string;
  /** Whether nothing but the verdicts is known. */
  readonly isVerdict?: boolean;
  readonly paces?: PushPorts["paces"];
  /** What was found before the push was held. */
  readonly found?: readonly SettledOutcome[];
}

const leavesOf = ({ records: count }: PushFacts): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, leaf) => records[leaf % records.length] as Uint8Array);

/** Prepares the chunk under these lists; the business answers with `remembered`, or according to the request. */
async function prepare(
  protectedNames: readonly string[],
  remembered?: readonly LeafAssignment[],
  of: PushFacts = named,
  certified: CertifiedNames = noCertifiedNames,
  { version, judgedBy, isVerdict = false, paces, found = [] }: PreparedBy = {},
) {
  const asked: number[] = [];
  const ports = part<PushPorts>({
    leaves: part({ load: async () => leavesOf(of) }),
    parsed: {
      take: (_push: string, leaf: number) => {
        if (judgedBy === undefined) return undefined;
        const { record, recordId } = admitted(leaf);
        return { ...(isVerdict ? {} : { record }), recordId, judgedBy };
      },
      note: () => {},
      drop: () => {},
    },
    lists: { protectedNames, exemptNames: [], blockedHosts: [], certified, ...(version ? { version } : {}) },
    crypto: part({ sha256 }),
    paces: paces ?? { inline: () => () => null, queued: () => () => null },
    recordIdOf: (_business: string, _collection: string, id: string) => `svc_${id}`,
    projection: () => signer,
    sidecar: () => signer,
  });
  const ask: Ask = async (_to, message: Message) => {
    if (message.type === "chunk.findings") return rubbish({ status: "done", outcomes: found });
    const { leaves } = message as CommandOf<BusinessProtocol, "chunk.assign">;
    asked.push(...leaves.map((leaf) => leaf.leaf_index));
    const assignments = remembered ?? asked.map(assignmentOf);
    return rubbish({ assigned_at_ms: 0, assignments });
  };
  const work = { facts: of, chunk: 0, judged: found.length > 0 };
  const assigned = await assignChunk(ports, work, { actor, ask });
  const prepared = await signChunk(ports, of, assigned);
  return {
    asked,
    outcomes: prepared.outcomes.map(({ outcome, errors }) => [outcome, ...errors.map((each) => each.code)]),
    published: prepared.published.map(({ leaf, assignment }) => [assignment.record_id, leaf.hash]),
  };
}

/** The leaf as it was parsed and accepted at admission. */
function admitted(leaf: number) {
  const record = JSON.parse(new TextDecoder().decode(records[leaf])) as JsonObject;
  return { record, recordId: `svc_p${leaf}` };
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

  it("rejects what was rejected before its push was held, although today's rules take it (P2)", async () => {
    const errors = [{ code: "scope_violation", pointer: "/product_name", detail: "d" }];
    const found = (["held", "rejected", "held"] as const).map((outcome, leaf_index) => ({
      leaf_index,
      outcome,
      record_id: null,
      version: null,
      errors: outcome === "rejected" ? errors : [],
    }));
    expect(await prepare([], undefined, named, noCertifiedNames, { found })).toEqual({
      asked: [0, 2],
      outcomes: [["accepted"], ["rejected", "scope_violation"], ["accepted"]],
      published: [versionOf(0), versionOf(2)],
    });
  });

  it.each([
    ["admission", false],
    ["the preparation of a file", true],
  ])(
    "judges again what %s judged by lists that were replaced since, and nothing else",
    async (_, isVerdict) => {
      const certified = { ...noCertifiedNames, changes: () => 7 };
      const prepared = (judgedBy: string) =>
        prepare(["Moorland"], undefined, named, certified, { version: 2, judgedBy, isVerdict });
      for (const before of ["1.7", "2.6"]) expect((await prepared(before)).asked).toEqual([0, 2]);
      const { asked, published } = await prepared("2.7");
      expect(asked).toEqual([0, 1, 2]);
      expect(published).toEqual([0, 1, 2].map(versionOf));
    },
  );

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

  it("takes no answer for a leaf that is not of the chunk", async () => {
    await expect(prepare([], [assignmentOf(3)])).rejects.toThrow("a leaf that it was not asked about");
  });
});

describe("the pace of a chunk", () => {
  /** How often each pace is looked at; both are always due. */
  const looksOf = async (of: PushFacts) => {
    const looks = { inline: 0, queued: 0 };
    const pace = (mode: PushFacts["mode"]) => (owner: string) => async (): Promise<void> => {
      expect(owner).toBe(of.business_uuid);
      looks[mode] += 1;
    };
    await prepare([], undefined, of, noCertifiedNames, {
      paces: { inline: pace("inline"), queued: pace("queued") },
    });
    return looks;
  };

  it("is looked at before each leaf that is judged, and for each 50 versions that are signed", async () => {
    const queued = { ...named, mode: "queued" } as const;
    expect(await looksOf({ ...queued, records: 20 })).toEqual({ inline: 0, queued: 20 + 1 });
    expect(await looksOf({ ...queued, records: 120 })).toEqual({ inline: 0, queued: 120 + 3 });
  });

  it("is another one while a caller waits for the chunk", async () => {
    expect(await looksOf({ ...named, mode: "inline", records: 45 })).toEqual({ inline: 45 + 1, queued: 0 });
  });
});

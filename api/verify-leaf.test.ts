// POST /v1/verify for a pushed record with its seal and nothing else: what the service knows about the leaf
// distinguishes altered bytes from a wrong path, and nothing else is revealed (L1 to L3 of service/verification/verify-sections.ts).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { toBase64, toHex } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { buildTree, leafHash } from "../protocol/merkle.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { createStandings } from "../service/register/standing.ts";
import { createVerify, type VerifyServices } from "../service/verification/verify.ts";
import { StoreError } from "../storage/actor-store.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";

let node: PublishingNode;
let business: TestBusiness;
let seq = 0;

beforeAll(async () => {
  node = await openPublishingNode();
  business = await openBusiness(node.services);
});
afterAll(() => node.close());

function verifyDeps(): VerifyServices {
  const { services } = node;
  const { register, trust } = services;
  return { ...services, standings: createStandings({ register, trust }) };
}

interface Pushed {
  readonly records: readonly Uint8Array[];
  readonly envelope: Envelope;
  readonly answer: JsonObject;
}

async function push(records: readonly Uint8Array[]): Promise<Pushed> {
  seq += 1;
  const { batch_seal: envelope } = await seal(business, records, { seq });
  const outcome = await publish(node.services, business, publishBody(envelope, records));
  return { records, envelope, answer: jsonOf(outcome) as unknown as JsonObject };
}

/** The record seal of a leaf, as a fetch would serve it. */
function sealOf({ records, envelope }: Pushed, index: number): JsonObject {
  const tree = buildTree(records.map((record) => leafHash(record)));
  const proof = tree.path(index).map((each) => `sha256:${toHex(each)}`);
  const members = { batch_seal: envelope, leaf_index: index, tree_size: records.length, proof };
  return members as unknown as JsonObject;
}

function flipped(record: Uint8Array | undefined): Uint8Array {
  const copy = Uint8Array.from(record ?? []);
  copy[20] = (copy[20] ?? 0) ^ 1;
  return copy;
}

async function reasonOf(
  bytes: Uint8Array | undefined,
  sealed: JsonObject,
  changes: Partial<VerifyServices> = {},
): Promise<unknown> {
  const verify = createVerify({ ...verifyDeps(), ...changes });
  const answer = jsonOf(await verify({ record_base64: toBase64(bytes ?? new Uint8Array()), seal: sealed }));
  expect(answer.status).toBe(200);
  const found = answer["seal"] as { valid: boolean; reason?: string };
  return found.valid ? "ok" : found.reason;
}

/** The answer leaves before what was staged is dropped. */
async function untilDropped({ answer }: Pushed): Promise<void> {
  const { id } = pushRef(business.party.uuid, String(answer["batch_id"]));
  while ((await node.services.records.loadLeaves(id, 0, 1)).length > 0) await new Promise(setImmediate);
}

const goods = (count: number, changes: Readonly<Record<string, unknown>> = {}): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`item-${index}`, changes));

/** Records that no other push has. */
const newGoods = (name: string): readonly Uint8Array[] =>
  [0, 1, 2].map((index) => product(`${name}-${index}`));

describe("a published leaf", () => {
  it("with altered bytes, or the same record printed otherwise, is hash_mismatch", async () => {
    const pushed = await push(goods(3));
    const printed = new TextEncoder().encode(
      JSON.stringify(JSON.parse(new TextDecoder().decode(pushed.records[1])), null, 2),
    );
    for (const index of [0, 1, 2])
      expect(await reasonOf(flipped(pushed.records[index]), sealOf(pushed, index))).toBe("hash_mismatch");
    expect(await reasonOf(printed, sealOf(pushed, 1))).toBe("hash_mismatch");
    expect(await reasonOf(pushed.records[1], sealOf(pushed, 1))).toBe("ok");
  });

  it("is still known when later versions are served", async () => {
    const first = await push(goods(3, { product_name: "First" }));
    await push(goods(3, { product_name: "Second" }));
    expect(await reasonOf(flipped(first.records[2]), sealOf(first, 2))).toBe("hash_mismatch");
  });

  it("under a path that is not its own is inclusion_invalid, whatever the bytes", async () => {
    const pushed = await push(goods(5));
    const [sealed, other] = [sealOf(pushed, 1), sealOf(pushed, 2)];
    const proof = sealed["proof"] as readonly string[];
    const wrong: readonly JsonObject[] = [
      { ...sealed, proof: proof.toReversed() },
      { ...sealed, proof: proof.slice(1) },
      { ...sealed, proof: other["proof"] ?? [] },
      { ...sealed, leaf_index: 2 },
      { ...sealed, leaf_index: 5 },
      { ...sealed, tree_size: 6 },
    ];
    for (const each of wrong)
      for (const bytes of [pushed.records[1], flipped(pushed.records[1])])
        expect(await reasonOf(bytes, each), JSON.stringify(each)).toBe("inclusion_invalid");
  });
});

describe("a leaf that is not published", () => {
  it("is known while it is staged, and is not once it was rejected", async () => {
    const rejected = product("rejected", { language: "xx-nonsense" });
    const answered = await push([product("good"), rejected]);
    expect(answered.answer["results"]).toMatchObject([{ outcome: "accepted" }, { outcome: "rejected" }]);
    await untilDropped(answered);
    expect(await reasonOf(flipped(rejected), sealOf(answered, 1))).toBe("inclusion_invalid");

    const prices = (amount: string) => ({
      countries: ["US"],
      prices: [{ country: "US", currency: "USD", amount }],
    });
    await push(goods(30, prices("10.00")));
    const held = await push(goods(30, prices("99.00")));
    expect(held.answer).toMatchObject({ held: true });
    expect(await reasonOf(flipped(held.records[7]), sealOf(held, 7))).toBe("hash_mismatch");
    expect(await reasonOf(held.records[7], { ...sealOf(held, 7), leaf_index: 8 })).toBe("inclusion_invalid");
    expect(await reasonOf(held.records[7], sealOf(held, 7))).toBe("ok");
  });

  it("of a batch that was never pushed is inclusion_invalid", async () => {
    const records = goods(3, { product_name: "Never" });
    const { batch_seal: envelope } = await seal(business, records, { seq: 900 });
    const never: Pushed = { records, envelope, answer: {} };
    expect(await reasonOf(flipped(records[1]), sealOf(never, 1))).toBe("inclusion_invalid");
  });
});

describe("the store", () => {
  const away = async (): Promise<never> => {
    throw new StoreError("not_applied", "the store is away");
  };

  it("is not asked about a batch seal that the business did not make (L1)", async () => {
    const pushed = await push(newGoods("forged"));
    const sealed = sealOf(pushed, 1);
    const [signature] = pushed.envelope.signatures;
    const forged = {
      ...pushed.envelope,
      signatures: [{ keyid: signature?.keyid ?? "", sig: toBase64(new Uint8Array(64)) }],
    } as unknown as JsonObject;
    let asked = 0;
    const count = async (): Promise<never> => {
      asked += 1;
      return away();
    };
    const counted = {
      records: part<VerifyServices["records"]>({
        loadLeaves: count,
        listVersions: count,
        readPublished: count,
        readHead: count,
        newestWith: count,
      }),
      actors: part<VerifyServices["actors"]>({ ask: count }),
    };
    const bytes = flipped(pushed.records[1]);
    expect(await reasonOf(bytes, { ...sealed, batch_seal: forged }, counted)).toBe("inclusion_invalid");
    expect(asked).toBe(0);
    expect(await reasonOf(bytes, sealed, counted)).toBe("inclusion_invalid");
    expect(asked).toBe(1);
  });

  it("that is away, or has purged the version, leaves the leaf unknown (L3)", async () => {
    const pushed = await push(newGoods("purged"));
    await untilDropped(pushed);
    const { records, actors } = node.services;
    const loadLeaves = records.loadLeaves.bind(records);
    const listVersions = records.listVersions.bind(records);
    const readPublished = records.readPublished.bind(records);
    const finding = { readHead: away, newestWith: away };
    const faults: readonly Partial<VerifyServices>[] = [
      { records: part({ ...finding, loadLeaves, listVersions: away, readPublished }) },
      { records: part({ ...finding, loadLeaves, listVersions, readPublished: away }) },
      { records: part({ ...finding, loadLeaves, listVersions, readPublished: async () => null }) },
      { records: part({ ...finding, loadLeaves, listVersions: async () => [], readPublished }) },
      { records: part({ ...finding, loadLeaves: away, listVersions: async () => [], readPublished }) },
      { actors: part({ ask: away }) },
    ];
    const bytes = flipped(pushed.records[1]);
    for (const fault of faults)
      expect(await reasonOf(bytes, sealOf(pushed, 1), fault)).toBe("inclusion_invalid");
    const whole: Partial<VerifyServices> = {
      actors,
      records: part({ ...finding, loadLeaves, listVersions, readPublished }),
    };
    expect(await reasonOf(bytes, sealOf(pushed, 1), whole)).toBe("hash_mismatch");
  });

  it("is not excused for a fault that is a bug", async () => {
    const pushed = await push(newGoods("bug"));
    const broken = async (): Promise<never> => {
      throw new TypeError("a bug");
    };
    const asked = reasonOf(flipped(pushed.records[1]), sealOf(pushed, 1), { actors: part({ ask: broken }) });
    await expect(asked).rejects.toThrow(TypeError);
  });
});

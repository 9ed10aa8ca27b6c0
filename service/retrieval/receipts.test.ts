import { beforeEach, describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { createSigner, generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { pae, parseEnvelope } from "../../protocol/dsse.ts";
import { openReceipt } from "../../protocol/receipt.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { type ReceiptRow, type ReceiptStore, servedAtOf } from "../../storage/receipt-store.ts";
import type { Caller } from "../answer.ts";
import { companyUuid, keyFacts, partyFacts } from "../authentication.fixture.ts";
import {
  createReceipts,
  LeaseLost,
  NotAnswered,
  type ReceiptDeps,
  receiptRow,
  type Served,
  signedRowFacts,
} from "./receipts.ts";

const nowMs = Date.parse("2026-03-01T23:59:59.999Z");
const signer = createSigner(generatePrivateJwk("Ed25519"));
const keyId = "A".repeat(43);
const hash = `sha256:${"0".repeat(64)}`;
const caller: Caller = {
  key: keyFacts(keyId, signer.publicJwk, { role: "retrieval", party: companyUuid }),
  party: partyFacts(companyUuid, { kind: "ai_company" }),
  nonce: "a-nonce-of-the-caller",
  expiresMs: nowMs + 60_000,
  requestHash: hash,
  tag: "svc-retrieval",
};
const row = {
  record_id: `svc_${"a".repeat(26)}`,
  generation: 1,
  adl_origin: hash,
  adl_row_sig: `${"A".repeat(86)}==`,
  ai_policy_version: 3,
};

/** What a receipt says of it. */
const { generation: _, ...named } = row;

let rows: ReceiptRow[];
beforeEach(() => {
  rows = [];
});

function storeWith(changes: Partial<ReceiptStore>): ReceiptStore {
  const retract = async (row: ReceiptRow): Promise<boolean> => {
    rows = rows.filter((each) => each !== row);
    return true;
  };
  return { append: async (each: ReceiptRow) => void rows.push(each), retract, ...changes } as ReceiptStore;
}

function open(changes: Partial<ReceiptDeps> = {}) {
  return createReceipts({
    environment: "production",
    region: "eu-west1",
    incarnation: () => "node7",
    signer: () => signer,
    store: storeWith({}),
    crypto: nativeCrypto,
    clock: { now: () => nowMs },
    ...changes,
  });
}

type Opened = ReturnType<typeof open>;

async function issue(receipts: Opened, what: Served): Promise<string> {
  const receipt = await receipts.sign(what);
  await receipts.keep(receipt, null);
  return receipt.envelope;
}

function served(receipts: ReturnType<typeof open>, changes: Partial<Served> = {}): Served {
  return {
    retrieval: receipts.begin(),
    caller,
    kind: "search",
    collection: "products",
    country: "GB",
    clientQueryId: null,
    rows: [row],
    ...changes,
  };
}

describe("a receipt", () => {
  it("says what was served to whom, under a signature that verifies", async () => {
    const receipts = open();
    const what = served(receipts);
    const envelope = parseEnvelope(JSON.parse(await issue(receipts, what)));
    if (!envelope.ok) throw new Error(envelope.detail);
    expect(openReceipt(envelope.value)).toEqual({
      ok: true,
      value: {
        v: 3,
        ai_company_uuid: companyUuid,
        collection: "products",
        country: "GB",
        key_id: keyId,
        kind: "search",
        region: "eu-west1",
        request_hash: hash,
        retrieval_id: what.retrieval.retrievalId,
        rows: [named],
        served_at: "2026-03-01T23:59:59.999Z",
      },
    });
    const [signature] = envelope.value.signatures;
    const payload = parseBase64(envelope.value.payload) ?? new Uint8Array();
    const message = pae(envelope.value.payloadType, payload);
    expect(
      nativeCrypto.verify(signer.publicJwk, message, parseBase64(signature?.sig ?? "") ?? new Uint8Array()),
    ).toBe(true);
  });

  it("is kept before it is handed out (T1)", async () => {
    const { promise: written, resolve: release } = Promise.withResolvers<void>();
    const append = (): Promise<void> => written;
    const receipts = open({ store: storeWith({ append }) });
    let isIssued = false;
    const issuing = issue(receipts, served(receipts)).then(() => {
      isIssued = true;
    });
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(isIssued).toBe(false);
    release();
    await issuing;
    expect(isIssued).toBe(true);
  });

  it("is in the batch of its minute and incarnation", async () => {
    const receipts = open();
    await issue(receipts, served(receipts));
    expect(rows[0]).toMatchObject({
      region: "eu-west1",
      batch: "202603012359-node7",
      key_id: keyId,
      nonce: caller.nonce,
      served_at_ms: nowMs,
    });
  });

  it("is not handed out by a node that lost its lease while it wrote (T2)", async () => {
    let incarnation: string | null = "node7";
    const append = async (row: ReceiptRow): Promise<void> => {
      rows.push(row);
      incarnation = null;
    };
    const store = storeWith({ append });
    const receipts = open({ incarnation: () => incarnation, store });
    await expect(issue(receipts, served(receipts))).rejects.toThrow(LeaseLost);
    await expect(issue(receipts, served(receipts))).rejects.toThrow(LeaseLost);
    expect(rows).toEqual([]);
  });

  it("is not handed out by a node that lost its lease and has another one by then (T2)", async () => {
    let incarnation = "node7";
    const append = async (row: ReceiptRow): Promise<void> => {
      rows.push(row);
      incarnation = "node8";
    };
    const store = storeWith({ append });
    const receipts = open({ incarnation: () => incarnation, store });
    await expect(issue(receipts, served(receipts))).rejects.toThrow(LeaseLost);
    expect(rows).toEqual([]);
  });

  it("is taken back if nobody knows whether it was written, before the request is refused (T4)", async () => {
    const append = async (row: ReceiptRow): Promise<void> => {
      rows.push(row);
      throw new StoreError("unknown", "the disk did not answer");
    };
    const receipts = open({ store: storeWith({ append }) });
    await expect(issue(receipts, served(receipts))).rejects.toThrow("the disk did not answer");
    expect(rows).toEqual([]);
  });

  it("is not taken back if it was not written (T4)", async () => {
    const append = async (): Promise<void> => {
      throw new StoreError("not_applied", "full");
    };
    const retract = async (): Promise<boolean> => {
      throw new Error("nothing is there");
    };
    const receipts = open({ store: storeWith({ append, retract }) });
    await expect(issue(receipts, served(receipts))).rejects.toThrow("full");
  });

  it.each([
    ["fails", async () => Promise.reject(new StoreError("unknown", "away"))],
    ["comes after its batch was closed", async () => false],
  ])("leads to no answer at all if taking it back %s (T4)", async (_what, retract) => {
    const append = async (): Promise<void> => {
      throw new StoreError("unknown", "away");
    };
    const receipts = open({ store: storeWith({ append, retract }) });
    await expect(issue(receipts, served(receipts))).rejects.toThrow(NotAnswered);
  });

  it("is taken back as well by what comes after it", async () => {
    const receipts = open();
    const { retract } = await receipts.keep(await receipts.sign(served(receipts)), null);
    expect(rows).toHaveLength(1);
    await retract();
    expect(rows).toEqual([]);
  });

  it.each([
    ["production", [row], true],
    ["production", [], false],
    ["sandbox", [row], false],
  ] as const)("in %s with %j is billable: %s", async (environment, served_rows, billable) => {
    const receipts = open({ environment });
    await issue(receipts, served(receipts, { rows: served_rows }));
    expect(rows[0]?.billable).toBe(billable);
  });
});

describe("a receipt that is durable only", () => {
  const minuteEnd = Date.parse("2026-03-02T00:00:00.000Z");

  /** Issues a receipt of the minute before, whose write ends so many milliseconds after that minute. */
  function durableAfter(lateMs: number): Promise<string> {
    let atMs = nowMs;
    const append = async (each: ReceiptRow) => {
      atMs = minuteEnd + lateMs;
      rows.push(each);
    };
    const store = storeWith({ append });
    const receipts = open({ store, clock: { now: () => atMs } });
    return issue(receipts, served(receipts));
  }

  it("up to 25 seconds after its minute is taken back, and later there is no answer (T4)", async () => {
    for (const lateMs of [20_001, 25_000]) {
      await expect(durableAfter(lateMs)).rejects.toThrow("too late");
      expect(rows).toEqual([]);
    }
    await expect(durableAfter(25_001)).rejects.toThrow(NotAnswered);
    expect(rows).toHaveLength(1);
  });

  it("20 seconds after its minute may miss the closing of its batch, and is not handed out (T3)", async () => {
    await expect(durableAfter(20_001)).rejects.toThrow(StoreError);
    await expect(durableAfter(3_600_000)).rejects.toThrow(NotAnswered);
  });

  it("before that is", async () => {
    for (const lateMs of [-1, 0, 20_000]) expect(await durableAfter(lateMs)).toContain("receipt.v3");
  });
});

it("retrieval ids sort by time and never repeat", () => {
  let now = nowMs;
  const receipts = open({ clock: { now: () => now } });
  const ids = Array.from({ length: 100 }, (_, index) => {
    now = nowMs + index * 1_000;
    return receipts.begin().retrievalId;
  });
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(Array.from({ length: 100 }, () => receipts.begin().retrievalId)).size).toBe(100);
  expect(servedAtOf(receipts.begin().retrievalId)).toBe(receipts.begin().servedAtMs);
});

describe("a signed row", () => {
  const text = `{"adl_key_id":"k","adl_origin":"${hash}","adl_origin_cert":"c","adl_proj":"products/1","adl_row_sig":"s","ai_policy_version":12,"brand":",\\"ai_policy_version\\":9"}`;

  it("is read by its first members", () => {
    expect(signedRowFacts(text)).toEqual({
      origin: hash,
      projection: "products/1",
      signature: "s",
      aiPolicyVersion: 12,
    });
    expect(receiptRow({ record_id: "r", generation: 7 }, signedRowFacts(text))).toEqual({
      record_id: "r",
      generation: 7,
      adl_origin: hash,
      adl_row_sig: "s",
      ai_policy_version: 12,
    });
  });

  it.each([
    ["without a member", text.replace("adl_origin_cert", "other")],
    ["that begins otherwise", `{"a":1,${text.slice(1)}`],
    ["whose origin is no hash", text.replace(hash, hash.toUpperCase())],
    ["without an AI policy version", text.slice(0, text.indexOf(',"ai_policy_version"'))],
    ["that ends within a member", text.slice(0, text.indexOf('s","ai_policy_version"'))],
    ["whose AI policy version is no number", text.replace(":12,", ":null,")],
  ])("%s is a bug", (_fault, row) => {
    expect(() => signedRowFacts(row)).toThrow("begins with the members");
  });

  it("may have members before its AI policy version", () => {
    const later = text.replace(',"ai_policy_version"', ',"ages":[1],"ai_policy_version"');
    expect(signedRowFacts(later)).toEqual(signedRowFacts(text));
  });
});

// What a business's system may and may not send, at the limits and beyond them.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publishBody } from "../../client/batch.ts";
import { parseBase64, toBase64, utf8 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  giveMandate,
  newBusiness,
  newSigningKey,
  openAttackNode,
  outcomesOf,
  publishOver,
  readOver,
  tellBusiness,
} from "../retrieval/attack.fixture.ts";
import { product, seal, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
let business: TestBusiness;
let seq = 0;

beforeAll(async () => {
  node = await openAttackNode();
  business = await newBusiness(node);
});
afterAll(() => node.close());

const nextSeq = (): number => {
  seq += 1;
  return seq;
};

const products = (name: string, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`${name}-${index}`));

describe("the size of a batch", () => {
  it.each([
    [50, 200],
    [51, 202],
  ])("of %i records is answered %i", async (count, status) => {
    const { body, pushId } = await batchBody(business, products(`size${count}`, count), { seq: nextSeq() });
    expect((await publishOver(node, business, body)).status).toBe(status);
    expect(await awaitPush(node, business, pushId)).toMatchObject({
      state: "complete",
      counts: { accepted: count },
    });
  });

  it("may be 10,000 records, each published once", async () => {
    const large = await newBusiness(node);
    const { body, pushId } = await batchBody(large, products("l", 10_000));
    expect(await publishOver(node, large, body)).toMatchObject({ status: 202, json: { records: 10_000 } });
    expect(await awaitPush(node, large, pushId)).toMatchObject({
      state: "complete",
      counts: { accepted: 10_000 },
    });
    const page = await readOver(node, large, `/v1/pushes/${pushId}?cursor=leaf-9900`);
    expect(outcomesOf(page)).toHaveLength(100);
    expect(page.json["next_cursor"]).toBeNull();
  });

  it("may not be 10,001 records, nor none", async () => {
    const envelope = (await seal(business, [product("x")], { seq: nextSeq() })).batch_seal;
    const tiny = utf8("1");
    for (const count of [0, 10_001]) {
      const records = Array.from({ length: count }, () => tiny);
      expect(await publishOver(node, business, publishBody(envelope, records))).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: "/records" },
      });
    }
    const records = Array.from({ length: 10_001 }, () => tiny);
    const { json } = await publishOver(node, business, publishBody(envelope, records));
    expect(json["detail"]).toMatch(/bulk file/);
  });
});

describe("the size of a record", () => {
  /** The product, padded with JSON whitespace between its members. */
  const padded = (id: string, characters: number): Uint8Array => {
    const bytes = product(id);
    const padding = " ".repeat((characters / 4) * 3 - bytes.length);
    return utf8(`{${padding}${new TextDecoder().decode(bytes).slice(1)}`);
  };

  it("may be 204,800 base64 characters", async () => {
    const record = padded("just", 204_800);
    expect(toBase64(record)).toHaveLength(204_800);
    const { body } = await batchBody(business, [record], { seq: nextSeq() });
    const answer = await publishOver(node, business, body);
    expect(outcomesOf(answer)).toMatchObject([{ outcome: "accepted", version: 1 }]);
    const [outcome] = outcomesOf(answer);
    const served = await node.running.services.records.readServed(outcome?.record_id ?? "");
    expect(served?.version.bytes).toEqual(record);
  });

  it.each([204_801, 204_804])("may not be %i", async (characters) => {
    const record = toBase64(padded("over", 204_804));
    const { batch_seal } = await seal(business, [parseBase64(record) as Uint8Array], { seq: nextSeq() });
    const records = [toBase64(product("first")), record.slice(0, characters)];
    expect(await publishOver(node, business, JSON.stringify({ batch_seal, records }))).toMatchObject({
      status: 413,
      json: { code: "record_too_large", pointer: "/records/1" },
    });
  });
});

describe("what is no batch", () => {
  const attempts: readonly (readonly [string, (envelope: unknown) => string])[] = [
    [
      "a prototype",
      (batch_seal) => `{"__proto__":{},"batch_seal":${JSON.stringify(batch_seal)},"records":["MQ=="]}`,
    ],
    ["a prototype for a seal", () => `{"batch_seal":{"__proto__":{}},"records":["MQ=="]}`],
    [
      "a prototype for records",
      (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":{"__proto__":[]}}`,
    ],
    [
      "duplicate members",
      (seal_) => `{"records":["MQ=="],"batch_seal":${JSON.stringify(seal_)},"records":["MQ=="]}`,
    ],
    ["a number beyond all", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":[1e999]}`],
    ["a record that is no text", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":[null]}`],
    ["an empty record", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":[""]}`],
    ["base64 without padding", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":["MQ"]}`],
    ["base64 with bits left over", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":["MR=="]}`],
    ["base64 with a line feed", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":["MQ==\\n"]}`],
    ["base64url", (seal_) => `{"batch_seal":${JSON.stringify(seal_)},"records":["-_-_"]}`],
    ["an array", () => "[]"],
    ["nothing", () => "null"],
    ["a byte order mark", (seal_) => `\ufeff{"batch_seal":${JSON.stringify(seal_)},"records":["MQ=="]}`],
    ["deep nesting", () => `{"batch_seal":${"[".repeat(10_000)}${"]".repeat(10_000)},"records":["MQ=="]}`],
  ];

  it.each(attempts)("%s is refused", async (_name, make) => {
    const { batch_seal } = await seal(business, [utf8("1")], { seq: nextSeq() });
    const answer = await publishOver(node, business, make(batch_seal));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(["request_invalid", "seal_invalid"]).toContain(answer.json["code"]);
  });
});

describe("a batch seal", () => {
  const members = (changes: Record<string, unknown>, record: Uint8Array): Record<string, unknown> => {
    void record;
    return {
      v: 2,
      key_id: business.key.key_id,
      cert_id: business.certId,
      tree_size: 1,
      seq: nextSeq(),
      sealed_at: new Date().toISOString(),
      record_type: "products",
      ai_policy_version: 0,
      ...changes,
    };
  };

  const sealedBody = async (
    changes: Record<string, unknown>,
    options: { readonly type?: string; readonly twice?: boolean; readonly passkey?: boolean } = {},
  ): Promise<Uint8Array> => {
    const record = product("sealed");
    const { root } = await seal(business, [record]);
    const payload = canonicalBytes(
      rubbish({
        ...members(changes, record),
        ...("root" in changes ? {} : { root }),
      }),
    );
    const type = options.type ?? payloadTypes["batch-seal.v2"];
    const sig = await business.signingKey.sign(pae(type, payload));
    const one = { keyid: business.key.key_id, sig };
    const passkey = options.passkey ? { authenticatorData: utf8("a"), clientDataJSON: utf8("{}") } : {};
    const envelope = makeEnvelope(type, payload, [{ ...one, ...passkey }, ...(options.twice ? [one] : [])]);
    return publishBody(envelope, [record]);
  };

  it.each<readonly [string, Record<string, unknown>, string]>([
    ["a seq below zero", { seq: -1 }, "payload_malformed"],
    ["a seq that is no integer", { seq: 1.5 }, "payload_malformed"],
    ["a seq beyond 2^53", { seq: 2 ** 53 }, "payload_malformed"],
    ["a seq as text", { seq: "9" }, "payload_malformed"],
    ["a tree of another size", { tree_size: 2 }, "inclusion_invalid"],
    ["a tree of no leaf", { tree_size: 0 }, "payload_malformed"],
    ["another root", { root: `sha256:${"0".repeat(64)}` }, "hash_mismatch"],
    ["a member more", { note: "x" }, "payload_malformed"],
    ["a member of format 1", { terms_version: 1 }, "payload_malformed"],
    ["format 1", { v: 1 }, "payload_malformed"],
    ["an unknown format", { v: 3 }, "version_unknown"],
    ["another key", { key_id: "A".repeat(43) }, "key_mismatch"],
    ["a date without milliseconds", { sealed_at: "2026-01-01T00:00:00Z" }, "payload_malformed"],
    ["an AI policy version below zero", { ai_policy_version: -1 }, "payload_malformed"],
  ])("with %s is refused", async (_name, changes, reason) => {
    const answer = await publishOver(node, business, await sealedBody(changes));
    expect(answer).toMatchObject({ status: 422, json: { code: "seal_invalid", reason } });
  });

  it("with another payload type, two signatures or a passkey's members is refused", async () => {
    const refusal = async (options: Parameters<typeof sealedBody>[1]) =>
      (await publishOver(node, business, await sealedBody({}, options))).json["reason"];
    expect(await refusal({ type: payloadTypes["batch-seal.v1"] })).toBe("payload_type_mismatch");
    expect(await refusal({ type: payloadTypes["seal.v2"] })).toBe("payload_type_mismatch");
    expect(await refusal({ type: "" })).toBe("payload_type_mismatch");
    expect(await refusal({ type: "application/json" })).toBe("payload_type_mismatch");
    expect(await refusal({ twice: true })).toBe("envelope_malformed");
    expect(await refusal({ passkey: true })).toBe("signature_invalid");
  });

  it("by an unknown key, or by a key of another business, is refused", async () => {
    const other = await newBusiness(node);
    const stranger = await newSigningKey();
    for (const signingKey of [other.signingKey, stranger]) {
      const { body } = await batchBody({ ...business, signingKey }, [product("foreign")], { seq: nextSeq() });
      expect(await publishOver(node, business, body)).toMatchObject({
        status: 422,
        json: { code: "seal_invalid", reason: "key_unknown" },
      });
    }
  });

  it("may have the last seq there is, and then no other", async () => {
    const last = await newBusiness(node);
    const first = await batchBody(last, [product("last")], { seq: Number.MAX_SAFE_INTEGER });
    expect((await publishOver(node, last, first.body)).status).toBe(200);
    const again = await batchBody(last, [product("later")], { seq: Number.MAX_SAFE_INTEGER });
    expect(await publishOver(node, last, again.body)).toMatchObject({
      status: 409,
      json: { code: "seq_not_increasing" },
    });
  });
});

describe("records that mean harm", () => {
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

  it("are each rejected by themselves, with every reason, and the others published", async () => {
    const hostile = [
      utf8(text(product("proto")).replace("{", '{"__proto__":{"polluted":true},')),
      utf8(text(product("ctor")).replace("{", '{"constructor":{"prototype":{"polluted":true}},')),
      product("price", { prices: [{ country: "__proto__", currency: "USD", amount: "1" }] }),
      product("huge", { prices: [{ country: "US", currency: "USD", amount: "9".repeat(400) }] }),
      utf8(`${"[".repeat(10_000)}${"]".repeat(10_000)}`),
      utf8('"\\ud800"'),
      new Uint8Array([0xff, 0xfe]),
      product("", {}),
    ];
    const records = [product("good-1"), ...hostile, product("good-2")];
    const { body } = await batchBody(business, records, { seq: nextSeq() });
    const outcomes = outcomesOf(await publishOver(node, business, body));
    expect(outcomes.map((each) => each.outcome)).toEqual([
      "accepted",
      ...hostile.map(() => "rejected"),
      "accepted",
    ]);
    expect(outcomes.slice(1, -1).every((each) => each.errors.length > 0)).toBe(true);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it.each([
    ["a NUL", "nul\u0000name"],
    ["a separator", "line\u2028name"],
    ["an emoji", "name \u{1f48e}"],
    ["a name of Object's", "__proto__"],
    ["a quote of FTS's", 'a" OR b*'],
  ])("an id and a name with %s are published or rejected, never lost", async (_name, name) => {
    const record = product(name, { product_name: name });
    const { body } = await batchBody(business, [record], { seq: nextSeq() });
    const [outcome] = outcomesOf(await publishOver(node, business, body));
    expect(["accepted", "rejected"]).toContain(outcome?.outcome);
    if (outcome?.outcome !== "accepted") return;
    const served = await node.running.services.records.readServed(outcome.record_id ?? "");
    expect(served?.version.bytes).toEqual(record);
  });
});

describe("the mandate", () => {
  const code = async (of: TestBusiness, changes: Parameters<typeof publishOver>[3] = {}) => {
    const { body } = await batchBody(of, [product("mandated")], { seq: nextSeq() });
    const answer = await publishOver(node, of, body, changes);
    return answer.json["code"] ?? answer.status;
  };

  it("that covers no products, or lists other sources, refuses before the body is parsed", async () => {
    const other = await newBusiness(node);
    await giveMandate(node, other, { scope: { record_types: ["events"] } });
    expect(await publishOver(node, other, "{")).toMatchObject({
      status: 403,
      json: { code: "out_of_scope" },
    });
    await giveMandate(node, other, {
      scope: { source_ip_allow_list: ["198.51.100.0/24", "AS64496"] },
      fromMs: Date.now() + 1,
    });
    expect(await publishOver(node, other, "{")).toMatchObject({
      status: 403,
      json: { code: "source_not_allowed" },
    });
    await giveMandate(node, other, {
      scope: { source_ip_allow_list: ["127.0.0.0/8"] },
      fromMs: Date.now() + 1,
    });
    expect(await code(other)).toBe(200);
  });

  it("was in force, like the key and the AI policy, when the batch was sealed, or whoever verifies it would refuse it", async () => {
    const other = await newBusiness(node);
    const sealedAt = async (sealedAtMs: number) => {
      const { body } = await batchBody(other, [product("early")], { seq: nextSeq(), sealedAtMs });
      return (await publishOver(node, other, body)).json["reason"] ?? "published";
    };
    const keyFromMs = Date.parse(other.key.valid_from);
    expect(await sealedAt(keyFromMs - 1)).toBe("key_not_valid");
    const { mandates } = await node.running.services.parties.facts(other.party.uuid, other.key.key_id);
    expect(await sealedAt(Date.parse(mandates[0]?.valid_from ?? ""))).toBe("published");
    const fromMs = Date.now();
    await giveMandate(node, other, { fromMs, untilMs: fromMs + 120_000 });
    expect(await sealedAt(fromMs - 1)).toBe("out_of_scope");
    expect(await sealedAt(fromMs + 120_000)).toBe("out_of_scope");
    expect(await sealedAt(fromMs)).toBe("published");
  });

  it("that is revoked, has ended or has not begun is none", async () => {
    const other = await newBusiness(node);
    const facts = await node.running.services.parties.facts(other.party.uuid, other.key.key_id);
    for (const mandate of facts.mandates) {
      const revoked_at = new Date().toISOString();
      await tellBusiness(node, other, { type: "mandate.revoke", mandate_id: mandate.mandate_id, revoked_at });
    }
    const nowMs = Date.now();
    // Not before the key that seals it was valid.
    const sinceMs = Date.parse(facts.mandates[0]?.valid_from ?? "");
    await giveMandate(node, other, { fromMs: sinceMs, untilMs: sinceMs + 1 });
    await giveMandate(node, other, { fromMs: nowMs + 60_000, untilMs: nowMs + 120_000 });
    expect(await code(other)).toBe("mandate_missing");
    expect((await readOver(node, other, "/v1/seal-context")).json["mandates"]).toEqual([]);
    const mandate_id = await giveMandate(node, other, {});
    expect(await code(other)).toBe(200);
    expect((await readOver(node, other, "/v1/seal-context")).json["mandates"]).toMatchObject([
      { mandate_id },
    ]);
  });

  it("rejects records for countries that it does not cover, and no others", async () => {
    const other = await newBusiness(node);
    await giveMandate(node, other, { scope: { countries: ["GB"] } });
    const price = (country: string, currency: string) => ({
      countries: [country],
      prices: [{ country, currency, amount: "10.00" }],
    });
    const records = [product("us", price("US", "USD")), product("gb", price("GB", "GBP"))];
    const { body } = await batchBody(other, records);
    expect(outcomesOf(await publishOver(node, other, body))).toMatchObject([
      { outcome: "rejected", errors: [{ code: "out_of_scope", pointer: "/countries/0" }] },
      { outcome: "accepted" },
    ]);
  });

  it("with small caps answers 429 with Retry-After before the body is parsed, and still resumes what it charged", async () => {
    const capped = await newBusiness(node);
    await giveMandate(node, capped, { scope: { caps: { records_per_hour: 2, bytes_per_day: 100_000 } } });
    const first = await batchBody(capped, products("c", 2), { seq: 1 });
    expect((await publishOver(node, capped, first.body)).status).toBe(200);
    const refused = await publishOver(node, capped, "{");
    expect(refused).toMatchObject({
      status: 429,
      json: { code: "rate_limited", reason: "records_per_hour" },
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.json["retry_after_seconds"]).toBe(Number(refused.headers.get("retry-after")));
    expect((await publishOver(node, capped, first.body)).status).toBe(200);
  });

  it("lets of batches sent at once no more in than the cap has room for", async () => {
    const capped = await newBusiness(node);
    await giveMandate(node, capped, { scope: { caps: { records_per_hour: 9, bytes_per_day: 1_000_000 } } });
    const batches = await Promise.all(
      [1, 2, 3, 4].map((each) => batchBody(capped, products(`o${each}`, 5), { seq: each })),
    );
    const answers = await Promise.all(batches.map(({ body }) => publishOver(node, capped, body)));
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.every((status) => status === 200 || status === 429 || status === 409)).toBe(true);
  });
});

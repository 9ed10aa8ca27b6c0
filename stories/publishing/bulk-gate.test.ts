// What a mandate and its caps allow of a bulk upload and of an import, in which order it is judged, and that an answer
// which is replayed carries no authority that was taken back.

import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repeatsPerDay } from "../../actors/business/admit.ts";
import { bulkUploadRef, businessRef } from "../../actors/messages/refs.ts";
import { freshNonce, type SentRequest } from "../../api/surfaces.fixture.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { problem } from "../../protocol/problem.ts";
import { type FormEvent, receiveFile } from "../../service/publishing/bulk-file.ts";
import {
  type AttackNode,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  publishOver,
  readOver,
} from "../retrieval/attack.fixture.ts";
import { askUpload, fileOf, newUpload, requestImport, sendFile, stageRecords } from "./bulk.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const malformed = { body: "{ malformed" };
const twoRecords = [product("a"), product("b")];

/** Each change of what the business may do, and what is refused then. */
const changes: readonly (readonly [
  what: string,
  status: number,
  refusal: Readonly<Record<string, unknown>>,
  change: (business: TestBusiness) => Promise<unknown>,
])[] = [
  ["whose mandate was revoked", 403, { code: "mandate_missing" }, (business) => revokeMandates(business)],
  ["whose key was revoked", 401, { code: "key_unknown" }, (business) => revokeKey(business)],
  [
    "whose mandate does not cover products",
    403,
    { code: "out_of_scope" },
    (business) => giveMandate(node, business, { scope: { record_types: ["offers"] } }),
  ],
  [
    "from outside the allow-list of its mandate",
    403,
    { code: "source_not_allowed" },
    (business) => giveMandate(node, business, { scope: { source_ip_allow_list: ["192.0.2.0/24"] } }),
  ],
  [
    "whose certificate says that it is closed",
    403,
    { code: "business_not_verified" },
    (business) => close(business),
  ],
  [
    "over a cap of its mandate",
    429,
    { code: "rate_limited", reason: "bytes_per_day" },
    (business) =>
      giveMandate(node, business, { scope: { caps: { records_per_hour: 1_000, bytes_per_day: 1 } } }),
  ],
];

async function revokeKey({ party, key }: TestBusiness): Promise<void> {
  const { parties } = node.running.services;
  const { uuid } = party;
  const at = new Date().toISOString();
  await parties.revokeKey({ uuid, key_id: key.key_id, revoked_at: at, compromised_from: at });
}

async function revokeMandates(business: TestBusiness): Promise<void> {
  const { parties, actors } = node.running.services;
  const { uuid } = business.party;
  const { mandates } = await parties.facts(uuid, business.key.key_id);
  for (const { mandate_id } of mandates) {
    const command = { type: "mandate.revoke", mandate_id, revoked_at: new Date().toISOString() } as const;
    await actors.ask(businessRef(uuid), command);
  }
}

const stateOf = (business: TestBusiness, upload_id: string) =>
  node.running.services.actors.ask(bulkUploadRef(business.party.uuid, upload_id), { type: "upload.read" });

describe.each(changes)("a business %s", (_what, status, refusal, change) => {
  let business: TestBusiness;
  let staged: Awaited<ReturnType<typeof stageRecords>>;
  let ticket: Awaited<ReturnType<typeof newUpload>>;
  const first: Partial<SentRequest> = { headers: { "idempotency-key": freshNonce() } };
  const urls = () => node.running.urls;

  beforeAll(async () => {
    business = await newBusiness(node);
    staged = await stageRecords(node, business, twoRecords);
    expect(await askUpload(urls(), business, first)).toMatchObject({ status: 201 });
    ticket = await newUpload(urls(), business);
    await change(business);
  });

  // A token may be used from anywhere, so the source alone does not matter to a file.
  it("has no file taken in that it asked for before", async () => {
    const sent = await sendFile(ticket, fileOf(twoRecords));
    if (refusal["code"] === "source_not_allowed") return expect(sent).toMatchObject({ status: 201 });
    expect(sent).toMatchObject({ status, json: refusal });
    expect(await stateOf(business, ticket.upload_id)).toMatchObject({ state: "issued", file: null });
  });

  it("gets no upload, whatever the body", async () => {
    expect(await askUpload(urls(), business)).toMatchObject({ status, json: refusal });
    expect(await askUpload(urls(), business, malformed)).toMatchObject({ status, json: refusal });
  });

  it("does not get the token of an earlier upload once more", async () => {
    const replayed = await askUpload(urls(), business, first);
    expect(replayed).toMatchObject({ status, json: refusal });
    expect(replayed.text).not.toContain("upload_token");
  });

  it("cannot import a file that was uploaded before, whatever the body", async () => {
    expect(await requestImport(urls(), business, staged.body)).toMatchObject({ status, json: refusal });
    const answer = await requestImport(urls(), business, staged.body, malformed);
    expect(answer).toMatchObject({ status, json: refusal });
    expect(await stateOf(business, staged.body.upload_id)).toMatchObject({
      state: "uploaded",
      push_id: null,
    });
  });
});

describe("refused files", () => {
  it("end their upload when there were five: a sixth is not read, and another upload takes one", async () => {
    const business = await newBusiness(node);
    const upload = await newUpload(node.running.urls, business);
    for (let index = 0; index < 5; index += 1)
      expect(await sendFile(upload, "no record\n")).toMatchObject({
        status: 400,
        json: { reason: "line_not_base64" },
      });
    expect(await sendFile(upload, fileOf(twoRecords))).toMatchObject({
      status: 409,
      json: { code: "upload_conflict", reason: "tries_spent" },
    });
    const another = await newUpload(node.running.urls, business);
    expect(await sendFile(another, fileOf(twoRecords))).toMatchObject({ status: 201 });
  });

  it("do not count where the service had no room for them", async () => {
    const business = await newBusiness(node);
    const upload = await newUpload(node.running.urls, business);
    const form = async function* (): AsyncGenerator<FormEvent, void> {
      for (const [name, value] of Object.entries(upload.fields)) {
        yield { kind: "part", name };
        yield { kind: "bytes", bytes: utf8(value) };
      }
      yield { kind: "part", name: "file" };
      yield { kind: "fault", problem: problem("unavailable", "Others wait to send a file.") };
    };
    const { services } = node.running;
    for (let index = 0; index < 6; index += 1) {
      const rest = { hash: createHash("sha256"), takeRoom: () => () => {} };
      const outcome = await receiveFile(services, { uploadId: upload.upload_id, form: form(), ...rest });
      expect(outcome).toMatchObject({ problem: { code: "unavailable" } });
    }
    expect(await sendFile(upload, fileOf(twoRecords))).toMatchObject({ status: 201 });
  });
});

describe("the caps of a mandate", () => {
  it("say of what is larger than a whole cap that no waiting helps, and of the rest that the cap is used up", async () => {
    const business = await newBusiness(node);
    const fromMs = Date.now();
    await giveMandate(node, business, {
      fromMs,
      scope: { caps: { records_per_hour: 9, bytes_per_day: 2_000 } },
    });
    const { body } = await batchBody(business, twoRecords);
    expect(body.length).toBeGreaterThan(2_000);
    const over = { status: 429, json: { code: "rate_limited", reason: "bytes_per_day" } };
    const batch = await publishOver(node, business, body);
    const file = await sendFile(await newUpload(node.running.urls, business), "YQ==\n".repeat(401));
    for (const answer of [batch, file]) {
      expect(answer).toMatchObject(over);
      expect(answer.json["detail"]).toMatch(/bytes_per_day is 2000.*waiting does not help/);
      expect(answer.headers.get("retry-after")).not.toBeNull();
    }
    // One that has room in the cap, and not in what is left of it today.
    await giveMandate(node, business, {
      fromMs: fromMs + 1,
      scope: { caps: { records_per_hour: 9, bytes_per_day: body.length + 1 } },
    });
    expect(await publishOver(node, business, body)).toMatchObject({ status: 200 });
    const second = await batchBody(business, twoRecords, { seq: 2 });
    const used = await publishOver(node, business, second.body);
    expect(used).toMatchObject(over);
    expect(used.json["detail"]).toBe(
      "The mandate's cap bytes_per_day has room for 1 more bytes in this day.",
    );
  });

  it("let no batch and no file in whole that has more records than the hour has room for, however it is asked", async () => {
    const business = await newBusiness(node);
    await giveMandate(node, business, { scope: { caps: { records_per_hour: 3, bytes_per_day: 1_000_000 } } });
    const validated = { path: "/v1/publish/products?validate_only=true" };
    const path = "/v1/bulk-imports?validate_only=true";
    const over = { status: 429, json: { code: "rate_limited", reason: "records_per_hour" } };
    const four = [...twoRecords, product("c"), product("d")];
    const large = await batchBody(business, four);
    const file = await stageRecords(node, business, four);
    for (const answer of [
      await publishOver(node, business, large.body, validated),
      await publishOver(node, business, large.body),
      await requestImport(node.running.urls, business, file.body, { path }),
      await requestImport(node.running.urls, business, file.body),
    ]) {
      expect(answer).toMatchObject(over);
      expect(answer.json["detail"]).toMatch(/records_per_hour is 3.*waiting does not help/);
    }
    // Nothing was charged, and no seq is used.
    const two = await batchBody(business, twoRecords);
    expect(await publishOver(node, business, two.body)).toMatchObject({ status: 200, json: { seq: 1 } });
    const more = await batchBody(business, twoRecords, { seq: 2 });
    for (const changes of [validated, {}]) {
      const answer = await publishOver(node, business, more.body, changes);
      expect(answer).toMatchObject(over);
      expect(answer.json["detail"]).toBe(
        "The mandate's cap records_per_hour has room for 1 more records in this hour.",
      );
    }
    const last = await batchBody(business, [product("e")], { seq: 2 });
    expect(await publishOver(node, business, last.body)).toMatchObject({ status: 200 });
  });

  it("end a file where the bytes of the day are used up, and nothing of it is kept", async () => {
    const business = await newBusiness(node);
    await giveMandate(node, business, { scope: { caps: { records_per_hour: 9, bytes_per_day: 20_000 } } });
    const upload = await newUpload(node.running.urls, business);
    const before = await readdir(join(node.running.config.home, "bulk"));
    const long = await sendFile(upload, "YQ==\n".repeat(4_001));
    expect(long).toMatchObject({ status: 429, json: { code: "rate_limited", reason: "bytes_per_day" } });
    expect(await readdir(join(node.running.config.home, "bulk"))).toEqual(before);
    expect(await sendFile(upload, "YQ==\n".repeat(4_000))).toMatchObject({ status: 201 });
  });

  it("count the records and the bytes of an import, which later uploads and imports find used up", async () => {
    const business = await newBusiness(node);
    await giveMandate(node, business, { scope: { caps: { records_per_hour: 2, bytes_per_day: 1_000_000 } } });
    const [one, two] = [
      await stageRecords(node, business, twoRecords),
      await stageRecords(node, business, [product("c")], { seq: 2 }),
    ];
    expect(await requestImport(node.running.urls, business, one.body)).toMatchObject({ status: 202 });
    const used = { status: 429, json: { code: "rate_limited", reason: "records_per_hour" } };
    expect(await requestImport(node.running.urls, business, two.body)).toMatchObject(used);
    expect(await askUpload(node.running.urls, business)).toMatchObject(used);
  });

  it("let no import through whose file has more bytes than are left", async () => {
    const business = await newBusiness(node);
    const records = Array.from({ length: 40 }, (_, index) => product(`${index}`));
    const fromMs = Date.now();
    const staged = await stageRecords(node, business, records);
    // Room for the request, and not for the file.
    await giveMandate(node, business, {
      fromMs,
      scope: { caps: { records_per_hour: 1_000, bytes_per_day: 10_000 } },
    });
    const used = { status: 429, json: { code: "rate_limited", reason: "bytes_per_day" } };
    expect(await requestImport(node.running.urls, business, staged.body)).toMatchObject(used);
    expect(await stateOf(business, staged.body.upload_id)).toMatchObject({
      state: "uploaded",
      push_id: null,
    });
    // Nothing was charged: with more room, the same import is accepted.
    await giveMandate(node, business, { fromMs: fromMs + 1 });
    expect(await requestImport(node.running.urls, business, staged.body)).toMatchObject({ status: 202 });
  });
});

it("fair use bounds an import as it bounds a batch", async () => {
  const business = await newBusiness(node);
  const unchanged = { status: 429, json: { code: "rate_limited", reason: "records_unchanged" } };
  let seq = 0;
  const again = async () => {
    seq += 1;
    const { body } = await batchBody(business, twoRecords, { seq });
    return publishOver(node, business, body);
  };
  let batch = await again();
  // The day may end meanwhile, and the count with it.
  while (batch.status === 200 && seq < 2 * repeatsPerDay) batch = await again();
  expect(batch).toMatchObject(unchanged);
  const same = await stageRecords(node, business, twoRecords, { seq: seq + 1 });
  expect(await requestImport(node.running.urls, business, same.body)).toMatchObject(unchanged);
  expect(await readOver(node, business, `/v1/pushes/${same.pushId}`)).toMatchObject({ status: 404 });
  const other = await stageRecords(node, business, [product("c")], { seq: seq + 2 });
  expect(await requestImport(node.running.urls, business, other.body)).toMatchObject({ status: 202 });
});

async function close({ party, key }: TestBusiness): Promise<void> {
  await node.running.services.parties.issueCertificate({
    uuid: party.uuid,
    kind: "business",
    legal_name: party.legal_name,
    country: "GB",
    verified_since: key.valid_from,
    status: "closed",
    status_effective_from: new Date().toISOString(),
    status_reason: "business_closed",
  });
}

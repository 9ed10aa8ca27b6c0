// POST /v1/verify under every combination of faults, whatever became of the record: what is signed about each document is
// what that document is on its own.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publishBody } from "../client/batch.ts";
import { parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { parseBase64, toBase64 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import {
  openBusiness,
  product,
  publish,
  seal,
  sealAndPublish,
} from "../stories/publishing/publishing.fixture.ts";
import { removeBy, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { assertReadable, openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { send } from "./surfaces.fixture.ts";

let world: Verifiable;
let other: { readonly record: Uint8Array; readonly seal: JsonObject };

beforeAll(async () => {
  world = await openVerifiable();
  const { services } = world.surfaces;
  const business = await openBusiness(services, "00000000-0000-4000-8000-000000000002", "Other Ltd");
  const record = product("theirs");
  const { batch_seal } = await seal(business, [record]);
  await publish(services, business, publishBody(batch_seal, [record]));
  other = {
    record,
    seal: { batch_seal: batch_seal as unknown as JsonObject, leaf_index: 0, tree_size: 1, proof: [] },
  };
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

async function newSigningKey(): Promise<SigningKey> {
  const parsed = await parseSigningKey(generatePrivateJwk("Ed25519"));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
}

const flipped = (bytes: Uint8Array): Uint8Array =>
  bytes.map((byte, index) => (index === 20 ? byte ^ 1 : byte));

/** A signature of the right form that nobody made. */
function forged(genuine: JsonObject): JsonObject {
  const envelope = genuine["batch_seal"] as JsonObject;
  const [signature] = envelope["signatures"] as readonly JsonObject[];
  const sig = toBase64(flipped(parseBase64(String(signature?.["sig"])) ?? new Uint8Array()));
  return { ...genuine, batch_seal: { ...envelope, signatures: [{ ...signature, sig }] } as JsonObject };
}

const faults = {
  bytes: ["sealed", "flipped", "of another business"],
  signature: ["own", "forged"],
  row: ["own", "with another signature", "of the other record", "none"],
  sidecar: ["own", "none"],
} as const;
type Drawn = { readonly [Name in keyof typeof faults]: (typeof faults)[Name][number] };

const all: readonly Drawn[] = faults.bytes.flatMap((bytes) =>
  faults.signature.flatMap((signature) =>
    faults.row.flatMap((row) => faults.sidecar.map((sidecar) => ({ bytes, signature, row, sidecar }))),
  ),
);

interface Held {
  readonly bytes: Uint8Array;
  readonly seal: JsonObject;
  readonly sidecar: JsonObject;
  readonly row: JsonObject;
  readonly otherRow: JsonObject;
}
let held: Held;

beforeAll(() => {
  const { json, text } = world.fetched;
  held = {
    bytes: new TextEncoder().encode(exactMember(text, "record") ?? ""),
    seal: json["seal"] as JsonObject,
    sidecar: json["sidecar"] as JsonObject,
    row: world.row,
    otherRow: world.otherRow,
  };
});

function requestOf({ bytes, signature, row, sidecar }: Drawn): JsonObject {
  const records = { sealed: held.bytes, flipped: flipped(held.bytes), "of another business": other.record };
  const sig = toBase64(flipped(parseBase64(String(held.row["adl_row_sig"])) ?? new Uint8Array()));
  const rows: Readonly<Record<Drawn["row"], JsonObject>> = {
    own: { row: held.row },
    "with another signature": { row: { ...held.row, adl_row_sig: sig } },
    "of the other record": { row: held.otherRow },
    none: {},
  };
  return {
    record_base64: toBase64(records[bytes]),
    seal: signature === "own" ? held.seal : forged(held.seal),
    ...rows[row],
    ...(sidecar === "own" ? { sidecar: held.sidecar } : {}),
  };
}

function expected({ bytes, signature, row, sidecar }: Drawn): JsonObject {
  const isSealed = bytes === "sealed";
  const otherBytes =
    sidecar === "own" || row === "own" || row === "of the other record" || signature === "own";
  const bound = isSealed ? null : otherBytes ? "hash_mismatch" : "inclusion_invalid";
  const reason = bound ?? (signature === "own" ? null : "signature_invalid");
  const isScopeKnown = isSealed || sidecar === "own";
  const rowSignature = row === "with another signature" ? "row_signature_invalid" : null;
  const projection = isSealed && row !== "of the other record" ? null : "hash_mismatch";
  return {
    seal: {
      reason,
      certificate: "ok",
      ai_policy: "ok",
      scope: isScopeKnown ? "ok" : "not_checked",
      key_event: "missing",
    },
    sidecar: sidecar === "own" ? (isSealed ? "ok" : "hash_mismatch") : null,
    projection: row === "none" ? null : { signature: rowSignature ?? "ok", projection: projection ?? "ok" },
  };
}

const stateOf = (section: JsonValue | undefined): JsonValue => {
  const { valid = null, reason = null } = (section ?? {}) as JsonObject;
  return valid === true ? "ok" : reason;
};

async function verified(body: JsonObject): Promise<JsonObject> {
  const request = { path: "/v1/verify", body: JSON.stringify(body) };
  return assertReadable(world.trust, await send(world.surfaces.verifyUrl, null, request)).json as JsonObject;
}

function found(answer: JsonObject): JsonObject {
  const section = answer["seal"] as JsonObject;
  const projection = answer["projection"] as JsonObject | null;
  return {
    seal: { reason: section["reason"] ?? null, ...(section["checks"] as JsonObject) },
    sidecar: stateOf(answer["sidecar"]),
    projection:
      projection === null
        ? null
        : { signature: stateOf(projection["row_signature"]), projection: stateOf(projection["projection"]) },
  };
}

/** What happens to the record and its business, each after the ones before. None of it changes what was sealed. */
const events: Readonly<Record<string, () => Promise<unknown>>> = {
  "while the record is served": async () => undefined,
  "after a later version": () => publishAgain({ product_name: "A later kettle" }),
  "after its withdrawal": () => remove("withdraw"),
  "after its deletion": async () => {
    await publishAgain({ product_name: "Once more" });
    await remove("delete");
  },
};

let seq = 10;
const id = () => String(world.row["record_id"]);
function publishAgain(changes: Readonly<Record<string, unknown>>): Promise<unknown> {
  const record = JSON.parse(new TextDecoder().decode(held.bytes)) as { business_product_id: string };
  seq += 1;
  const bytes = product(record.business_product_id, changes);
  return sealAndPublish(world.surfaces.services, world.business, [bytes], { seq, aiPolicyVersion: 1 });
}

async function remove(action: "withdraw" | "delete"): Promise<void> {
  const { business, surfaces } = world;
  const document = { record_id: id(), action };
  const sealed = await sealRemoval(business, document, business.signingKey, { ai_policy_version: 1 });
  const answer = await removeBy(surfaces.services, business, action, sealed);
  expect(answer).toMatchObject({ kind: "answer", status: 200 });
}

describe.each(Object.entries(events))("%s", (_name, happen) => {
  it(`each of ${all.length} combinations is told as it is`, async () => {
    await happen();
    for (const drawn of all)
      expect([drawn, found(await verified(requestOf(drawn)))]).toEqual([drawn, expected(drawn)]);
  }, 60_000);
});

it("a seal by the key of another business is judged by that business alone", async () => {
  const answer = await verified({ record_base64: toBase64(held.bytes), seal: other.seal });
  expect(answer["seal"]).toMatchObject({
    valid: false,
    reason: "hash_mismatch",
    checks: { certificate: "ok", ai_policy: "ok", scope: "not_checked", key_event: "missing" },
  });
  const own = await verified({ record_base64: toBase64(other.record), seal: other.seal });
  expect(own["seal"]).toMatchObject({ valid: true });
});

it("of a seal that names a key of nobody nothing is checked but its form", async () => {
  const nobody = { ...world.business, signingKey: await newSigningKey() };
  const { batch_seal } = await seal(nobody, [held.bytes]);
  const sealed = { batch_seal: batch_seal as unknown as JsonObject, leaf_index: 0, tree_size: 1, proof: [] };
  const unchecked = {
    certificate: "not_checked",
    ai_policy: "not_checked",
    scope: "not_checked",
    key_event: "not_checked",
  };
  for (const [bytes, reason] of [
    [held.bytes, "key_unknown"],
    [other.record, "hash_mismatch"],
  ] as const)
    expect((await verified({ record_base64: toBase64(bytes), seal: sealed }))["seal"]).toMatchObject({
      valid: false,
      reason,
      checks: unchecked,
    });
});

it("without a seal nothing is said of one, in the log either", async () => {
  const answer = await verified({ record_base64: toBase64(held.bytes), row: held.row });
  expect(answer).toMatchObject({ valid: true, seal: null, log_inclusion: null });
});

describe("after the key was revoked and the certificate closed", () => {
  it("what was sealed before stands, and each fault is told as before", async () => {
    const { services } = world.surfaces;
    const { party, key } = world.business;
    const now = new Date().toISOString();
    const ended = { uuid: party.uuid, key_id: key.key_id, revoked_at: now, compromised_from: null };
    await services.parties.revokeKey(ended);
    const { kind, uuid, legal_name, country } = party;
    await services.parties.issueCertificate({
      kind: kind as "business",
      uuid,
      legal_name,
      country,
      verified_since: now,
      status: "closed",
      status_effective_from: now,
      status_reason: "business_closed",
    });
    await registerInForce(services);
    for (const drawn of all)
      expect([drawn, found(await verified(requestOf(drawn)))]).toEqual([drawn, expected(drawn)]);
    const { warnings } = await verified(requestOf(all[0] as Drawn));
    expect(warnings).toContainEqual(expect.stringContaining("is closed from"));
  }, 60_000);
});

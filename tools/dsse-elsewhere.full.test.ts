// Our envelopes under securesystemslib, and its envelopes under our verifier: DSSE is the same on both sides, bit for bit.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseBase64, parseBase64Url, toBase64, toHex, utf8 } from "../protocol/bytes.ts";
import { pae, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { type DsseJudge, installDsseJudge } from "./dsse-judge.fixture.ts";
import { root } from "./process.ts";
import type { VectorFile } from "./vectors/case.ts";

let judge: DsseJudge | null;

beforeAll(async () => {
  judge = await installDsseJudge();
}, 300_000);
afterAll(() => judge?.[Symbol.asyncDispose]());

interface Envelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

interface Question {
  readonly envelope: Envelope;
  readonly keys: readonly { readonly keyid: string; readonly public: string }[];
}

/** Every object in a JSON value. */
function* objectsIn(value: JsonValue | undefined): Generator<Readonly<Record<string, JsonValue>>> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value as Readonly<Record<string, JsonValue>>;
  for (const each of Object.values(value)) yield* objectsIn(each as JsonValue);
}

/** The envelopes of good cases that an Ed25519 key signed, with that key. */
async function signedEnvelopes(): Promise<readonly Question[]> {
  const read = async (name: string) => JSON.parse(await readFile(join(root, "vectors", name), "utf8"));
  const { trust } = await read("trust.json");
  const { files }: { readonly files: readonly { readonly path: string }[] } = await read("index.json");
  const vectors: readonly Partial<VectorFile>[] = await Promise.all(files.map(({ path }) => read(path)));
  const good = vectors.flatMap(({ cases = [] }) => cases).filter(({ expected }) => expected.valid);
  const questions = new Map<string, Question>();
  for (const { input, trust: under } of good) {
    const objects = [...objectsIn(input as JsonValue), ...objectsIn(trust[under ?? ""])];
    const keys = new Map<string, string>();
    for (const { key_id: keyid, public_key: key } of objects)
      if (typeof keyid === "string" && isEd25519(key))
        keys.set(keyid, toHex(parseBase64Url(key.x) as Uint8Array));
    for (const object of objects) {
      if (!("payloadType" in object)) continue;
      const envelope = object as unknown as Envelope;
      const signers = envelope.signatures.flatMap(({ keyid }) => {
        const key = keys.get(keyid);
        return key === undefined ? [] : [{ keyid, public: key }];
      });
      if (signers.length > 0) questions.set(JSON.stringify(envelope), { envelope, keys: signers });
    }
  }
  return [...questions.values()];
}

function isEd25519(key: JsonValue | undefined): key is { readonly kty: "OKP"; readonly x: string } {
  return typeof key === "object" && key !== null && "kty" in key && key["kty"] === "OKP";
}

/** The same with one bit of the decoded bytes changed. */
function flipped(base64: string, at: number): string {
  const bytes = parseBase64(base64)?.slice() ?? new Uint8Array();
  const place = at % bytes.length;
  bytes[place] = (bytes[place] as number) ^ 1;
  return toBase64(bytes);
}

it("accepts our envelopes, and none that says something else", async ({ skip }) => {
  if (judge === null) skip();
  const questions = await signedEnvelopes();
  expect(questions.length).toBeGreaterThan(5);
  expect(new Set(questions.map(({ envelope }) => envelope.payloadType)).size).toBeGreaterThan(2);
  expect(await judge?.ask(questions)).toEqual(
    questions.map(({ envelope, keys }) => ({
      accepted: keys.map(({ keyid }) => keyid).toSorted(),
      payload: envelope.payload,
    })),
  );
  const changed = questions.flatMap(({ envelope, keys }, at) =>
    [
      { ...envelope, payload: flipped(envelope.payload, at) },
      { ...envelope, payloadType: `${envelope.payloadType}2` },
      {
        ...envelope,
        signatures: envelope.signatures.map((each) => ({ ...each, sig: flipped(each.sig, at) })),
      },
    ].map((other) => ({ envelope: other, keys })),
  );
  expect(await judge?.ask(changed)).toEqual(changed.map(() => ({ refused: "VerificationError" })));
});

it("makes envelopes that we accept", async ({ skip }) => {
  if (judge === null) skip();
  const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
  // RFC 8032 §7.1, test 1.
  const jwk = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } as const;
  const texts = ["{}", "", "é😀", "x".repeat(70_000)];
  const types = [...Object.values(payloadTypes), "é", ""];
  const asked = types.flatMap((payload_type) => texts.map((payload) => ({ payload_type, payload })));
  const made = await judge?.ask(
    asked.map(({ payload_type, payload }) => ({
      sign: { payload_type, payload: toBase64(utf8(payload)) },
      seed,
      keyid: "k",
    })),
  );
  expect(made).toHaveLength(asked.length);
  for (const [at, { payload_type, payload }] of asked.entries()) {
    const { envelope } = (made ?? [])[at] as { readonly envelope: Envelope };
    const signature = parseBase64(envelope.signatures[0]?.sig ?? "") ?? new Uint8Array();
    expect(envelope).toMatchObject({ payloadType: payload_type, payload: toBase64(utf8(payload)) });
    expect(verifySignature(jwk, pae(payload_type, utf8(payload)), signature)).toBe(true);
    if (payload_type !== "") expect(parseEnvelope(envelope as unknown as JsonValue).ok).toBe(true);
  }
});

import { expect, it } from "vitest";
import { businessUuid, certificateFacts, keyFacts } from "../../actors/facts.fixture.ts";
import type { CertificateFacts, KeyFacts } from "../../actors/messages/business.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { parseUtf8 } from "../../protocol/bytes.ts";
import { type Envelope, makeEnvelope, payloadTypes } from "../../protocol/dsse.ts";
import { canonicalize, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { certificatePayload } from "../../protocol/keys/certificate.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { observeWork, type Pace } from "../../std/work.ts";
import type { Register } from "../register/register.ts";
import type { ServiceKeys } from "../register/service-keys.ts";
import { createKeyDirectory } from "./key-directory.ts";

/** A directory of `size` companies, and what building it asked for. */
function directoryOf(
  size: number,
  {
    certificate = part<CertificateFacts>({ status: "revoked" }),
    keys = [],
    pace = () => null,
  }: {
    readonly certificate?: CertificateFacts;
    readonly keys?: readonly KeyFacts[];
    readonly pace?: Pace;
  } = {},
) {
  const told = { reads: 0, signatures: 0, changes: 0, nowMs: 1_000_000 };
  const all = Array.from({ length: size }, (_, at) => `company ${at}`);
  const register = part<Register>({
    listedCompanies: { all: () => all, changes: () => told.changes },
    certificates: async () => {
      told.reads += 1;
      return [certificate];
    },
    keys: async () => keys,
  });
  const signing = part<ServiceKeys>({
    statement: () => ({
      keyId: "k",
      publicJwk: { kty: "OKP", crv: "Ed25519", x: "" },
      signMany: async () => [],
      sign: async () => {
        told.signatures += 1;
        return new Uint8Array(64);
      },
    }),
  });
  const read = createKeyDirectory(
    part<Parameters<typeof createKeyDirectory>[0]>({
      register,
      keys: signing,
      crypto: nativeCrypto,
      verifyUrl: "https://verify.test",
      pace,
      clock: { now: () => told.nowMs },
    }),
  );
  return { told, read };
}

it("D3: a thousand reads of the directory sign it once, and each change once more", async () => {
  const { told, read } = directoryOf(3);
  const first = await Promise.all(Array.from({ length: 500 }, read));
  for (let at = 0; at < 500; at += 1) expect(await read()).toBe(first[at]);
  expect(told).toMatchObject({ signatures: 1, reads: 3 });
  told.changes += 1;
  await Promise.all(Array.from({ length: 500 }, read));
  expect(told).toMatchObject({ signatures: 2, reads: 6 });
  told.nowMs += 59_999;
  await read();
  expect(told.signatures).toBe(2);
  told.nowMs += 1;
  expect(await read()).not.toBe(first[0]);
  expect(told.signatures).toBe(3);
});

it("D3: a large directory is built again after five seconds, however much changes", async () => {
  const { told, read } = directoryOf(101);
  await read();
  told.changes += 1;
  told.nowMs += 4_999;
  await read();
  expect(told.signatures).toBe(1);
  told.nowMs += 1;
  await read();
  expect(told.signatures).toBe(2);
});

it("D4: a directory is made in steps of a company, and is what it would be if it were made at once", async () => {
  const at = "2026-01-01T00:00:00.000Z";
  const payload = certificatePayload({
    v: 1,
    legal_name: "Caf\u00e9 $& Ltd",
    country: "GB",
    verified_since: at,
    status: "active",
    subject: { kind: "ai_company", uuid: businessUuid },
    previous: null,
    status_effective_from: at,
    issued_at: at,
  });
  const signed = makeEnvelope(payloadTypes["certificate.v1"], payload, [
    { keyid: "k", sig: new Uint8Array(64) },
  ]);
  const certificate = certificateFacts({ envelope: JSON.stringify(signed) });
  const keys = ["a", "b", "c", "d"].map((key_id) => keyFacts({ key_id }));
  let [values, most] = [0, 0];
  const pace = (): null => {
    most = Math.max(most, values);
    values = 0;
    return null;
  };
  observeWork((kind, times) => {
    if (kind === "value") values += times;
  });
  const { bytes } = await directoryOf(500, { certificate, keys, pace })
    .read()
    .finally(() => observeWork(null));
  pace();
  // The certificates of those that are read at a time are parsed between two looks; a company has some fifty values.
  expect(most).toBeLessThan(1_000);

  const text = parseUtf8(bytes) ?? "";
  const document = JSON.parse(text) as {
    readonly statement: Envelope;
    readonly companies: readonly unknown[];
  };
  const { statement, ...stated } = document;
  expect(document.companies).toHaveLength(500);
  expect(text).toBe(JSON.stringify(document));
  expect(parseUtf8(Buffer.from(statement.payload, "base64"))).toBe(
    canonicalize(stated as unknown as JsonValue),
  );
  expect(Object.keys(document)).toEqual(["v", "issued_at", "companies", "statement"]);
});

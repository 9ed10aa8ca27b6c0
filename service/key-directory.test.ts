import { expect, it } from "vitest";
import type { CertificateFacts } from "../actors/messages/business.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { createKeyDirectory } from "./key-directory.ts";
import type { Register } from "./register.ts";
import type { ServiceKeys } from "./service-keys.ts";

/** A directory of `size` companies without an active certificate, and what building it asked for. */
function directoryOf(size: number) {
  const told = { reads: 0, signatures: 0, changes: 0, nowMs: 1_000_000 };
  const all = Array.from({ length: size }, (_, at) => `company ${at}`);
  const register = part<Register>({
    listedCompanies: { all: () => all, changes: () => told.changes },
    certificates: async () => {
      told.reads += 1;
      return [part<CertificateFacts>({ status: "revoked" })];
    },
  });
  const keys = part<ServiceKeys>({
    statement: () => ({
      ...{ keyId: "k", publicJwk: { kty: "OKP", crv: "Ed25519", x: "" }, signMany: async () => [] },
      sign: async () => {
        told.signatures += 1;
        return new Uint8Array(64);
      },
    }),
  });
  const read = createKeyDirectory({
    ...{ register, keys, crypto: nativeCrypto, verifyUrl: "https://verify.test" },
    clock: { now: () => told.nowMs },
  });
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

// What the head of a signed request must not contain: another label, a digest without a body, a sandbox key out of bounds.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SigningKey } from "../client/signing-key.ts";
import type { RequestHead } from "./authentication/authenticate.ts";
import {
  authenticate,
  codeOf,
  newKey,
  openRegion,
  registeredKey,
  signedHead,
  type TestRegion,
} from "./authentication.fixture.ts";

let region: TestRegion;
let key: SigningKey;

async function use(environment: "sandbox" | "production"): Promise<void> {
  region?.close();
  region = await openRegion(environment);
  key = await registeredKey(region, "retrieval");
}
beforeEach(() => use("sandbox"));
afterEach(() => region.close());

describe("the label", () => {
  const relabelled = (head: RequestHead, label: string): RequestHead => ({
    ...head,
    signatureInput: head.signatureInput?.replace("sig1=", `${label}=`) ?? null,
    signature: head.signature?.replace("sig1=", `${label}=`) ?? null,
  });

  it.each(["sig2", "sig", "sig10", "a", "*", "sig1.x"])("of a signature is sig1, not %s", async (label) => {
    const head = relabelled(await signedHead({ key }), label);
    expect(await codeOf(authenticate(region, head))).toBe("signature_invalid");
  });

  it("may be another for a signature with another tag beside it, before it or after it", async () => {
    const beside = 'proxy=("@method");created=1;keyid="x";tag="somebody-elses"';
    for (const isFirst of [true, false]) {
      const head = await signedHead({ key });
      const both = (own: string | null, other: string): string =>
        isFirst ? `${other}, ${own}` : `${own}, ${other}`;
      const joined = {
        ...head,
        signatureInput: both(head.signatureInput, beside),
        signature: both(head.signature, "proxy=:AAAA:"),
      };
      expect(await codeOf(authenticate(region, joined))).toBe("authenticated");
    }
  });

  it("is not lent by a signature with another tag", async () => {
    const own = relabelled(await signedHead({ key }), "sig2");
    const head = {
      ...own,
      signatureInput: `sig1=("@method");created=1;keyid="x";tag="somebody-elses", ${own.signatureInput}`,
      signature: `sig1=:AAAA:, ${own.signature}`,
    };
    expect(await codeOf(authenticate(region, head))).toBe("signature_invalid");
  });
});

describe("content-digest", () => {
  it.each(["GET", "POST"])("is not covered by a %s without a body", async (method) => {
    const head = await signedHead({ key, method, body: new Uint8Array() });
    expect([head.hasBody, head.contentDigest]).toEqual([false, expect.stringMatching(/^sha-256=/)]);
    expect(await codeOf(authenticate(region, head))).toBe("signature_invalid");
  });

  it("says nothing where it is sent without a body and not covered", async () => {
    const { contentDigest } = await signedHead({ key, body: new Uint8Array(1) });
    const head = { ...(await signedHead({ key, method: "POST" })), contentDigest };
    expect(await codeOf(authenticate(region, head))).toBe("authenticated");
  });
});

describe("SVC-Sandbox-Key", () => {
  const outOfBounds = [
    ["no character", ""],
    ["8,193 characters", "x".repeat(8_193)],
    ["two fields", "svc_sbxk1.a.b, svc_sbxk1.a.b"],
    ["two empty fields", ", "],
  ] as const;

  it.each(outOfBounds)(
    "of %s is refused in the sandbox, whether its key is known or not",
    async (_name, sandboxKey) => {
      for (const signer of [key, await newKey()]) {
        const head = { ...(await signedHead({ key: signer })), sandboxKey };
        const outcome = await authenticate(region, head);
        expect(outcome).toMatchObject({
          problem: { status: 400, code: "request_invalid", pointer: "/headers/svc-sandbox-key" },
        });
      }
      // Judged before the key, so the nonce is unused.
      expect(region.claims).toEqual([]);
    },
  );

  it("is judged after the signature's form and time", async () => {
    const expired = await signedHead({ key, created: 1_700_000_000 });
    expect(await codeOf(authenticate(region, { ...expired, sandboxKey: "" }))).toBe("signature_expired");
  });

  it.each(["x", "x".repeat(8_192)])(
    "of 1 to 8,192 characters is not looked at for a registered key",
    async (sandboxKey) => {
      expect(await codeOf(authenticate(region, { ...(await signedHead({ key })), sandboxKey }))).toBe(
        "authenticated",
      );
    },
  );

  it.each(outOfBounds)("of %s is ignored in production", async (_name, sandboxKey) => {
    await use("production");
    expect(await codeOf(authenticate(region, { ...(await signedHead({ key })), sandboxKey }))).toBe(
      "authenticated",
    );
    const unknown = { ...(await signedHead({ key: await newKey() })), sandboxKey };
    expect(await codeOf(authenticate(region, unknown))).toBe("key_unknown");
  });
});

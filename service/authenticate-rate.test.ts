import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SigningKey } from "../client/signing-key.ts";
import { utf8 } from "../protocol/bytes.ts";
import { createRequestRate } from "./authentication/request-rate.ts";
import {
  authenticate,
  codeOf,
  openRegion,
  registeredKey,
  signedHead,
  type TestRegion,
} from "./authentication.fixture.ts";

let region: TestRegion;
let key: SigningKey;

beforeEach(async () => {
  region = await openRegion("production");
  key = await registeredKey(region, "retrieval");
});
afterEach(() => region.close());

const body = utf8('{"a":1}');

describe("a key beyond its request rate", () => {
  const limited = (): TestRegion => {
    const requestRate = createRequestRate({ perSecond: 1, burst: 1, elapsedMs: () => 0 });
    return { ...region, deps: { ...region.deps, requestRate } };
  };

  it("is told so after its nonce was claimed, and a replay that it is one (A5)", async () => {
    const slow = limited();
    expect(await codeOf(authenticate(slow, await signedHead({ key })))).toBe("authenticated");
    const head = await signedHead({ key, body });
    expect(await authenticate(slow, head, body)).toMatchObject({
      kind: "problem",
      problem: { code: "rate_limited", reason: "request_rate", retry_after_seconds: 1 },
      headers: { "retry-after": "1" },
    });
    expect(region.claims).toHaveLength(2);
    expect(await codeOf(authenticate(slow, head, body))).toBe("nonce_reused");
    expect(region.claims).toHaveLength(2);
  });

  it("is not another key, nor anyone whose signature does not verify", async () => {
    const slow = limited();
    const forged = { ...(await signedHead({ key })), signature: `sig1=:${"A".repeat(86)}==:` };
    expect(await codeOf(authenticate(slow, forged))).toBe("signature_invalid");
    expect(await codeOf(authenticate(slow, await signedHead({ key })))).toBe("authenticated");
    const other = await registeredKey(region, "retrieval");
    expect(await codeOf(authenticate(slow, await signedHead({ key: other })))).toBe("authenticated");
  });

  it("is told that before anything about its role", async () => {
    const slow = limited();
    const integration = await registeredKey(region, "integration");
    const codes = [];
    for (const _ of [1, 2])
      codes.push(await codeOf(authenticate(slow, await signedHead({ key: integration }))));
    expect(codes).toEqual(["role_not_allowed", "rate_limited"]);
  });
});

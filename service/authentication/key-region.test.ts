import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SigningKey } from "../../client/signing-key.ts";
import {
  accepted,
  authenticate,
  codeOf,
  companyUuid,
  nextNonce,
  openRegion,
  registeredKey,
  signedHead,
  type TestRegion,
} from "../authentication.fixture.ts";
import type { MaybeLater } from "../register/register.ts";
import { createKeyRegion } from "./authenticate.ts";
import { createRequestRate } from "./request-rate.ts";

let region: TestRegion;
let key: SigningKey;
let regionOf: (party: string) => MaybeLater<string | null>;

beforeEach(async () => {
  region = await openRegion("production");
  const keyRegion = createKeyRegion({ region: "eu-west1", regionOf: (party) => regionOf(party) });
  region = { ...region, deps: { ...region.deps, keyRegion } };
  key = await registeredKey(region, "retrieval");
});
afterEach(() => region.close());

describe.each([
  ["known at hand", (found: string | null): MaybeLater<string | null> => found],
  ["looked up", (found: string | null): MaybeLater<string | null> => Promise.resolve(found)],
])("a key whose region is %s", (_, give) => {
  it("B1: is answered in its region, which is asked for by its party", async () => {
    const asked: string[] = [];
    regionOf = (party) => {
      asked.push(party);
      return give("eu-west1");
    };
    expect(await codeOf(authenticate(region, await signedHead({ key })))).toBe("authenticated");
    expect(asked).toEqual([companyUuid]);
    expect(region.claims).toHaveLength(1);
  });

  it("A6: is told its region elsewhere, and its nonce stays free for there", async () => {
    regionOf = () => give("us-east1");
    const head = await signedHead({ key, nonce: nextNonce() });
    expect(await authenticate(region, head)).toMatchObject({
      kind: "problem",
      problem: { code: "region_misdirected", status: 421, region: "us-east1" },
    });
    expect(region.claims).toEqual([]);
    regionOf = () => give("eu-west1");
    expect(await codeOf(authenticate(region, head))).toBe("authenticated");
    expect(await codeOf(authenticate(region, head))).toBe("nonce_reused");
  });

  it("B3: is not answered while nobody knows its region", async () => {
    regionOf = () => give(null);
    expect(await authenticate(region, await signedHead({ key }))).toMatchObject({
      problem: { code: "unavailable", reason: "key_region", retry_after_seconds: 1 },
      headers: { "retry-after": "1" },
    });
    expect(region.claims).toEqual([]);
  });
});

it("is told to nobody whose signature does not verify", async () => {
  regionOf = () => "us-east1";
  const head = await signedHead({ key });
  const forged = { ...head, signature: `sig1=:${btoa("x".repeat(64))}:` };
  expect(await codeOf(authenticate(region, forged))).toBe("signature_invalid");
});

it("is no matter of a business's key: what it does is done once, at its home", async () => {
  regionOf = () => "us-east1";
  const business = await registeredKey(region, "integration");
  const roles = ["integration"] as const;
  const outcome = authenticate(region, await signedHead({ key: business }), undefined, {
    ...accepted,
    roles,
  });
  expect(await codeOf(outcome)).toBe("authenticated");
});

it("A5: requests that belong elsewhere count towards the key's rate", async () => {
  const requestRate = createRequestRate({ perSecond: 1, burst: 1, elapsedMs: () => 0 });
  region = { ...region, deps: { ...region.deps, requestRate } };
  regionOf = () => "us-east1";
  expect(await codeOf(authenticate(region, await signedHead({ key })))).toBe("region_misdirected");
  regionOf = () => "eu-west1";
  expect(await codeOf(authenticate(region, await signedHead({ key })))).toBe("rate_limited");
});

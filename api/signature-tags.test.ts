// The tag of a signature says what the request is for: no route takes another one than its document names.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SignatureTag, signatureTags } from "../protocol/http-signature.ts";
import { openBusiness } from "../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  type ReceivedAnswer,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

interface Operation {
  readonly "x-signature-tags"?: readonly SignatureTag[];
}

let surfaces: TestSurfaces;
let company: TestCaller;
let business: TestCaller;

beforeAll(async () => {
  surfaces = await openSurfaces();
  const uuid = "10000000-0000-4000-8000-000000000001";
  company = await newCaller(surfaces.services.keys.grant, "retrieval", uuid);
  business = { key: (await openBusiness(surfaces.services)).signingKey, grant: "" };
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const values: Readonly<Record<string, string>> = {
  record_id: `svc_${"a".repeat(26)}`,
  push_id: `bat_${"0".repeat(24)}`,
};

/** Its key comes with the body, which is therefore judged before the signature (stories/retrieval/sandbox-grants.test.ts). */
const judgedByBody = "/v1/sandbox/grants";

async function operationsOf(base: string) {
  const { paths } = (await send(base, null, { path: "/openapi.json" })).json as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, { "x-signature-tags": tags }]) => {
      const path = template.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => values[name] ?? "x");
      return tags === undefined || path === judgedByBody
        ? []
        : [{ method: method.toUpperCase(), path, tags }];
    }),
  );
}

describe.each([
  ["retrieval", () => [surfaces.retrievalUrl, company] as const, 8],
  ["business", () => [surfaces.businessUrl, business] as const, 25],
])("every signed route of the %s surface", (_name, surface, least) => {
  it("refuses a good signature under another tag, and takes its own", async () => {
    const [base, caller] = surface();
    const operations = await operationsOf(base);
    expect(operations.length).toBeGreaterThanOrEqual(least);
    for (const { method, path, tags } of operations) {
      const ask = (tag: SignatureTag): Promise<ReceivedAnswer> => {
        const body = method === "POST" ? { body: "{}" } : {};
        return send(base, caller, {
          method,
          path,
          tag,
          ...body,
          headers: { "idempotency-key": freshNonce(), "svc-sandbox-key": null },
        });
      };
      for (const tag of signatureTags) {
        const { json } = await ask(tag);
        const isOwn = tags.includes(tag);
        expect([method, path, tag, json["code"] === "signature_invalid"]).toEqual([
          method,
          path,
          tag,
          !isOwn,
        ]);
      }
    }
  });
});

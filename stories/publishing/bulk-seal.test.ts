// Every member of the seal of an import counts: an import whose seal differs in one of them is refused, and uses up nothing.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AttackNode, newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";
import { requestImport, stageRecords } from "./bulk.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

interface Seal {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly Readonly<Record<string, string>>[];
}
type Change = (seal: Seal) => unknown;

let node: AttackNode;
let business: TestBusiness;
let body: { readonly upload_id: string; readonly batch_seal: unknown };

beforeAll(async () => {
  node = await openAttackNode();
  business = await newBusiness(node);
  ({ body } = await stageRecords(node, business, [product("a"), product("b")], { seq: 1 }));
});
afterAll(() => node.close());

const importWith = (change: Change, upload = body.upload_id) =>
  requestImport(node.running.urls, business, {
    upload_id: upload,
    batch_seal: change(body.batch_seal as Seal),
  });

const signed =
  (more: Readonly<Record<string, string>>): Change =>
  (seal) => ({ ...seal, signatures: seal.signatures.map((each) => ({ ...each, ...more })) });

const changes: readonly (readonly [title: string, change: Change, reason: string])[] = [
  ["that is empty", () => ({}), "envelope_malformed"],
  ["of another payload type", (seal) => ({ ...seal, payloadType: "text/plain" }), "payload_type_mismatch"],
  ["with another payload", (seal) => ({ ...seal, payload: btoa("{}") }), "payload_malformed"],
  ["without a signature", (seal) => ({ ...seal, signatures: [] }), "envelope_malformed"],
  ["under another key_id", signed({ keyid: "x" }), "key_mismatch"],
  ["with another signature", signed({ sig: btoa("x") }), "signature_invalid"],
  ["with authenticator data", signed({ authenticatorData: btoa("x") }), "envelope_malformed"],
  ["with client data", signed({ clientDataJSON: btoa("{}") }), "envelope_malformed"],
];

describe("an import by a seal", () => {
  it.each(changes)("%s is refused", async (_title, change, reason) => {
    expect(await importWith(change)).toMatchObject({ status: 422, json: { code: "seal_invalid", reason } });
  });

  it("as it was made is taken", async () => {
    expect(await importWith((seal) => seal)).toMatchObject({ status: 202 });
  });
});

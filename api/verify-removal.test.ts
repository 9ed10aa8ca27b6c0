// What the verify page says of a record that its business withdrew or deleted: the sealed document, its seal and its time.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashOf, parseBase64, toBase64 } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { part, rubbish } from "../protocol/rubbish.fixture.ts";
import { openSeal } from "../protocol/seal.ts";
import { createStandings } from "../service/register/standing.ts";
import { createVerifyPage } from "../service/verification/verify-page.ts";
import { StoreError } from "../storage/actor-store.ts";
import { product, sealAndPublish } from "../stories/publishing/publishing.fixture.ts";
import { removeBy, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { assertReadable, openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { send } from "./surfaces.fixture.ts";

let world: Verifiable;
let seq = 1;

beforeAll(async () => {
  world = await openVerifiable();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

interface Removed {
  readonly action: string;
  readonly at: string;
  readonly received_at: string;
  readonly document_base64: string;
  readonly seal: object;
}

async function published(
  id: string,
  changes: object = {},
): Promise<{ readonly record_id: string; readonly origin: string }> {
  const { services } = world.surfaces;
  const bytes = product(id, rubbish(changes));
  seq += 1;
  await sealAndPublish(services, world.business, [bytes], { seq, aiPolicyVersion: 1 });
  const record_id = services.recordIdOf(world.business.party.uuid, "products", id);
  return { record_id, origin: hashOf(bytes) };
}

async function remove(record_id: string, action: "withdraw" | "delete") {
  const claims = { ai_policy_version: 1 };
  const { business, surfaces } = world;
  const sealed = await sealRemoval(business, { record_id, action }, business.signingKey, claims);
  const answer = await removeBy(surfaces.services, business, action, sealed);
  expect(answer).toMatchObject({ kind: "answer", status: 200 });
  return sealed;
}

const page = async (
  { record_id, origin }: { readonly record_id: string; readonly origin: string },
  query: Readonly<Record<string, string>> = {},
) => {
  const { json } = await world.get(`/v1/verify/${record_id}?${new URLSearchParams({ origin, ...query })}`);
  return json as Readonly<Record<string, unknown>> & { readonly removal: Removed | null };
};

describe.each(["withdraw", "delete"] as const)("after a document to %s", (action) => {
  it("the page shows the exact document, its seal, and when the service took it; the statement covers them", async () => {
    const version = await published(`shown-${action}`);
    expect((await page(version)).removal).toBeNull();
    const before = formatTimestamp(Date.now());
    const sealed = await remove(version.record_id, action);
    const after = formatTimestamp(Date.now());
    const answer = await page(version);
    expect(answer).toMatchObject({ status: action === "delete" ? "deleted" : "withdrawn", valid: true });
    const { removal } = answer;
    if (removal === null) throw new Error("No removal is shown.");
    expect(removal).toMatchObject({ action, seal: sealed.seal });
    expect(parseBase64(removal.document_base64)).toEqual(sealed.document);
    const opened = openSeal(rubbish(removal.seal));
    expect(opened.ok && opened.value).toMatchObject({ hash: hashOf(sealed.document) });
    expect(before <= removal.received_at && removal.received_at <= after).toBe(true);
    const { payload } = answer["statement"] as { readonly payload: string };
    expect(JSON.parse(atob(payload)).removal).toEqual(removal);
    const html = await world.get(`/v1/verify/${version.record_id}?origin=${version.origin}&format=html`);
    expect(html.text).toContain(action === "delete" ? "Deleted at" : "Withdrawn at");
    expect(html.text).toContain(removal.received_at);
    expect(html.text).toContain(world.business.signingKey.keyId);
  });

  it("what was served before it is within, and what may have been served a moment longer is unknown", async () => {
    const version = await published(`times-${action}`);
    const servedAt = formatTimestamp(Date.now());
    await new Promise((resolve) => setTimeout(resolve, 5));
    await remove(version.record_id, action);
    const received = (await page(version)).removal?.received_at ?? "";
    const checked = async (served_at: string) =>
      ((await page(version, { served_at }))["checks"] as Readonly<Record<string, string>>)["served_at"];
    expect(await checked(servedAt)).toBe("within");
    expect(await checked(received)).toBe("unknown");
    // A second document does not say when a first withdrawal ended the version; of deletions the first one counts.
    await remove(version.record_id, action);
    expect(await checked(servedAt)).toBe(action === "delete" ? "within" : "unknown");
  });

  it("nothing is shown any more once the record was published again", async () => {
    const version = await published(`again-${action}`);
    await remove(version.record_id, action);
    expect((await page(version)).removal).not.toBeNull();
    await published(`again-${action}`);
    expect(await page(version)).toMatchObject({ status: "current", removal: null });
  });

  it("the page answers without it while the home of the business does not answer", async () => {
    const version = await published(`away-${action}`);
    await remove(version.record_id, action);
    const { services, verifyUrl } = world.surfaces;
    const { register, trust } = services;
    const away = new StoreError("not_applied", "the store is away");
    const { answer } = createVerifyPage({
      ...services,
      verifyUrl,
      standings: createStandings({ register, trust }),
      actors: part({ ask: () => Promise.reject(away) }),
    });
    const { record_id: recordId, origin } = version;
    const outcome = await answer({ recordId, origin, cert: null, servedAt: null });
    expect(outcome.kind === "answer" && JSON.parse(String(outcome.body))).toMatchObject({
      status: "withdrawn",
      removal: null,
      valid: true,
    });
  });
});

it("a version that was deleted stays deleted, whatever is published, withdrawn or deleted after it", async () => {
  const first = await published("stays");
  const second = await published("stays", { product_name: "Second" });
  const { record_id } = first;
  const deletion = await remove(record_id, "delete");
  const statuses = async (...versions: readonly (typeof first)[]) =>
    Promise.all(versions.map(async (each) => (await page(each))["status"]));
  expect(await statuses(first, second)).toEqual(["deleted", "deleted"]);
  await remove(record_id, "withdraw");
  expect(await statuses(first, second)).toEqual(["deleted", "deleted"]);
  const third = await published("stays", { product_name: "Third" });
  expect(await statuses(first, second, third)).toEqual(["deleted", "deleted", "current"]);
  const fourth = await published("stays", { product_name: "Fourth" });
  await remove(record_id, "withdraw");
  expect(await statuses(second, third, fourth)).toEqual(["deleted", "withdrawn", "withdrawn"]);
  expect((await page(second)).removal).toMatchObject({ action: "delete", seal: deletion.seal });
  expect((await page(fourth)).removal).toMatchObject({ action: "withdraw" });
  await remove(record_id, "delete");
  expect(await statuses(second, third, fourth)).toEqual(["deleted", "deleted", "deleted"]);
  expect((await page(first)).removal).toMatchObject({ seal: deletion.seal });
});

describe("POST /v1/verify of the document on the page", () => {
  async function verified(sealed: { readonly document: Uint8Array; readonly seal: object }) {
    const body = JSON.stringify({ record_base64: toBase64(sealed.document), seal: sealed.seal });
    const answer = await send(world.surfaces.verifyUrl, null, { path: "/v1/verify", body });
    return assertReadable(world.trust, answer).json;
  }
  const unpublished = expect.arrayContaining([expect.stringContaining("not published")]);
  const sealedFor = (record_id: string, action: "withdraw" | "delete") =>
    sealRemoval(world.business, { record_id, action }, world.business.signingKey, { ai_policy_version: 1 });

  it("finds its seal valid, and says if the service never took it", async () => {
    const { record_id } = await published("document");
    const given = await remove(record_id, "withdraw");
    const taken = await verified(given);
    expect(taken).toMatchObject({
      valid: true,
      seal: {
        valid: true,
        record_type: "products",
        hash: hashOf(given.document),
        checks: { certificate: "ok", ai_policy: "ok", scope: "ok" },
      },
    });
    expect(taken["warnings"]).not.toEqual(unpublished);
    const kept = await verified(await sealedFor(record_id, "delete"));
    expect(kept).toMatchObject({ valid: true, warnings: unpublished });
    // The service knows the document, and not this seal over it.
    const { document } = given;
    const claims = { ai_policy_version: 1, document, sealed_at: formatTimestamp(Date.now() + 1) };
    const again = await sealRemoval(world.business, { record_id }, world.business.signingKey, claims);
    expect(await verified(again)).toMatchObject({ valid: true, warnings: unpublished });
    const other = await sealedFor(record_id, "delete");
    expect(await verified({ ...given, document: other.document })).toMatchObject({
      seal: { valid: false, reason: "hash_mismatch" },
    });
  });

  it("after its key was revoked, only what the service took before is valid", async () => {
    const { record_id } = await published("ended");
    const given = await remove(record_id, "withdraw");
    const kept = await sealedFor(record_id, "delete");
    const { services } = world.surfaces;
    const revoked_at = formatTimestamp(Date.now() + 1);
    const { key_id, party_uuid: uuid } = world.business.key;
    await services.parties.revokeKey({ uuid, key_id, revoked_at, compromised_from: null });
    await registerInForce(services);
    expect(await verified(given)).toMatchObject({ valid: true });
    expect(await verified(kept)).toMatchObject({ seal: { valid: false, reason: "key_not_valid" } });
  });
});

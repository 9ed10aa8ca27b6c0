import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hashOf } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { collectionNames, formatTimestamp } from "../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../protocol/json/canonical-json.ts";
import { projectionDocument } from "../protocol/projection/project.ts";
import { sampleRecords } from "../protocol/records/records.fixture.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { openBusiness } from "../stories/publishing/publishing.fixture.ts";
import { verifyBusinessKeys, verifyKeyCustody } from "../verifier/business-keys.ts";
import { certificateEnvelopes, verifyCertificates } from "../verifier/certificate.ts";
import { companyUuid, nobody, openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { send } from "./surfaces.fixture.ts";

let world: Verifiable;

beforeAll(async () => {
  world = await openVerifiable();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

describe("the reads of a business", () => {
  it("give a certificate that verifies under the anchors", async () => {
    const answer = await world.get(`/v1/certificates/${world.business.party.uuid}`);
    expect(answer.json).toMatchObject({
      subject: {
        kind: "business",
        uuid: world.business.party.uuid,
        legal_name: "Diamonds Ltd",
        country: "GB",
      },
      status: "active",
      cert_id: world.business.certId,
      history: [],
      statement: expect.stringContaining("Diamonds Ltd"),
    });
    const envelopes = certificateEnvelopes(rubbish(answer.json));
    expect(
      envelopes.ok && verifyCertificates(world.trust, world.business.party.uuid, envelopes.value),
    ).toMatchObject({
      ok: true,
    });
  });

  it("give the history newest first once another certificate is issued", async () => {
    const { services } = world.surfaces;
    const uuid = "00000000-0000-4000-8000-0000000000aa";
    await openBusiness(services, uuid);
    const facts = {
      uuid,
      kind: "business",
      legal_name: "Diamonds Ltd",
      country: "GB",
      verified_since: formatTimestamp(Date.now()),
    } as const;
    const from = formatTimestamp(Date.now());
    await services.parties.issueCertificate({
      ...facts,
      status: "withdrawn",
      status_effective_from: from,
      status_reason: "approval_reversed",
    });
    /** The register follows what was issued, which takes a moment. */
    const readOnce = (status: string) =>
      vi.waitFor(
        async () => {
          const answer = await world.get(`/v1/certificates/${uuid}`);
          expect(answer.json).toMatchObject({ status });
          return answer;
        },
        { timeout: 10_000 },
      );
    const answer = await readOnce("withdrawn");
    expect(answer.json).toMatchObject({
      status: "withdrawn",
      status_reason: "approval_reversed",
      history: [{ status: "active" }],
    });
    const since = formatTimestamp(Date.now());
    const active = { ...facts, status: "active", status_effective_from: since, status_reason: null } as const;
    const newest = await services.parties.issueCertificate(active);
    const again = await readOnce("active");
    const first = answer.json["history"] as readonly { readonly cert_id: string }[];
    const ids = [newest, answer.json["cert_id"], first[0]?.cert_id];
    const listed = again.json["history"] as readonly { readonly cert_id: string }[];
    expect([again.json["cert_id"], ...listed.map((each) => each.cert_id)]).toEqual(ids);
    expect(again.json).toMatchObject({
      status: "active",
      history: [{ status: "withdrawn" }, { status: "active" }],
    });
    const page = await world.get(`/v1/certificates/${uuid}?format=html`);
    expect(ids.map((id) => page.text.indexOf(String(id)))).toEqual(
      ids.map((id) => page.text.indexOf(String(id))).toSorted((a, b) => a - b),
    );
    for (const id of ids) expect(page.text).toContain(id);
    const whole = certificateEnvelopes(rubbish(again.json));
    const verified = whole.ok && verifyCertificates(world.trust, uuid, whole.value);
    expect(verified).toMatchObject({ ok: true, value: { issuances: ids.map((certId) => ({ certId })) } });
    const envelopes = certificateEnvelopes(rubbish(answer.json));
    expect(envelopes.ok && verifyCertificates(world.trust, uuid, envelopes.value)).toMatchObject({
      ok: true,
    });
  });

  it("say on every page of a sandbox that it is one", async () => {
    const { business, row } = world;
    const certificates = "/v1/certificates";
    const record = `/v1/verify/${row["record_id"]}?format=html&origin=`;
    for (const path of [
      `${certificates}/${business.party.uuid}?format=html`,
      `${certificates}/${nobody}?format=html`,
      `${record}${row["adl_origin"]}`,
      `${record}sha256:${"0".repeat(64)}`,
      record,
    ]) {
      const { text } = await world.get(path);
      expect(text, path).toMatch(/<main>.*This is a page of a sandbox\..*<h1>/s);
    }
  });

  it("give a page to a person, without script, with everything escaped", async () => {
    const uuid = "00000000-0000-4000-8000-0000000000bb";
    const facts = { uuid, kind: "business", legal_name: '<script>"&', country: "GB" } as const;
    await world.surfaces.services.parties.open({ ...facts, group: uuid, blocked_groups: [] });
    const at = formatTimestamp(Date.now());
    await world.surfaces.services.parties.issueCertificate({
      ...facts,
      verified_since: at,
      status: "active",
      status_effective_from: at,
      status_reason: null,
    });
    for (const answer of [
      await world.get(`/v1/certificates/${uuid}?format=html`),
      await world.get(`/v1/certificates/${uuid}`, { accept: "text/html,*/*" }),
    ]) {
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("vary")).toBe("accept");
      expect(answer.text).toContain("&lt;script>&quot;&amp;");
      expect(answer.text).not.toMatch(/<script/i);
    }
    const json = await world.get(`/v1/certificates/${uuid}?format=json`, { accept: "text/html" });
    expect(json.json).toMatchObject({ subject: { legal_name: '<script>"&' } });
    const refused = await world.get(`/v1/certificates/${uuid}`, { accept: "text/html;q=0, */*" });
    expect(refused.headers.get("content-type")).toMatch(/^application\/json/);
  });

  it("give its keys, signed, and nothing of other roles", async () => {
    const answer = await world.get(`/v1/certificates/${world.business.party.uuid}/keys`);
    const verified = verifyBusinessKeys(world.trust, world.business.party.uuid, answer.json as JsonValue);
    expect(verified).toMatchObject({ ok: true, value: { cert_id: world.business.certId } });
    expect(verified.ok && verified.value.keys.map((key) => key.kind).sort()).toEqual(["hosted", "system"]);
    expect(verified.ok && verified.value.keys).toEqual(answer.json["keys"]);
    // Signed once for all who read it.
    const again = await world.get(`/v1/certificates/${world.business.party.uuid}/keys`);
    expect(again.text).toBe(answer.text);
  });

  it.each(["/.well-known/keys", "/.well-known/svc-keys"])(
    "need not be read again: %s has a tag",
    async (path) => {
      const etag = (await world.get(path)).headers.get("etag") ?? "";
      const held = await world.get(path, { "if-none-match": etag });
      expect([held.status, held.text, held.headers.get("etag")]).toEqual([304, "", etag]);
      expect((await world.get(path, { "if-none-match": '"sha256:other"' })).status).toBe(200);
    },
  );

  it("give custody statements that verify", async () => {
    const signer = await world.surfaces.services.hostedSigner(world.business.party.uuid);
    const at = formatTimestamp(Date.now());
    await world.surfaces.services.parties.stateCustody({
      uuid: world.business.party.uuid,
      key_id: signer.keyId,
      custody: "hosted",
      effective_from: at,
    });
    const answer = await world.get(`/v1/certificates/${world.business.party.uuid}/key-custody`);
    const statements = answer.json["statements"] as {
      readonly statement: JsonValue;
      readonly key_id: string;
    }[];
    expect(statements.length).toBeGreaterThan(0);
    for (const each of statements)
      expect(verifyKeyCustody(world.trust, each.statement)).toMatchObject({
        ok: true,
        value: { key_id: each.key_id },
      });
  });

  it.each(["", "/keys", "/key-custody"])("of nobody are 404: /v1/certificates/{uuid}%s", async (suffix) => {
    expect(await world.get(`/v1/certificates/${nobody}${suffix}`)).toMatchObject({
      status: 404,
      json: { code: "not_found" },
    });
    if (suffix !== "")
      expect(await world.get(`/v1/certificates/${companyUuid}${suffix}`)).toMatchObject({ status: 404 });
  });

  it("of nobody are a page to a person", async () => {
    const answer = await world.get(`/v1/certificates/${nobody}`, { accept: "text/html" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  });
});

describe("the reads of the service", () => {
  it.each([
    ["/.well-known/keys", { signed: { payloadType: payloadTypes["key-set.v1"] } }],
    [
      "/.well-known/svc-keys",
      { v: 1, companies: [], statement: { payloadType: payloadTypes["key-directory.v1"] } },
    ],
    [
      "/v1/projections/products/1",
      { version: "products/1", sha256: expect.stringMatching(/^sha256:/), unsigned_fields: ["adl_row_sig"] },
    ],
    [
      "/v1/ai-policy-key",
      {
        current_ai_policy_schema: 2,
        blocked: expect.arrayContaining([expect.objectContaining({ code: "bc2", name: "alcohol" })]),
      },
    ],
    ["/v1/vocabularies/countries", { name: "countries", version: 1 }],
  ])("%s", async (path, members) => {
    expect(await world.get(path)).toMatchObject({ status: 200, json: members });
    expect((await send(world.surfaces.retrievalUrl, null, { path })).json).toMatchObject(members);
  });

  it.each([
    "/v1/projections/products/2",
    "/v1/projections/products/0",
    "/v1/projections/Products/1",
    "/v1/log/checkpoint",
    "/v1/vocabularies/dragons",
    "/v1/vocabularies/countries?version=9",
  ])("%s is 404", async (path) => {
    expect(await world.get(path)).toMatchObject({ status: 404, json: { code: "not_found" } });
  });

  it("a vocabulary is answered 304 to whoever has it", async () => {
    const etag = (await world.get("/v1/vocabularies/currencies")).headers.get("etag") ?? "";
    const again = await world.get("/v1/vocabularies/currencies", { "if-none-match": etag });
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
  });

  it.each([
    ["/v1/vocabularies/countries?version=0", "/query/version", undefined],
    ["/v1/vocabularies/countries?verison=1", "/query", "version"],
    [`/v1/certificates/${nobody}?format=pdf`, "/query/format", undefined],
  ])("%s is refused", async (path, pointer, suggestion) => {
    const answer = await world.get(path);
    expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid", pointer } });
    expect(answer.json["suggestion"]).toBe(suggestion);
  });
});

it("an address that is not there may be read by any origin too", async () => {
  const answer = await world.get("/v1/nowhere");
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([404, "*"]);
});

it.each(["/v1/certificates/%zz", `/v1/certificates/${"a".repeat(2_000)}`])(
  "an address that cannot be read may be read by any origin: %s",
  async (path) => {
    const answer = await world.get(path);
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([400, "*"]);
  },
);

it("a method that is not allowed is told to any origin on both hosts", async () => {
  for (const base of [world.surfaces.verifyUrl, world.surfaces.retrievalUrl]) {
    const answer = await send(base, null, { path: "/v1/verify", method: "PUT" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([405, "*"]);
  }
  const signed = await send(world.surfaces.retrievalUrl, null, { path: "/v1/search", method: "PUT" });
  expect([signed.status, signed.headers.get("access-control-allow-origin")]).toEqual([405, null]);
});

describe("the JSON Schemas of records", () => {
  it.each([...collectionNames, "ai_policy"])(
    "%s is served, and takes what is published under it",
    async (type) => {
      const answer = await world.get(`/v1/schemas/${type}/1`);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/schema+json"]);
      const takes = new Ajv2020({ strict: true, validateFormats: false }).compile(answer.json);
      const sample =
        type === "ai_policy"
          ? JSON.parse(new TextDecoder().decode(world.policy.record))
          : sampleRecords[type as (typeof collectionNames)[number]];
      expect(takes(sample)).toBe(true);
      expect(takes({ ...sample, more: 1 })).toBe(false);
    },
  );

  it.each(["products/2", "ads/2", "products/01"])("%s is none", async (name) => {
    const { status, json } = await world.get(`/v1/schemas/${name}`);
    expect([status, json["code"]]).toEqual([404, "not_found"]);
    expect(json["allowed"]).toContain("products/1");
  });
});

describe("the projections", () => {
  it("have the hashes that docs/choices.md promises for ever, and no version is missing there", async () => {
    const choices = await readFile(new URL("../docs/choices.md", import.meta.url), "utf8");
    const promised = [...choices.matchAll(/^\| `([a-z_]+\/[0-9]+)` \| `(sha256:[0-9a-f]{64})` \|$/gm)];
    const published: (readonly [string, string])[] = [];
    for (const collection of [...collectionNames, "ads"]) {
      for (let number = 1; projectionDocument(collection, number) !== null; number += 1) {
        const { json } = await world.get(`/v1/projections/${collection}/${number}`);
        const { sha256, ...rest } = json as JsonObject;
        expect(hashOf(canonicalBytes(rest))).toBe(sha256);
        published.push([`${collection}/${number}`, String(sha256)]);
      }
    }
    expect(promised.map(([, version, hash]) => [version, hash]).sort()).toEqual(published.sort());
  });
});

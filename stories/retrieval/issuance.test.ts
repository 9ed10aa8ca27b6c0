// Every verifier can read what the service signs into its register; anything else is refused and not issued.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CertificateRequest, RegisterRefused } from "../../service/register/parties.ts";
import {
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  type TestBusiness,
} from "../publishing/publishing.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";

let node: PublishingNode;
let business: TestBusiness;

beforeAll(async () => {
  node = await openPublishingNode();
  business = await openBusiness(node.services);
});
afterAll(() => node.close());

const request = (changes: Partial<CertificateRequest>): CertificateRequest => ({
  uuid: business.party.uuid,
  kind: "business",
  legal_name: business.party.legal_name,
  country: "GB",
  verified_since: "2026-01-01T00:00:00.000Z",
  status: "withdrawn",
  status_effective_from: "2026-02-01T00:00:00.000Z",
  status_reason: "approval_reversed",
  ...changes,
});

describe("a certificate", () => {
  it.each<readonly [string, Partial<CertificateRequest>, string]>([
    ["withdrawn for no reason", { status_reason: null }, "/status_reason"],
    ["active, with a reason", { status: "active" }, "/status_reason"],
    ["for a reason in words", { status_reason: "We were wrong." }, "/status_reason"],
    ["for no name", { legal_name: "" }, "/legal_name"],
    ["for a country that is none", { country: "gb" }, "/country"],
    [
      "effective from an instant without milliseconds",
      { status_effective_from: "2026-02-01T00:00:00Z" },
      "/status_effective_from",
    ],
  ])("%s is refused and not issued", async (_what, changes, pointer) => {
    const { register, parties } = node.services;
    const before = await register.certificates(business.party.uuid);
    const refused = await parties.issueCertificate(request(changes)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RegisterRefused);
    expect(refused).toMatchObject({ code: "payload_malformed", message: expect.stringContaining(pointer) });
    await registerInForce(node.services);
    expect(await register.certificates(business.party.uuid)).toEqual(before);
  });

  it("that can be read is issued", async () => {
    const id = await node.services.parties.issueCertificate(request({}));
    const { register } = node.services;
    // The register is updated after the answer.
    for (let newest = ""; newest !== id; ) {
      await new Promise(setImmediate);
      newest = (await register.certificates(business.party.uuid))[0]?.cert_id ?? "";
    }
  });
});

describe("a certificate that is asked for again", () => {
  it("is the one in force, unless it says something else of the company", async () => {
    const { parties } = node.services;
    const named = await openBusiness(node.services, "00000000-0000-4000-8000-000000000003", "Marram Ltd");
    const active = { ...request({}), uuid: named.party.uuid, status: "active", status_reason: null } as const;
    const first = await parties.issueCertificate({ ...active, legal_name: "Marram Ltd" });
    expect(await parties.issueCertificate({ ...active, legal_name: "Marram Ltd" })).toBe(first);
    const ids = [first];
    for (const changes of [
      { legal_name: "Marram Grass Ltd" },
      { country: "IE" },
      { verified_since: "2025-12-01T00:00:00.000Z" },
    ])
      ids.push(await parties.issueCertificate({ ...active, legal_name: "Marram Ltd", ...changes }));
    expect(new Set(ids).size).toBe(ids.length);
    const { certificate } = await parties.facts(named.party.uuid, "");
    expect(certificate?.cert_id).toBe(ids.at(-1));
  });
});

describe("a custody statement", () => {
  it("that would take effect after it is issued is refused and not issued", async () => {
    const { parties, register } = node.services;
    const statement = { uuid: business.party.uuid, key_id: business.key.key_id, custody: "self" } as const;
    const before = await register.custody(business.party.uuid);
    const effective_from = new Date(Date.now() + 3_600_000).toISOString();
    const refused = await parties
      .stateCustody({ ...statement, effective_from })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RegisterRefused);
    expect(refused).toMatchObject({
      code: "payload_malformed",
      message: expect.stringContaining("/effective_from"),
    });
    await registerInForce(node.services);
    expect(await register.custody(business.party.uuid)).toEqual(before);
    await parties.stateCustody({ ...statement, effective_from: new Date(Date.now() - 1_000).toISOString() });
    while ((await register.custody(business.party.uuid)).length === before.length)
      await new Promise(setImmediate);
  });
});

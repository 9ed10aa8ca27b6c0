// Test support: what a business published, with what a checker holds of it, and how its key or its certificate ends.

import { expect } from "vitest";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { CertificateStatus } from "../protocol/keys/certificate.ts";
import { sealText } from "../service/retrieval/fetched-record.ts";
import {
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import { publishAlone, removeBy, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import type { Verifiable } from "./routes/verification.fixture.ts";
import { type ReceivedAnswer, send } from "./surfaces.fixture.ts";

/** A version, and the document that took it out of serving if there is one, as a checker holds them. */
export interface Held {
  readonly name: string;
  readonly recordId: string;
  readonly bytes: Uint8Array;
  readonly seal: unknown;
  readonly sidecar: unknown;
}

/** What a business published, and the moments before, between and after. */
export interface Story {
  readonly business: TestBusiness;
  readonly held: readonly Held[];
  readonly moments: readonly [before: string, between: string, after: string];
  readonly removal: { readonly document: Uint8Array; readonly seal: object };
}

/** Stories in the world that is open when each of them is told. */
export function storiesIn(worldNow: () => Verifiable) {
  /** A whole verification, as its statement signs it. */
  async function statementOf(document: object): Promise<ReceivedAnswer["json"]> {
    const body = JSON.stringify(document);
    return (await send(worldNow().surfaces.verifyUrl, null, { path: "/v1/verify", body })).json;
  }
  async function endKey({ business }: Story, compromised_from: string | null, key_id = business.key.key_id) {
    const { services } = worldNow().surfaces;
    const revoked_at = formatTimestamp(Date.now());
    await services.parties.revokeKey({ uuid: business.party.uuid, key_id, revoked_at, compromised_from });
    await registerInForce(services);
  }

  async function endCertificate(
    { business }: Story,
    status: Exclude<CertificateStatus, "active">,
    status_effective_from: string,
  ) {
    const { services } = worldNow().surfaces;
    const { uuid, legal_name, country } = business.party;
    await services.parties.issueCertificate({
      uuid,
      kind: "business",
      legal_name,
      country,
      verified_since: "2025-01-01T00:00:00.000Z",
      status,
      status_effective_from,
      status_reason: "decided",
    });
    await registerInForce(services);
  }
  return { tellStory: () => tellStory(worldNow()), statementOf, endKey, endCertificate };
}

let opened = 0;

async function tellStory({ surfaces }: Verifiable): Promise<Story> {
  opened += 1;
  const { services } = surfaces;
  const uuid = `00000000-0000-4000-8000-0000000007${String(opened).padStart(2, "0")}`;
  const business = await openBusiness(services, uuid, `Standing ${opened} Ltd`);
  const { party, certId, signingKey } = business;
  const held: Held[] = [];
  const hold = async (name: string, recordId: string) => {
    const served = await services.records.readServed(recordId);
    if (served === null) throw new Error(`${name} is not served.`);
    const { version, seal } = served;
    const documents = { seal: JSON.parse(sealText(version, seal)), sidecar: JSON.parse(version.sidecar) };
    held.push({ name, recordId, bytes: version.bytes, ...documents });
  };
  const id = (name: string) => services.recordIdOf(uuid, "products", name);
  const now = async () => {
    const at = Date.now();
    while (Date.now() < at + 3) await new Promise(setImmediate);
    const moment = formatTimestamp(at + 1);
    while (Date.now() < at + 6) await new Promise(setImmediate);
    return moment;
  };
  const before = await now();
  const names = ["current", "superseded", "removed"];
  await sealAndPublish(
    services,
    business,
    names.map((name) => product(name)),
    { seq: 1 },
  );
  for (const name of names) await hold(name, id(name));
  const between = await now();
  await sealAndPublish(services, business, [product("superseded", { brand: "New" })], { seq: 2 });
  await hold("superseding", id("superseded"));
  await hold(
    "alone",
    await publishAlone(services, { party, certId }, "products", { business_product_id: "b" }),
  );
  const removal = await sealRemoval(business, { record_id: id("removed"), action: "withdraw" }, signingKey);
  expect(await removeBy(services, business, "withdraw", removal)).toMatchObject({ status: 200 });
  return { business, held, removal, moments: [before, between, await now()] };
}

// A business that came in by the portal, with its owner. For tests.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { generatePrivateJwk, parseSigningKey, proveToOperator } from "../../client/signing-key.ts";
import { recordFields } from "../../portal/pages/record-form.ts";
import { controlsIn, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import { businessIn, type FileReport, verifyAnyFile } from "../../verifier/any-file.ts";

export const act = { by: "Olga", reason: "Seen." };

/** A business or an AI company that came in, and its owner. */
export interface Owned {
  readonly owner: Visitor;
  readonly uuid: string;
  readonly certId: string;
  readonly personId: string;
}

/** A business that came in, and its owner. */
export async function newBusinessAt(portal: PortalNode, name: string): Promise<Owned> {
  const owner = Visitor.of(portal);
  await owner.signUp();
  await owner.apply(name);
  return approvedAt(portal, owner);
}

/** An AI company that waits for the operators. */
export async function companyAppliedAt(portal: PortalNode, legal_name: string): Promise<Visitor> {
  const owner = Visitor.of(portal);
  await owner.signUp();
  const form = (await owner.get("/apply")).form("/apply");
  const asked = await owner.send(form, { kind: "ai_company", legal_name, country: "GB" });
  await owner.confirm(asked.form("/confirm"));
  return owner;
}

/** What the person applied for first. */
export async function appliedBy({ node }: PortalNode, { personId }: Visitor): Promise<string> {
  const person = { kind: "person", id: personId } as const;
  const report = await node.services.actors.ask(person, { type: "person.read" });
  return report?.businesses[0] ?? "";
}

/** Lets in what the person applied for first. */
export async function approvedAt(portal: PortalNode, owner: Visitor): Promise<Owned> {
  const uuid = await appliedBy(portal, owner);
  const status = await decideAt(portal, uuid, "approve");
  if (status !== 200) throw new Error(`The approval was answered ${status}.`);
  const { certificate } = await portal.node.services.parties.facts(uuid, "");
  return { owner, uuid, personId: owner.personId, certId: certificate?.cert_id ?? "" };
}

/** An operator's decision; returns the status of the answer. */
export async function decideAt(
  { node }: PortalNode,
  uuid: string,
  what: "approve" | "refuse",
  members: object = {},
): Promise<number> {
  const token = (await readFile(join(node.config.home, "ops-token"), "utf8")).trim();
  const { status } = await fetch(`${node.urls.ops_url}/ops/applications/${uuid}/${what}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Basic ${btoa(`Olga:${token}`)}` },
    body: JSON.stringify({ reason: act.reason, ...members }),
  });
  await node.services.register.refresh();
  return status;
}

/** A new key of the party's own system, with what `svc prove-key` prints for it. */
export async function provenKey(
  { uuid, certId }: Pick<Owned, "uuid" | "certId">,
  role: "integration" | "retrieval" = "integration",
) {
  const jwk = await generatePrivateJwk("Ed25519");
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new Error(key.detail);
  const proof = await proveToOperator(key.value, { uuid, role, certId });
  if (!proof.ok) throw new Error(proof.detail);
  return { jwk, key_id: key.value.keyId, printed: JSON.stringify(proof.value) };
}

/** Registers a key on the page of its party, which is shown after. */
export async function registerKeyAt(
  portal: PortalNode,
  owned: Owned,
  key: Awaited<ReturnType<typeof provenKey>>,
) {
  const { owner, uuid } = owned;
  const page = await owner.get(`/businesses/${uuid}`);
  const asked = await owner.send(page.form("/keys/register"), { proven: key.printed });
  const after = await owner.confirm(asked.form("/confirm"));
  await portal.node.services.register.refresh();
  return { ...key, asked, after };
}

export const mandate = {
  type_products: "on",
  countries: "GB, US, CA",
  records_per_hour: "1000",
  bytes_per_day: "1000000",
  days: "30",
  sources: "",
};

/** The page with the words of a mandate for the first key of the business. */
export async function showMandate({ owner, uuid }: Owned, written: object = {}) {
  const shown = await owner.get(`/businesses/${uuid}`);
  const [, key_id = ""] = /<option value="([^"]+)"/.exec(shown.html) ?? [];
  return owner.send(shown.form("/mandates/make"), { key_id, ...mandate, ...written });
}

/** What a person writes into the form of a type. */
export function writtenInto(type: CollectionName, record: JsonObject): Readonly<Record<string, string>> {
  const shown = { members: recordTypes[type].members, record, faults: [] };
  return controlsIn(renderToString(h("form", null, recordFields(shown))));
}

/** The page with the words of a record that is about to be sealed. */
export async function writeRecord({ owner, uuid }: Owned, type: CollectionName, record: JsonObject) {
  const page = await owner.get(`/businesses/${uuid}/new/${type}`);
  return owner.send(page.form("/records/make"), writtenInto(type, record));
}

/** The id of the record that a page says is published. */
export const idIn = ({ html }: Seen): string =>
  /<code>([a-z]+_[0-9a-z]+)<\/code>/.exec(html)?.[1] ?? html.slice(0, 2_000);

export const spareOwner = "10000000-0000-4000-8000-000000000009";

/** Gives the owner another role; somebody else is the owner then. */
export async function setRoleAt(portal: PortalNode, { uuid, personId }: Owned, role: MemberRole | null) {
  const { actors } = portal.node.services;
  const spare = { person_id: spareOwner, role: "owner", act } as const;
  await actors.ask(businessRef(uuid), { type: "member.set", ...spare });
  const member = await actors.ask(businessRef(uuid), { type: "member.read", person_id: personId });
  const revokes = member?.sealing?.key_id;
  const named = revokes === undefined ? {} : { revokes };
  return actors.ask(businessRef(uuid), { type: "member.set", person_id: personId, role, act, ...named });
}

/** The pages and forms of the portal, as `get /account`, by its own description. */
export async function portalRoutes({ url }: PortalNode): Promise<readonly string[]> {
  const described = await (await fetch(`${url}/openapi.json`)).json();
  const { paths } = described as { readonly paths: Readonly<Record<string, object>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
}

/** The text of HTML. */
export function unescaped(html: string): string {
  return html
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** The texts of the cells of a table of a page, row by row. */
export function cellsOf(html: string, table: number): readonly (readonly string[])[] {
  const [, rows = ""] = [...html.matchAll(/<tbody>(.*?)<\/tbody>/gs)][table] ?? [];
  return [...rows.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = ""]) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) =>
      unescaped(cell.replaceAll(/<[^>]*>/g, "")),
    ),
  );
}

/** What the page that verifies says of a file, by what it asks its host for (api/pages/browser/verify.ts). */
export async function verifiedOnPage({ node }: PortalNode, file: object): Promise<FileReport> {
  const bytes = utf8(JSON.stringify(file));
  const about = `/v1/certificates/${businessIn(bytes)}`;
  const [keySet = null, businessKeys = null, certificate = null] = await Promise.all(
    ["/.well-known/keys", `${about}/keys`, about].map(
      async (path) => (await (await fetch(`${node.urls.verify_url}${path}`)).json()) as JsonValue,
    ),
  );
  const { anchors } = node.services;
  const at = new Date().toISOString();
  return verifyAnyFile({ anchors, keySet, businessKeys, certificate, at }, bytes);
}

// A business that came in by the portal, with its owner. For tests.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { type PortalNode, Visitor } from "../../portal/portal.fixture.ts";

export const act = { by: "Olga", reason: "Seen." };

export interface Owned {
  readonly owner: Visitor;
  readonly uuid: string;
  readonly certId: string;
  readonly personId: string;
}

/** A business that came in, and its owner. */
export async function newBusinessAt(portal: PortalNode, name: string): Promise<Owned> {
  const owner = new Visitor(portal.url);
  await owner.signUp();
  await owner.apply(name);
  const [, personId = ""] = /^([0-9a-f-]{36})\./.exec(owner.cookies.get("svc_portal") ?? "") ?? [];
  const { actors, register, parties } = portal.node.services;
  const report = await actors.ask({ kind: "person", id: personId }, { type: "person.read" });
  const uuid = report?.businesses[0] ?? "";
  const token = (await readFile(join(portal.node.config.home, "ops-token"), "utf8")).trim();
  const approved = await fetch(`${portal.node.urls.ops_url}/ops/applications/${uuid}/approve`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Basic ${btoa(`Olga:${token}`)}` },
    body: JSON.stringify({ reason: act.reason }),
  });
  if (approved.status !== 200) throw new Error(await approved.text());
  await register.refresh();
  const { certificate } = await parties.facts(uuid, "");
  return { owner, uuid, personId, certId: certificate?.cert_id ?? "" };
}

/** Gives the owner another role; somebody else is the owner then. */
export async function setRoleAt(portal: PortalNode, { uuid, personId }: Owned, role: MemberRole | null) {
  const { actors } = portal.node.services;
  const spare = { person_id: "10000000-0000-4000-8000-000000000009", role: "owner", act } as const;
  await actors.ask(businessRef(uuid), { type: "member.set", ...spare });
  const member = await actors.ask(businessRef(uuid), { type: "member.read", person_id: personId });
  const revokes = member?.sealing?.key_id;
  const named = revokes === undefined ? {} : { revokes };
  return actors.ask(businessRef(uuid), { type: "member.set", person_id: personId, role, act, ...named });
}

/** The text of HTML. */
export function unescaped(html: string): string {
  return html
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

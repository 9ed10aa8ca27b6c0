// What each role may ask for, by every page and form of the portal. One that is in no list here is for those who bind the party alone.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { MemberRole } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import {
  act,
  approvedAt,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  portalRoutes,
  setRoleAt,
  spareOwner,
} from "./business.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

/** They are of no party, or of one that is named only in what a passkey or a terminal signed; who may do that is asked there. */
const ofOneself =
  /^.*\/(?:sign-\w+(?:\/passkey)?|account|leave|confirm|mail|asked|invitation|mail\/remove)$|^\w+ \/(?:$|sessions|passkeys|apply|applications|recover|sealing\/(?:passkey|register)|assets|openapi|\.well-known)/;
const forEverybody = new Set([
  "get /businesses/{named}",
  "get /people/{named}",
  "get /businesses/{named}/ai-policy",
  "get /businesses/{named}/records",
  "get /businesses/{named}/holds",
  "get /businesses/{named}/pushes",
  "get /businesses/{named}/pushes/state",
  "get /businesses/{named}/pushes/{inner}",
  "get /businesses/{named}/pushes/{inner}/state",
  "get /businesses/{named}/asking",
  "post /asking",
  "get /businesses/{named}/campaigns",
  "get /campaigns/{named}",
  "get /businesses/{named}/blocks",
  "get /businesses/{named}/domains",
  "get /companies/{named}",
  "get /companies/{named}/terms",
  "get /companies/{named}/statements",
  "get /companies/{named}/statements/{inner}",
  "get /companies/{named}/statements/{inner}/json",
  "get /companies/{named}/statements/{inner}/csv",
  "post /companies/usage",
  "post /companies/receipts",
]);
const forDevelopers = new Set([
  "post /keys/register",
  "post /keys/revoke",
  "post /records/edit",
  "post /domains/look",
  "post /ads/new",
  "post /ads/edit",
  "post /ads/sponsor",
]);

/** The routes that are refused because a role is too low. */
async function refusedTo(owned: Owned, role: MemberRole): Promise<readonly string[]> {
  const { owner, uuid } = owned;
  const { actors, clock } = portal.node.services;
  await setRoleAt(portal, owned, role);
  const member = new Visitor(portal.url, owner.authenticator);
  const [own] = owner.authenticator.passkeys;
  await member.signIn(own && { passkey: own });
  const form_code = (await member.get("/account")).form("/sign-out").fields["form_code"] ?? "";
  const other = { type: "invitation.set", id: "i", role: "viewer", person_id: spareOwner, act } as const;
  await actors.ask(businessRef(uuid), { ...other, until_ms: clock.now() + 60_000 });
  const written = {
    uuid,
    form_code,
    type: "updates",
    role: "viewer",
    person_id: spareOwner,
    invitation: "i",
  };
  const refused: string[] = [];
  for (const route of await portalRoutes(portal)) {
    const [method = "", path = ""] = route.split(" ");
    if (ofOneself.test(route)) continue;
    const at = path.replace("{named}", uuid);
    const { status } = await (method === "get" ? member.get(at) : member.post(at, written));
    if (status === 403) refused.push(route);
  }
  return refused;
}

it.each(["viewer", "developer"] as const)(
  "a %s is refused whatever their role does not give",
  async (role) => {
    const business = await newBusinessAt(portal, `Roles of a ${role} Ltd`);
    const company = await approvedAt(portal, await companyAppliedAt(portal, `Company of a ${role} Ltd`));
    const may = (route: string) =>
      forEverybody.has(route) || (role === "developer" && forDevelopers.has(route));
    const all = (await portalRoutes(portal)).filter((route) => !ofOneself.test(route));
    const refused = [...(await refusedTo(business, role)), ...(await refusedTo(company, role))];
    expect(all.filter((route) => !may(route) && !refused.includes(route))).toEqual([]);
    expect(refused.filter(may)).toEqual([]);
  },
);

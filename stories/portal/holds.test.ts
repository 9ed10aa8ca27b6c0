// Held pushes at the portal: people see what would change, and an owner or admin confirms or rejects it with a passkey.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import { openPortalNode, type PortalNode, type ShownForm } from "../../portal/portal.fixture.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import { priced } from "../publishing/hold-decisions.fixture.ts";
import { openBusiness, publish } from "../publishing/publishing.fixture.ts";
import { batchBody } from "../retrieval/attack.fixture.ts";
import { newBusinessAt, type Owned, setRoleAt, unescaped } from "./business.fixture.ts";

let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode();
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

/** A business of which a push is held: a price of one of its 25 products is ten times what it was. */
async function newHeld(name: string) {
  const owned = await newBusinessAt(portal, name);
  const { services } = portal.node;
  const business = await openBusiness(services, owned.uuid, name);
  const catalogue = Array.from({ length: 25 }, (_, at) => priced(`item-${at}`, "10.00"));
  await publish(services, business, (await batchBody(business, catalogue)).body);
  const { body, pushId } = await batchBody(business, [priced("item-3", "99.00")], { seq: 2 });
  await publish(services, business, body);
  return { owned, pushId };
}

const holdsOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/holds`);
const stateOf = async ({ owned, pushId }: Awaited<ReturnType<typeof newHeld>>) => {
  const asked = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
  return (await portal.node.services.actors.ask(pushRef(owned.uuid, pushId), asked))?.state;
};

/** The page with the words of a decision. */
async function shown(owned: Owned, decision: "confirm" | "reject") {
  return owned.owner.send((await holdsOf(owned)).form("/holds/decide"), { decision });
}

describe("a held push", () => {
  it("is shown with what it would change side by side, and confirmed word by word", async () => {
    const held = await newHeld("Confirm Ltd");
    const { owned, pushId } = held;
    const page = await holdsOf(owned);
    const cells = [...page.html.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => cell);
    expect(cells).toEqual(["item-3", "US", "10.00 USD", "99.00 USD", "89"]);
    const words = await shown(owned, "confirm");
    const form = words.form("/records/seal");
    const payload = Uint8Array.fromBase64(form.fields["payload"] ?? "", { alphabet: "base64url" });
    const { crypto } = portal.node.services;
    const said = sealedWords(crypto, payloadTypes["hold-decision.v1"], { payload, document: null });
    expect(said.ok && unescaped(words.html).includes(said.value.join("\n"))).toBe(true);
    const credential = owned.owner.credentialFor(form);
    const done = await owned.owner.send(form, { credential });
    expect(done.html).toContain("The push is confirmed");
    expect(await stateOf(held)).not.toBe("held");
    expect((await holdsOf(owned)).html).toContain("Nothing is held.");
    // A double click is answered again.
    expect((await owned.owner.send(form, { credential })).html).toContain(pushId);
    expect((await owned.owner.get("/account")).html).toContain("decided about a held push");
    const acts = await owned.owner.get(`/businesses/${owned.uuid}/acts`);
    expect(acts.html.match(new RegExp(`confirmed a held push.{1,60}${pushId}`, "gs"))).toHaveLength(1);
  });

  it("is rejected", async () => {
    const held = await newHeld("Reject Ltd");
    const words = await shown(held.owned, "reject");
    expect(words.html).toContain("is rejected: nothing of it is published.");
    const done = await held.owned.owner.answer(words.form("/records/seal"));
    expect(done.html).toContain("nothing of it is published");
    expect(await stateOf(held)).toBe("failed");
  });
});

describe("nothing is decided", () => {
  it("by somebody whose role is too low, for another business, or otherwise than shown", async () => {
    const [mine, theirs] = [await newHeld("Mine Ltd"), await newHeld("Theirs Ltd")];
    const { owner } = mine.owned;
    const page = (await holdsOf(mine.owned)).form("/holds/decide");
    const confirm = (await shown(mine.owned, "confirm")).form("/records/seal");
    const reject = (await shown(mine.owned, "reject")).form("/records/seal");
    expect((await owner.get(`/businesses/${theirs.owned.uuid}/holds`)).status).toBe(404);
    expect((await owner.send(page, { uuid: theirs.owned.uuid, push_id: theirs.pushId })).status).toBe(404);
    expect((await owner.send(page, { push_id: "<b>" })).status).toBe(409);
    const foreign = (await owner.send(page, { push_id: theirs.pushId })).form("/records/seal");
    expect((await owner.answer(foreign)).status).toBe(404);
    const swapped = (form: ShownForm, by: ShownForm) =>
      owner.send(form, { credential: owner.credentialFor(by) });
    expect((await swapped(confirm, reject)).status).toBe(409);
    for (const role of ["developer", "viewer"] as const) {
      await setRoleAt(portal, mine.owned, role);
      expect((await owner.send(page, { decision: "confirm" })).status).toBe(403);
      expect((await owner.answer(confirm)).status).toBe(403);
      const seen = (await holdsOf(mine.owned)).html;
      expect([seen.includes(mine.pushId), seen.includes("/holds/decide")]).toEqual([true, false]);
    }
    expect([await stateOf(mine), await stateOf(theirs)]).toEqual(["held", "held"]);
  });
});

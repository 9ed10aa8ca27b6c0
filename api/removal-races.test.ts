// One withdrawal or deletion that is sent many times at once.

import { afterAll, beforeAll, expect, it } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { publishAlone, removeOver, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import { openSurfaces, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = await openBusiness(surfaces.services);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

it.each(["withdraw", "delete"] as const)(
  "%s under one Idempotency-Key is answered once or told to wait, and accepted once",
  async (action) => {
    const signer = await surfaces.services.hostedSigner(business.party.uuid);
    const record_id = await publishAlone(surfaces.services, business, "events");
    const claims = { record_type: "events" } as const;
    const sealed = await sealRemoval(business, { record_id, action }, signer, claims);
    const headers = { "idempotency-key": `races of ${action}` };
    const send = () =>
      removeOver(surfaces.businessUrl, business, { type: "events", action }, sealed, { headers });
    const answers = await Promise.all(Array.from({ length: 6 }, send));
    const answered = answers.filter(({ status }) => status === 200);
    expect(answered.length).toBeGreaterThan(0);
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.json).toEqual({ record_id, action, live_in: [] });
      else expect(answer).toMatchObject({ status: 409, json: { code: "idempotency_in_progress" } });
    }
    expect((await send()).text).toBe(answered[0]?.text);
    const { places } = await surfaces.services.actors.ask(businessRef(business.party.uuid), {
      type: "removals.list",
      after: 0,
      limit: 10,
    });
    expect(places).toHaveLength(action === "withdraw" ? 1 : 2);
  },
);

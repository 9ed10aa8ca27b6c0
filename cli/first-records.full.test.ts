// Follows docs/first-records.md beside a running sandbox: an AI policy, a business file and an event of a business of one's own.

import { afterAll, beforeAll, expect, it } from "vitest";
import { playedBlocks } from "../node/keys/runbook.fixture.ts";
import { type FollowedCheckout, openFollowedCheckout } from "./running-sandbox.fixture.ts";

const sections = await playedBlocks("first-records.md");
let checkout: FollowedCheckout;

beforeAll(async () => {
  checkout = await openFollowedCheckout(["cli", "tools"]);
});
afterAll(() => checkout?.[Symbol.asyncDispose]());

it("seals and publishes all three as it is printed, and they are found", async () => {
  const scripts = [...sections.values()].flat().map(({ script }) => script);
  expect(scripts).toHaveLength(5);
  const played = await checkout.play(scripts.join(""));
  expect(played.code, played.output).toBe(0);
  expect(played.output).toMatch(/^aip_[a-z2-7]+ {2}version 1 is in force$/m);
  expect(played.output).toMatch(/^bf_[a-z2-7]+ {2}accepted, version 1 {2}https:\/\/crumb\.example\/#us$/m);
  expect(played.output).toMatch(/^evt_[a-z2-7]+ {2}accepted, version 1 {2}sourdough-1@crumb\.example$/m);
  const [, ...listed] = played.output.split("\n").filter((line) => /^(?:bf|evt)_/.test(line));
  expect(listed.length, played.output).toBeGreaterThan(2);
  expect(played.output).toContain("Sourdough for beginners");
});

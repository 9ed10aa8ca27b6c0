// Plays the command of docs/portal.md beside a running sandbox, and looks at the addresses that `npm start` prints.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../tools/process.ts";
import { type FollowedCheckout, openFollowedCheckout } from "./running-sandbox.fixture.ts";

let checkout: FollowedCheckout;
beforeAll(async () => {
  checkout = await openFollowedCheckout(["cli", "tools", "package.json"]);
});
afterAll(() => checkout?.[Symbol.asyncDispose]());

it("runs what is printed", async () => {
  const page = await readFile(join(root, "docs", "portal.md"), "utf8");
  const commands = [...page.matchAll(/`(npm run -s svc -- \w[^`]*)`/g)].map(([, each = ""]) => each);
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) {
    const played = await checkout.play(command);
    expect(played.code, played.output).toBe(0);
  }
  const { portal_url, ops_url } = JSON.parse((await checkout.play("cat .svc/sandbox.json")).output);
  for (const address of [portal_url, `${ops_url}/ui/`]) expect((await fetch(address)).status).toBe(200);
  expect((await checkout.play("test -s .svc/ops-token")).code).toBe(0);
});

// Follows docs/first-push.md beside a running sandbox: products that are sealed and published by curl and by Python.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playedBlocks } from "../node/keys/runbook.fixture.ts";
import type { ProcessResult } from "../tools/process.ts";
import {
  type FollowedCheckout,
  hasShellTools,
  leaveOut,
  openFollowedCheckout,
} from "./running-sandbox.fixture.ts";

const sections = await playedBlocks("first-push.md");
let checkout: FollowedCheckout;

beforeAll(async () => {
  checkout = await openFollowedCheckout(["cli", "tools"]);
});
afterAll(() => checkout?.[Symbol.asyncDispose]());

function scriptOf(title: string, kind = ""): string {
  const chosen = (sections.get(title) ?? []).filter((block) => block.kind === kind);
  if (chosen.length === 0) throw new Error(`docs/first-push.md has no such commands under ${title}`);
  return chosen.map(({ script }) => script).join("");
}

/** Runs a script after the page's start. */
const play = (script: string): Promise<ProcessResult> =>
  checkout.play(`${scriptOf("Start")}${scriptOf("What a push is")}${script}`);

const published = /^accepted svc_[a-z2-7]{26} version 1$/gm;

describe("docs/first-push.md", () => {
  it("publishes with curl, and again as new versions", async ({ skip }) => {
    if (!hasShellTools) {
      leaveOut("curl, jq and openssl are needed for docs/first-push.md");
      return skip();
    }
    const first = await play(scriptOf("curl"));
    expect(first.code, first.output).toBe(0);
    expect(first.output.match(published), first.output).toHaveLength(2);
    const again = await play(scriptOf("curl"));
    expect(again.output.match(/^updated svc_[a-z2-7]{26} version 2$/gm), again.output).toHaveLength(2);
  });

  it("publishes with Python, and what was published is in the catalogue", async ({ skip }) => {
    const installed = await play(scriptOf("Python", "install"));
    if (installed.code !== 0) {
      leaveOut(`cryptography cannot be installed: ${installed.output}`);
      return skip();
    }
    const pushed = await play(scriptOf("Python"));
    expect(pushed.code, pushed.output).toBe(0);
    expect(pushed.output.match(published), pushed.output).toHaveLength(2);
    const listed = await play(scriptOf("What was published"));
    expect(listed.output).toMatch(/ spelt$/m);
    expect(listed.output).toMatch(/ wheat$/m);
  });
});

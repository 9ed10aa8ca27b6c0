// The whole life of a catalogue on a single node with the embedded stores.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { type AttackNode, openAttackNode } from "../retrieval/attack.fixture.ts";
import { filesWithAny } from "../retrieval/files-with.fixture.ts";
import { type StoryPlace, tellPushLife } from "./push-life.fixture.ts";

describe("on the embedded default, a catalogue's life", () => {
  let node: AttackNode;
  let place: StoryPlace;
  beforeAll(async () => {
    process.env["SVC_PURGE_AFTER_HOURS"] = "0";
    node = await openAttackNode({}, { samples: true });
    delete process.env["SVC_PURGE_AFTER_HOURS"];
    const { home } = node.running.config;
    const sandbox = JSON.parse(await readFile(join(home, "sandbox.json"), "utf8")) as Sandbox;
    place = {
      sandbox,
      regions: [sandbox],
      at: { upload: sandbox, import: sandbox, decide: sandbox, remove: sandbox },
      disturb: async () => {},
      settleFiles: async () => {},
      tidyFiles: async () => {},
      filesWith: async (words) =>
        (await filesWithAny(home, words)).map(({ file, words: found }) => `${file}: ${found.join(" ")}`),
      expectedFiles: [/^store\.db/],
    };
  });
  afterAll(() => node?.close());
  tellPushLife(() => place);
});

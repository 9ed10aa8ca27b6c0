// A world that starts where a real node's journal ends.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../actors/messages/refs.ts";
import { formatJournal, type JournalFile, readJournal } from "../service/log/journal-file.ts";
import {
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../stories/publishing/publishing.fixture.ts";
import { mutantNamed } from "./mutants/list.ts";
import { parseJournal } from "./parse-journal.ts";
import { runSeed } from "./run-seed.ts";
import { beforeOf } from "./world/from-journal.ts";

let node: PublishingNode;
let business: TestBusiness;
let journal: JournalFile;

beforeAll(async () => {
  node = await openPublishingNode();
  business = await openBusiness(node.services);
  const { services } = node;
  for (let seq = 1; seq <= 3; seq += 1) {
    const records = Array.from({ length: 8 }, (_, index) => product(`shoe-${index % (4 * seq)}-${seq % 2}`));
    await sealAndPublish(services, business, records, { seq });
  }
  // Staged but never accepted: its process died in between.
  const staged = pushRef(business.party.uuid, "bat_000000000000000000000000").id;
  await services.records.stageLeaves(staged, 0, [product("shoe-9")]);
  const source = { actors: services.actorStore, records: services.records, nowMs: Date.now() };
  journal = parseJournal(formatJournal(await readJournal({ ...source, parties: null })));
});
afterAll(() => node.close());

describe("a journal", () => {
  it("holds what the owners know, whole, and no private key", () => {
    const [owner] = journal.actors.filter(({ kind }) => kind === "business");
    expect(owner?.id).toBe(business.party.uuid);
    expect(journal.actors.filter(({ kind }) => kind === "push")).toHaveLength(3);
    expect(beforeOf(journal).records.size).toBeGreaterThan(8);
    expect(journal.staged).toMatchObject([{ leaves: [product("shoe-9")] }]);
    expect(formatJournal(journal)).not.toContain('\\"d\\":');
  });

  it("is refused when it is something else", () => {
    expect(() => parseJournal("")).toThrow(RangeError);
    expect(() => parseJournal('{"format":"svc journal 2","takenAtMs":1}\n')).toThrow(RangeError);
    expect(() => parseJournal("no JSON\n")).toThrow("line 1");
  });
});

describe("a world that begins with it", () => {
  it("goes on from there, and every invariant that applies holds", async () => {
    let wentOn = 0;
    for (let seed = 1; seed <= 6; seed += 1) {
      const { violations, marks } = await runSeed(seed, { start: journal });
      expect(violations, `seed ${seed}`).toEqual([]);
      wentOn += marks.get("record.went_on") ?? 0;
    }
    // Versions that follow those of the journal.
    expect(wentOn).toBeGreaterThan(0);
  });

  it("is the same every time", async () => {
    const runs = [await runSeed(3, { start: journal }), await runSeed(3, { start: journal })];
    expect(runs[0]?.traceHash).toBe(runs[1]?.traceHash);
  });

  it("shows a guard that is missing", async () => {
    const variation = mutantNamed("chunkAnswerIsForgotten").vary(() => {});
    const broken = new Set<string>();
    for (let seed = 1; seed <= 80 && !broken.has("generations-gapless"); seed += 1) {
      const { violations } = await runSeed(seed, { start: journal, variation });
      for (const { invariant } of violations) broken.add(invariant);
    }
    expect([...broken]).toContain("generations-gapless");
  });
});

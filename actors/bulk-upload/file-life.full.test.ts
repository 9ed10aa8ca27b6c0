// How long uploads and their files live, over a real store and a real folder, and across restarts: nobody calls these actors, only
// their durable timers do.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sha256, utf8 } from "../../protocol/bytes.ts";
import { openUploadsMax } from "../../protocol/limits.ts";
import { leafHash } from "../../protocol/merkle.ts";
import { openFolderStagingArea } from "../../storage/folder/staging-area.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import type { StagingArea } from "../../storage/staging-area.ts";
import { businessActor } from "../business/definition.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { ActorProtocols } from "../messages/kinds.ts";
import { bulkUploadRef, businessRef, pushRef } from "../messages/refs.ts";
import { pushActor } from "../push/definition.ts";
import { ManualTime } from "../system/manual-time.fixture.ts";
import type { LocalActorSystem } from "../system/ports.ts";
import { idle, newProcess } from "../system/processes.fixture.ts";
import { bulkUploadActivities } from "./activities.ts";
import { bulkUploadActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-000000000001";
const upload = bulkUploadRef(business, "bup_1");
const hourMs = 3_600_000;

let home: string;
let time: ManualTime;
let database: SqliteDatabase;
let staging: StagingArea;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "svc-file-life-"));
  time = new ManualTime(Date.UTC(2026, 0, 1));
  database = SqliteDatabase.open(join(home, "store.db"));
  staging = await openFolderStagingArea({
    folder: join(home, "bulk"),
    now: () => time.now(),
    bytesMax: 1_048_576,
  });
});
afterEach(() => {
  database.close();
  rmSync(home, { recursive: true });
});

/** What a push that waits and fails has done outside, and what is not looked at here. */
const otherWork = [
  "projectRegister",
  "removeRecord",
  "purgeRecords",
  "reportStalled",
  "finishPush",
  "recordNotice",
  "mailNotice",
];

const begin = (): LocalActorSystem<ActorProtocols> =>
  newProcess(
    { database, time },
    {
      definitions: [bulkUploadActor, pushActor, businessActor],
      activities: {
        ...bulkUploadActivities({ staging }),
        preparePush: () => new Promise<null>(() => {}),
        ...idle(otherWork),
      },
      waiting: ["preparePush"],
    },
  );

async function uploadTo(system: LocalActorSystem<ActorProtocols>): Promise<void> {
  await time.run(
    system.ask(upload, { type: "upload.issue", record_type: "products", valid_ms: hourMs, key_id: "k" }),
  );
  await time.run(system.ask(upload, { type: "upload.begin", attempt: "first" }));
  const writer = await staging.create("first");
  const bytes = utf8("{}");
  await writer.append([{ bytes, hash: leafHash(bytes, sha256) }]);
  await writer.finish();
}

const finish = {
  type: "upload.finish",
  attempt: "first",
  file: { name: "first", bytes: 2, records: 1, root: "sha256:r", sha256: "sha256:s" },
} as const;

const isKept = async (): Promise<boolean> => (await staging.readHashes("first")) !== null;
const stateOf = async (system: LocalActorSystem<ActorProtocols>): Promise<string | undefined> =>
  (await time.run(system.ask(upload, { type: "upload.read" })))?.state;

it("removes what an upload left that never ended, two hours after it was issued", async () => {
  const first = begin();
  await uploadTo(first);
  await time.run(first.drain(1_000));
  const second = begin();
  await second.start();
  await time.advance(2 * hourMs - 60_000);
  expect(await isKept()).toBe(true);
  await time.advance(hourMs);
  expect(await isKept()).toBe(false);
  expect(await stateOf(second)).toBe("deleted");
});

it("removes a file that was kept for seven days, and fails the push that still waits for it", async () => {
  const first = begin();
  await uploadTo(first);
  await time.run(first.ask(upload, finish));
  const push = pushRef(business, "bat_1");
  const file = { upload_id: "bup_1", name: "first", root: "sha256:r" };
  const facts = pushFacts({ push_id: "bat_1", business_uuid: business, source: "bulk", file });
  const accept = { type: "push.accept", facts, held_reasons: [] } as const;
  await time.run(
    first.ask(push, { ...accept, accept_by_ms: Number.MAX_SAFE_INTEGER, seal_leaf: "sha256:s" }),
  );
  await time.run(first.drain(1_000));
  const second = begin();
  await second.start();
  await time.advance(7 * 24 * hourMs - hourMs);
  expect(await isKept()).toBe(true);
  await time.advance(2 * hourMs);
  expect(await isKept()).toBe(false);
  expect(await stateOf(second)).toBe("deleted");
  const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
  const report = await time.run(second.ask(push, status));
  expect(report).toMatchObject({ state: "failed", error: { code: "upload_expired" } });
  // Every wake of a week is made, which takes a busy machine long.
}, 180_000);

it("keeps the place of a file that was uploaded, and gives back that of an upload that has none", async () => {
  const system = begin();
  await system.start();
  const ask = (upload_id: string) =>
    time.run(
      system.ask(businessRef(business), {
        type: "upload.open",
        upload_id,
        until_ms: time.now() + 2 * hourMs,
      }),
    );
  for (let index = 1; index <= openUploadsMax; index += 1)
    expect(await ask(`bup_${index}`)).toEqual({ status: "open" });
  const other = bulkUploadRef(business, "bup_2");
  await time.run(
    system.ask(other, { type: "upload.issue", record_type: "products", valid_ms: hourMs, key_id: "k" }),
  );
  await uploadTo(system);
  await time.run(system.ask(upload, finish));
  expect(await ask("bup_more")).toMatchObject({ status: "busy" });
  await time.advance(2.5 * hourMs);
  expect(await ask("bup_more")).toEqual({ status: "open" });
  expect(await ask("bup_most")).toMatchObject({ status: "busy" });
  await time.advance(2 * hourMs);
  for (let index = 1; index <= openUploadsMax - 2; index += 1)
    expect(await ask(`bup_later${index}`)).toEqual({ status: "open" });
  expect(await ask("bup_most")).toMatchObject({ status: "busy" });
});

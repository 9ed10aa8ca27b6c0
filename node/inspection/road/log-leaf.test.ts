// Where a push's seal is in the log, as its place, its heads and the log's own store say.

import { describe, expect, it } from "vitest";
import { headRow, publishedHeads, writtenHeads } from "../../../actors/log-sequencer/definition.ts";
import { logRef } from "../../../actors/messages/refs.ts";
import { formatHash, sha256, utf8 } from "../../../protocol/bytes.ts";
import { entryBytes, formatBundle } from "../../../protocol/log/leaves.ts";
import { part } from "../../../protocol/rubbish.fixture.ts";
import { type PartitionRow, StoreError } from "../../../storage/actor-store.ts";
import { MemoryActorStore } from "../../../storage/memory/actor-store.ts";
import { readLogLeaf } from "./push-road.ts";
import { storeRows } from "./stored-rows.fixture.ts";

const leafOf = (at: number): string => formatHash(sha256(utf8(`leaf ${at}`)));
const atMs = Date.UTC(2026, 0, 1);
const head = (size: number, from: number) =>
  [
    { size, root: "" },
    { from, at_ms: atMs + size },
  ] as const;

interface Given {
  readonly told?: string;
  readonly place?: number | null;
  readonly size?: number | null;
  readonly rows?: readonly PartitionRow[];
  readonly fault?: Error;
}

async function read({ told = leafOf(1), place = 1, size = 3, rows = [], fault }: Given) {
  const store = new MemoryActorStore({ now: () => atMs });
  await storeRows(store, logRef(), rows);
  const entries = [0, 1, 2].map((each) =>
    entryBytes({ leaf: leafOf(each), leaf_type: "seal", subject: "b" }),
  );
  const note = "svc.test/log\n3\nAAAA\n\n— svc.test/log AAAAAAA=\n— witness-one AAAAAAA=\n";
  return readLogLeaf(
    {
      store,
      log: part({
        findLeaves: async () => {
          if (fault !== undefined) throw fault;
          return [place];
        },
        readCheckpoint: async () => (size === null ? null : { size, root: "", note }),
        read: async () => [formatBundle(entries)],
      }),
    },
    told,
  );
}

describe("the seal of a push in the log", () => {
  it("is published where a checkpoint covers it: first by the heads that begin before it (LL2)", async () => {
    const rows = [
      headRow(writtenHeads, ...head(1, 0)),
      headRow(writtenHeads, ...head(2, 1)),
      headRow(publishedHeads, ...head(3, 1)),
    ];
    expect(await read({ rows })).toMatchObject({
      ...{ state: "published", leaf: leafOf(1), leaf_index: 1, newest_size: 3 },
      ...{ appended_size: 2, appended_at: new Date(atMs + 2).toISOString() },
      ...{ published_size: 3, published_at: new Date(atMs + 3).toISOString() },
      cosigned_by: ["svc.test/log", "witness-one"],
    });
  });

  it("LL2: has no time where the heads that covered it first are forgotten", async () => {
    const rows = [headRow(writtenHeads, ...head(9, 3)), headRow(publishedHeads, ...head(9, 3))];
    expect(await read({ rows })).toMatchObject({ state: "published", appended_at: null, published_at: null });
  });

  it("is sequenced where no checkpoint covers it yet", async () => {
    const rows = [headRow(writtenHeads, ...head(2, 1))];
    for (const size of [1, null])
      expect(await read({ size, rows })).toMatchObject({
        ...{ state: "sequenced", leaf_index: 1, appended_size: 2, published_at: null, newest_size: size },
      });
  });

  it("waits where the log was told of it and does not have it", async () => {
    expect(await read({ place: null })).toMatchObject({ state: "waiting", leaf_index: null });
  });

  it("LL1: is not there where another entry has its place", async () => {
    expect(await read({ told: leafOf(7) })).toMatchObject({ state: "waiting", leaf_index: null });
  });

  it("is unknown while the log cannot be read", async () => {
    expect(await read({ fault: new StoreError("not_applied", "away") })).toMatchObject({
      ...{ state: "unknown", leaf: leafOf(1) },
    });
    await expect(read({ fault: new Error("a bug") })).rejects.toThrow("a bug");
  });
});

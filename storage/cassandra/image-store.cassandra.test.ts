import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageOf, imageStoreConformance, type OpenImageStore } from "../image-store.conformance.ts";
import { imageTables, openCassandraImageStore } from "./image-store.ts";
import { hasCassandra, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(imageTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  const empty = async (): Promise<void> => {
    const session = await keyspace.connect();
    for (const table of ["ad_image", "ad_image_bytes"])
      await session.execute(`TRUNCATE ${table}`, [], { idempotent: true });
    await session.close();
  };

  imageStoreConformance("the Cassandra store", async (bytesMax) => {
    await empty();
    let passedMs = 0;
    const now = () => Date.now() + passedMs;
    const open = async (): Promise<OpenImageStore> => {
      const session = await keyspace.connect();
      return {
        store: openCassandraImageStore(session, { bytesMax, now }),
        reopen: open,
        pass: (ms) => {
          passedMs += ms;
        },
        close: () => session.close(),
      };
    };
    return open();
  });

  it("G1: an image whose bytes are not here yet is not shown, and is whole once it is put again", async () => {
    const session = await keyspace.connect();
    const store = openCassandraImageStore(session, { bytesMax: 2 ** 30 });
    const image = imageOf(700_000);
    await store.put(image);
    const plain = { idempotent: true };
    await session.execute(
      "DELETE FROM ad_image_bytes WHERE sha256 = ? AND part = ?",
      [image.sha256, 1],
      plain,
    );
    await expect(store.read(image.sha256)).rejects.toMatchObject({ effect: "not_applied" });
    await store.put(image);
    expect((await store.read(image.sha256))?.bytes).toEqual(image.bytes);
    await session.close();
  });

  it("G4: leaves no bytes of an image that was put several times and is not needed any more", async () => {
    const session = await keyspace.connect();
    let passedMs = 0;
    const store = openCassandraImageStore(session, { bytesMax: 2 ** 30, now: () => Date.now() + passedMs });
    const image = imageOf(700_000);
    for (let times = 0; times < 3; times += 1) {
      await store.put(image);
      passedMs += 86_400_000;
    }
    await store.forget(image.sha256, Date.now() + passedMs);
    const plain = { idempotent: true };
    const left = await session.execute(
      "SELECT part FROM ad_image_bytes WHERE sha256 = ?",
      [image.sha256],
      plain,
    );
    expect(left.rows).toEqual([]);
    expect(await store.read(image.sha256)).toBeNull();
    await session.close();
  });

  it("G2: counts what other nodes put, a minute later at the latest", async () => {
    await empty();
    const session = await keyspace.connect();
    let passedMs = 0;
    const bytesMax = 2_000_000;
    const store = openCassandraImageStore(session, { bytesMax, now: () => Date.now() + passedMs });
    const other = openCassandraImageStore(session, { bytesMax });
    expect(await store.put(imageOf(1))).toBe("stored");
    expect(await other.put(imageOf(1_500_000))).toBe("stored");
    passedMs += 60_001;
    expect(await store.put(imageOf(600_000))).toBe("full");
    await session.close();
  });
});

import { expect, it } from "vitest";
import { openTestKeyspace, testRegions } from "./keyspace.fixture.ts";
import { putInRegion, readReplication, takeOutRegion } from "./keyspaces.ts";

it("K1: a region is taken out of a keyspace and put in again", async () => {
  const [home, other] = testRegions;
  if (home === undefined || other === undefined) throw new Error("this test needs two regions");
  await using keyspace = await openTestKeyspace([]);
  const session = await keyspace.connect(home);
  try {
    const both = await readReplication(session, keyspace.name);
    expect(Object.keys(both).sort()).toEqual([home, other].sort());
    await takeOutRegion(session, other);
    expect(await readReplication(session, keyspace.name)).toEqual({ [home]: both[home] });
    await putInRegion(session, other, 1);
    expect(await readReplication(session, keyspace.name)).toEqual({ [home]: both[home], [other]: 1 });
  } finally {
    await session.close();
  }
});

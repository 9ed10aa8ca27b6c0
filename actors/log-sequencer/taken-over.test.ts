// A home of the log that takes over from one that was lost: LS5. Its journal is what came here before the loss, and so are tiles,
// index and checkpoint, each as far as it came.

import { beforeEach, describe, expect, it } from "vitest";
import { formatHash, parseHash, sha256 } from "../../protocol/bytes.ts";
import { consistencyProof } from "../../protocol/log/tiles.ts";
import { verifyConsistency } from "../../protocol/merkle.ts";
import { readTilesOf } from "./activities.ts";
import { entries, entry, LogHome, TreeWitness } from "./two-homes.fixture.ts";

let witness: TreeWitness;
let lost: LogHome;
let successor: LogHome;

/** Both have the first three leaves; only the lost home has the next, in one more batch for each number. */
async function part(...batches: readonly number[]): Promise<void> {
  await successor.sequence(entries(0, 3));
  await lost.sequence(entries(0, 3));
  for (const upTo of batches) {
    const from = (await lost.logged()).filter(({ leaf_type }) => leaf_type === "seal").length;
    await lost.sequence(entries(from, upTo));
  }
}

/** Everything that the lost home wrote reaches its successor, except for what the test keeps back. */
async function replicate(keepBack: (path: string) => boolean = () => false): Promise<void> {
  for (const { objects, leaves } of lost.written)
    await successor.store.write(
      objects.filter(({ path }) => !keepBack(path)),
      leaves,
    );
}

async function replicateCheckpoint(): Promise<void> {
  const checkpoint = await lost.store.readCheckpoint();
  if (checkpoint !== null) await successor.store.publish(checkpoint);
}

const seals = async () => (await successor.logged()).filter(({ leaf_type }) => leaf_type === "seal");

/** Whether the successor's published tree continues that of the lost home. */
async function continues(): Promise<boolean> {
  const [first, second] = [await lost.store.readCheckpoint(), await successor.store.readCheckpoint()];
  const [firstRoot, secondRoot] = [parseHash(first?.root ?? ""), parseHash(second?.root ?? "")];
  if (first === null || second === null || firstRoot === null || secondRoot === null) return false;
  const tree = { size: second.size, read: readTilesOf(successor.store), sha256 };
  const path = await consistencyProof(tree, first.size);
  return verifyConsistency({ firstSize: first.size, secondSize: second.size, firstRoot, secondRoot, path });
}

const held = () => ({ head: successor.actor.snapshot.matches({ head: "held" }), ...successor.context.held });

beforeEach(() => {
  witness = new TreeWitness();
  [lost, successor] = [new LogHome(witness), new LogHome(witness)];
});

describe("a successor of the log's home", () => {
  it("goes on from its own head where nothing was lost", async () => {
    await part();
    successor.takeOver();
    await successor.sequence(entries(3, 5));
    expect(await seals()).toEqual(entries(0, 5));
    expect(successor.context).toMatchObject({ era: 1, held: null, pending: 0 });
    expect(await continues()).toBe(true);
  });

  it("takes the newest published tree as its head, and appends behind it what is told again", async () => {
    await part(300, 400);
    await replicate((path) => path.startsWith("tile/1"));
    await replicateCheckpoint();
    successor.takeOver();
    // The senders of the last two do not know whether they were heard.
    await successor.sequence(entries(398, 405));
    expect(await seals()).toEqual(entries(0, 405));
    expect(await continues()).toBe(true);
    expect(successor.context).toMatchObject({ era: 1, held: null, pending: 0 });
    const size = (await lost.store.readCheckpoint())?.size ?? 0;
    expect(successor.signed.every((each) => each.size >= size)).toBe(true);
    // A tile that did not come follows from the entries.
    expect(await successor.store.read(["tile/1/000.p/1"])).toEqual(await lost.store.read(["tile/1/000.p/1"]));
  });

  it("puts behind that tree a batch that it had begun with other leaves", async () => {
    await part();
    successor.append(entries(20, 22));
    successor.actor.fireTimers();
    // The batch is committed, and its tiles are not written yet.
    const [choose] = successor.actor.effects.splice(0);
    successor.actor.effects.push(...(choose ? [choose] : []));
    const write = successor.actor.effects;
    expect(write).toHaveLength(1);
    await lost.sequence(entries(3, 9));
    await replicate();
    await replicateCheckpoint();
    successor.takeOver();
    await successor.sequence([]);
    expect(await seals()).toEqual([...entries(0, 9), ...entries(20, 22)]);
    expect(await continues()).toBe(true);
  });

  it("waits, writes nothing and signs nothing while something of the published tree is missing", async () => {
    await part(9);
    await replicate((path) => path.startsWith("tile/entries"));
    await replicateCheckpoint();
    successor.takeOver();
    await successor.sequence(entries(20, 22));
    expect(held()).toMatchObject({ head: true, reason: "log_incomplete" });
    expect(held().detail).toContain("tile/entries/000.p/");
    expect(successor.reports.at(-1)).toMatch(/^log_incomplete: /);
    // With the checkpoint of the three.
    expect(successor.context).toMatchObject({ pending: 3, head: { size: 3 } });
    expect([successor.signed, successor.written]).toEqual([[], []]);
    await replicate();
    await successor.sequence([]);
    expect(await seals()).toEqual([...entries(0, 9), ...entries(20, 22)]);
    expect(await continues()).toBe(true);
  });

  it("asks for the checkpoint that a witness cosigned last, and goes on from it when an operator has it", async () => {
    await part(9);
    await replicate();
    successor.takeOver();
    await successor.sequence(entries(20, 22));
    const size = (await lost.store.readCheckpoint())?.size ?? 0;
    expect(held()).toMatchObject({ head: true, reason: "checkpoint_behind_witness" });
    expect(held().detail).toBe(
      `the newest checkpoint here has 3 leaves, and w cosigned a tree of ${size} leaves already`,
    );
    expect([successor.signed, successor.written]).toEqual([[], []]);
    const checkpoint = await lost.store.readCheckpoint();
    if (checkpoint === null) throw new Error("It published one.");
    expect(successor.actor.send({ type: "log.supply", checkpoint })).toEqual({ status: "taken" });
    await successor.sequence([]);
    expect(await seals()).toEqual([...entries(0, 9), ...entries(20, 22)]);
    expect(await continues()).toBe(true);
    expect(successor.actor.send({ type: "log.supply", checkpoint })).toEqual({ status: "not_held" });
  });

  it("takes no checkpoint from an operator whose tree is not here", async () => {
    await part(9);
    successor.takeOver();
    await successor.sequence(entries(20, 22));
    const checkpoint = await lost.store.readCheckpoint();
    if (checkpoint === null) throw new Error("It published one.");
    successor.actor.send({ type: "log.supply", checkpoint });
    await successor.sequence([]);
    expect(held()).toMatchObject({ head: true, reason: "log_incomplete" });
    expect([successor.signed, successor.written]).toEqual([[], []]);
  });

  it("never signs another tree than the published one, of the same size or a larger one", async () => {
    await part(9);
    // It has a line of its own from the third leaf on.
    const other = new TreeWitness();
    const forked = new LogHome(other);
    await forked.sequence(entries(0, 3));
    await forked.sequence(entries(30, 36));
    await forked.sequence(entries(40, 50));
    const { size, root } = forked.context.head;
    const published = await lost.store.readCheckpoint();
    expect(size).toBeGreaterThan(published?.size ?? 0);
    forked.takeOver();
    other.isAway = false;
    Object.assign(forked.store, { readNewestCheckpoint: async () => published });
    await forked.sequence(entries(60, 62));
    expect(forked.context).toMatchObject({
      head: { size, root },
      held: { reason: "checkpoint_behind_witness" },
    });
    other.last = { size: 0, root: "" };
    await forked.sequence([]);
    expect(forked.context).toMatchObject({ head: { size, root }, held: { reason: "log_forked" } });
    expect([forked.signed, forked.written]).toEqual([[], []]);
  });

  it("waits for the witnesses, because they may know more", async () => {
    await part();
    witness.isAway = true;
    successor.takeOver();
    await successor.sequence(entries(3, 5));
    expect(held()).toMatchObject({ head: true, reason: "head_unconfirmed", detail: "w is away" });
    expect(held().attempts).toBeGreaterThan(3);
    expect([successor.signed, successor.written]).toEqual([[], []]);
    witness.isAway = false;
    await successor.sequence([]);
    expect(await seals()).toEqual(entries(0, 5));
  });

  it("does nothing without the key of the log", async () => {
    await part();
    successor.takeOver();
    successor.keyFault = "The node has no log key.";
    await successor.sequence(entries(3, 5));
    expect(held()).toMatchObject({ head: true, reason: "log_key_missing", detail: successor.keyFault });
    expect(successor.context).toMatchObject({ pending: 3, batch: null });
    expect([successor.signed, successor.written]).toEqual([[], []]);
    successor.keyFault = null;
    await successor.sequence([]);
    expect(await seals()).toEqual(entries(0, 5));
  });

  it("logs the leaves of a batch that the lost home wrote and never published, each once and in any order", async () => {
    await part();
    lost.isCutOff = true;
    witness.isAway = true;
    lost.append(entries(3, 9));
    for (let step = 0; step < 3; step += 1) await lost.step().catch(() => {});
    expect(lost.context.head.size).toBeGreaterThan(6);
    witness.isAway = false;
    // Its tiles and its index came here, and nobody was shown them.
    await replicate();
    successor.takeOver();
    await successor.sequence(entries(3, 9).toReversed());
    expect(await seals()).toEqual([...entries(0, 3), ...entries(3, 9).toReversed()]);
    expect(await continues()).toBe(true);
    const found = await successor.store.findLeaves([entry(3).leaf, entry(8).leaf]);
    const logged = (await successor.logged()).map(({ leaf }) => leaf);
    expect(found).toEqual([entry(3), entry(8)].map(({ leaf }) => logged.indexOf(leaf)));
    await successor.sequence(entries(3, 9));
    expect(await seals()).toHaveLength(9);
  });

  it("whose own journal never came takes up the whole log", async () => {
    await part(9);
    const empty = new LogHome(witness);
    for (const { objects, leaves } of lost.written) await empty.store.write(objects, leaves);
    const checkpoint = await lost.store.readCheckpoint();
    if (checkpoint !== null) await empty.store.publish(checkpoint);
    await empty.sequence(entries(8, 12));
    const found = (await empty.logged()).filter(({ leaf_type }) => leaf_type === "seal");
    expect(found).toEqual(entries(0, 12));
    expect(empty.signed.every(({ size }) => size >= (checkpoint?.size ?? 0))).toBe(true);
  });
});

describe("a node of the log's home", () => {
  it("publishes the checkpoint again when the policy of witnesses is another one", async () => {
    await lost.sequence(entries(0, 3));
    const before = await lost.store.readCheckpoint();
    lost.signed.length = 0;
    lost.actor.send({ type: "log.open", policy: "p" });
    await lost.work();
    expect(lost.signed).toEqual([]);
    lost.policy = "q";
    lost.actor.send({ type: "log.open", policy: "q" });
    await lost.work();
    expect(lost.signed).toEqual([{ size: before?.size, root: before?.root }]);
    expect(lost.context).toMatchObject({ policy: "q", published: { size: 3 } });
    lost.signed.length = 0;
    lost.actor.send({ type: "log.open", policy: "q" });
    await lost.work();
    expect(lost.signed).toEqual([]);
    await lost.sequence([entry(3)]);
    expect((await lost.logged()).filter(({ leaf_type }) => leaf_type === "seal")).toEqual(entries(0, 4));
  });

  it("looks at its head when it takes over, and not only with the next leaf", async () => {
    await part(9);
    successor.takeOver();
    successor.actor.send({ type: "log.open", policy: "p" });
    await successor.work();
    expect(held()).toMatchObject({ head: true, reason: "checkpoint_behind_witness" });
  });

  it("does not go on from a journal that is older than what it published itself", async () => {
    // Both stores are of one machine: its journal was restored from a backup.
    await part(9);
    await replicate();
    await replicateCheckpoint();
    await successor.sequence(entries(20, 21));
    expect(await seals()).toEqual([...entries(0, 9), entry(20)]);
    expect(await continues()).toBe(true);
    expect(formatHash(parseHash(successor.context.head.root) ?? new Uint8Array())).toBe(
      (await successor.store.readCheckpoint())?.root,
    );
  });
});

import { describe, expect, it } from "vitest";
import type { Member } from "../storage/cluster-store.ts";
import { MemoryCluster } from "../storage/memory/cluster-store.ts";
import { changeView, raiseVersion } from "./member-lifecycle.ts";

function member(incarnation: string): Member {
  return {
    incarnation,
    address: incarnation,
    state: "active",
    protocol_min: 1,
    protocol_max: 1,
    joined_at_ms: 0,
  };
}
const adding =
  (name: string) =>
  (members: readonly Member[]): readonly Member[] | null =>
    members.some((each) => each.incarnation === name) ? null : [...members, member(name)];

describe("changing a view", () => {
  it("V1: an attempt of unknown outcome is made once, whether it was applied or not", async () => {
    for (const fault of ["unknown_applied", "unknown_not_applied"] as const) {
      const store = new MemoryCluster(["east"]).handle("east");
      store.failNext("casView", fault);
      const view = await changeView(store, "east", adding("a"));
      expect(view).toEqual({ region: "east", version: 1, members: [member("a")] });
      expect(await store.readView("east")).toEqual(view);
    }
  });

  it("V1: racing changes all happen, each once", async () => {
    const cluster = new MemoryCluster(["east"]);
    const names = ["a", "b", "c", "d", "e", "f"];
    const stores = names.map(() => cluster.handle("east"));
    for (const store of stores) store.intercept = async (_, apply) => apply();
    await Promise.all(
      names.map((name, index) => changeView(stores[index] ?? cluster.handle("east"), "east", adding(name))),
    );
    const view = await cluster.handle("east").readView("east");
    expect(view.members.map((each) => each.incarnation).sort()).toEqual(names);
    expect(view.version).toBe(names.length);
  });

  it("a store that says it did not apply is not asked again", async () => {
    const store = new MemoryCluster(["east"]).handle("east");
    store.failNext("casView", "before");
    await expect(changeView(store, "east", adding("a"))).rejects.toMatchObject({ effect: "not_applied" });
    expect(store.callsOf("casView")).toBe(1);
  });

  it("a version is raised once, by itself or by another change, and the members stay", async () => {
    const cluster = new MemoryCluster(["east"]);
    const [store, other] = [cluster.handle("east"), cluster.handle("east")];
    await changeView(store, "east", adding("a"));
    for (const fault of ["unknown_applied", "unknown_not_applied"] as const) {
      const { version } = await store.readView("east");
      store.failNext("casView", fault);
      expect(await raiseVersion(store, "east")).toBe(version + 1);
      expect(await store.readView("east")).toEqual({
        region: "east",
        version: version + 1,
        members: [member("a")],
      });
    }
    store.intercept = async (call, apply) => {
      if (call.operation === "casView") await changeView(other, "east", adding("b"));
      return apply();
    };
    const raised = await raiseVersion(store, "east");
    const view = await other.readView("east");
    expect([raised, view.members.length]).toEqual([view.version, 2]);
  });
});

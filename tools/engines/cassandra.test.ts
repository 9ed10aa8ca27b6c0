import { describe, expect, it } from "vitest";
import { cassandraYaml, tokensOf } from "./cassandra.ts";

const ring = ["127.0.5.1", "127.0.5.2", "127.0.5.3"];

describe("a node's configuration", () => {
  it("gives every node sixteen tokens of its own, evenly round the ring", () => {
    const all = ring.flatMap((address) => tokensOf({ address, ring }).map(BigInt));
    expect(new Set(all).size).toBe(48);
    const sorted = all.toSorted((a, b) => (a < b ? -1 : 1));
    expect(sorted[0]).toBe(-(2n ** 63n));
    const gaps = new Set(sorted.slice(1).map((token, index) => token - (sorted[index] ?? 0n)));
    const step = 2n ** 64n / 48n;
    expect([...gaps].every((gap) => gap === step || gap === step + 1n)).toBe(true);
  });

  it("has what the stores rely on", () => {
    const yaml = cassandraYaml({
      address: "127.0.5.2",
      dataCenter: "us-east1",
      ring,
      seeds: ["127.0.5.1", "127.0.5.2"],
      folder: "/data/two",
      heapMb: 384,
    });
    for (const line of [
      "paxos_variant: v2",
      "commitlog_sync: batch",
      "batch_size_fail_threshold: 1024KiB",
      "num_tokens: 16",
      "endpoint_snitch: GossipingPropertyFileSnitch",
      "listen_address: 127.0.5.2",
      "rpc_address: 127.0.5.2",
      '      - seeds: "127.0.5.1,127.0.5.2"',
      'commitlog_directory: "/data/two/commitlog"',
    ]) {
      expect(yaml.split("\n")).toContain(line);
    }
  });

  it("is refused for an address outside the ring", () => {
    expect(() => tokensOf({ address: "127.0.5.9", ring })).toThrow("not of the ring");
  });
});

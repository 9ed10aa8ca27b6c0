import { describe, expect, it } from "vitest";
import { makeAuthority, makeCertificate } from "./certificate.fixture.ts";
import {
  actor,
  closeAfterEach,
  command,
  eventually,
  identityOf,
  openNode,
  openProxy,
} from "./nodes.fixture.ts";

closeAfterEach();

describe("mutual TLS", () => {
  const tls = makeCertificate("nodes of the test", ["127.0.0.1"]);

  it("hides what nodes say to each other", async () => {
    for (const [more, isReadable] of [[{}, true] as const, [{ tls }, false] as const]) {
      const node = await openNode("b", more);
      const proxy = await openProxy(node);
      let seen = "";
      proxy.onBytes = (direction, bytes) => {
        if (direction === "to_client") seen += bytes.toString("latin1");
      };
      const target = (await openNode("a", more)).target(proxy.address, "b");
      expect(await target.ask(actor, command, 5_000)).toEqual(command);
      expect(seen.includes('"value"')).toBe(isReadable);
    }
  });

  it("refuses a caller without a certificate, with another authority's, and without TLS", async () => {
    const node = await openNode("b", { tls });
    const others = [{ tls: { ...tls, ...makeCertificate("others", ["127.0.0.1"]), ca: tls.ca } }, {}];
    for (const more of others) {
      const caller = await openNode("a", more);
      await expect(caller.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject({
        reason: "unreachable",
        effect: "not_applied",
      });
    }
    await eventually(() => (node.stats().refused["tls"] ?? 0) >= 2);
    expect(node.stats().callers).toEqual([]);
  });

  it("tells a node whose certificates are another authority's that it is a stranger", async () => {
    const node = await openNode("b", { tls });
    const other = await openNode("a", { tls: makeCertificate("others", ["127.0.0.1"]) });
    expect(await other.greet(node.address, "b")).toBe("stranger");
    expect(await (await openNode("c", { tls })).greet(node.address, "b")).toBe("known");
    expect(await (await openNode("d", { tls, cluster: "other" })).greet(node.address, "b")).toBe("stranger");
    // An unreachable node says nothing about trust.
    await node.close();
    expect(await other.greet(node.address, "b")).toBe("unknown");
  });

  it("takes the place of the secret: no node has both or neither", async () => {
    const secret = new Uint8Array(32).fill(7);
    for (const wrong of [{ tls, secret }, { tls, secret: null, alsoAccepted: secret }, { secret: null }])
      await expect(openNode("a", wrong)).rejects.toThrow(RangeError);
  });

  describe("binds a node to the host that it is reached at", () => {
    const issue = makeAuthority("the cluster");
    const refusal = { reason: "unreachable", effect: "not_applied" };
    const at = (address: string) => ({ self: { ...identityOf("a"), address } });

    it.each([
      ["an address", "127.0.0.1:7000", ["127.0.0.1"]],
      ["a name", "a.cluster.internal:7000", ["a.cluster.internal"]],
      ["one of several", "a.cluster.internal:7000", ["10.0.0.7", "b.cluster.internal", "a.cluster.internal"]],
    ])("a caller whose certificate names it is believed: %s", async (_what, address, hosts) => {
      const node = await openNode("b", { tls: issue("b", ["127.0.0.1"]) });
      const caller = await openNode("a", { tls: issue("a", hosts), ...at(address) });
      expect(await caller.target(node.address, "b").ask(actor, command, 5_000)).toEqual(command);
    });

    it.each([
      ["another node's", "127.0.0.1:7000", ["127.0.0.2"]],
      ["another name", "a.cluster.internal:7000", ["b.cluster.internal"]],
      ["no host", "a.cluster.internal:7000", []],
      ["the host as its subject only", "a.cluster.internal:7000", []],
    ])("a caller whose certificate does not is refused: %s", async (_what, address, hosts) => {
      const node = await openNode("b", { tls: issue("b", ["127.0.0.1"]) });
      const caller = await openNode("a", { tls: issue("a.cluster.internal", hosts), ...at(address) });
      await expect(caller.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject(
        refusal,
      );
      await eventually(() => node.stats().refused["address"] === 1);
      expect(node.stats().callers).toEqual([]);
    });

    it("a node that answers with another's certificate is left alone", async () => {
      const node = await openNode("b", { tls: issue("b", ["127.0.0.2"]) });
      const caller = await openNode("a", { tls: issue("a", ["127.0.0.1"]) });
      await expect(caller.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject(
        refusal,
      );
      expect(node.stats().callers).toEqual([]);
      expect(caller.logged.at(-1)?.detail).toMatch(/127\.0\.0\.1/);
    });
  });
});

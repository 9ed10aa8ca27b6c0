import { describe, expect, it } from "vitest";
import { makeCertificate } from "./certificate.fixture.ts";
import { actor, closeAfterEach, command, eventually, openNode, openProxy } from "./nodes.fixture.ts";

closeAfterEach();

describe("mutual TLS", () => {
  const tls = makeCertificate("nodes of the test");

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
    const others = [{ tls: { ...tls, ...makeCertificate("others"), ca: tls.ca } }, {}];
    for (const more of others) {
      const caller = await openNode("a", more);
      await expect(caller.target(node.address, "b").ask(actor, command, 5_000)).rejects.toMatchObject({
        ...{ reason: "unreachable", effect: "not_applied" },
      });
    }
    await eventually(() => (node.stats().refused["tls"] ?? 0) >= 2);
    expect(node.stats().callers).toEqual([]);
  });
});

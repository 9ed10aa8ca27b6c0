import { expect, it } from "vitest";
import { utf8 } from "./bytes.ts";
import { createRootBuilder, leafHash, merkleRoot } from "./merkle.ts";

it("finds the root of RFC 6962 after every leaf", () => {
  const builder = createRootBuilder();
  const leaves: Uint8Array[] = [];
  expect(builder.root()).toEqual(merkleRoot([]));
  for (let index = 0; index < 200; index += 1) {
    const leaf = leafHash(utf8(`leaf ${index}`));
    leaves.push(leaf);
    builder.add(leaf);
    expect(builder.root()).toEqual(merkleRoot(leaves));
  }
});

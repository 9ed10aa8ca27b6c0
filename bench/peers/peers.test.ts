import { expect, it } from "vitest";
import { reportTable } from "../figures.ts";
import { peerNames, peers, peerTexts } from "./peers.ts";

it("says of each peer what is measured, what differs, how it is configured and what is durable", () => {
  for (const name of peerNames) {
    const { measure: _measure, ...texts } = peers[name];
    for (const text of Object.values(texts)) expect(text, name).toMatch(/^[A-Z@h].{30,}[.]$/);
  }
  expect(peerTexts(["sigstore"])).toMatch(
    /^sigstore\n {2}Measured: .+\n {2}Differs: .+\n {2}Configuration: @sigstore\/verify \d.+\n {2}Durability: .+\n$/,
  );
  expect(reportTable([], "peer")).toContain("ours  peer  ratio");
});

import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { Caller } from "../answer.ts";
import { createKeyNetworks } from "./source-address.ts";

function open(answers: () => Promise<unknown> = async () => ({})) {
  const told: unknown[] = [];
  let nowMs = 1_000_000;
  const ask = rubbish((to: object, command: object) => {
    told.push({ ...to, ...command });
    return answers();
  });
  const networks = createKeyNetworks({ actors: part({ ask }), clock: { now: () => nowMs } });
  const callerOf = (key_id: string): Pick<Caller, "key"> => ({ key: part({ key_id, party_uuid: "u" }) });
  return {
    told,
    note: (address: string | null, keyId = "k") => networks.note(callerOf(keyId), address),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("the networks of keys", () => {
  it("are told to the party, once a day each, and never an address (KN1, KN2)", async () => {
    const { told, note, pass } = open();
    for (const address of ["198.51.100.7", "198.51.100.9", null, "nonsense"]) note(address);
    expect(told).toEqual([
      { kind: "business", id: "u", type: "network.seen", key_id: "k", network: "198.51.100.0/24" },
    ]);
    note("198.51.100.7", "k2");
    pass(86_400_000);
    note("198.51.100.7");
    expect(told).toHaveLength(3);
    await settled();
  });

  it("are told again after a failure, and 64 at a time (KN1, KN3)", async () => {
    let isUp = false;
    const { told, note } = open(() => (isUp ? Promise.resolve({}) : Promise.reject(new Error("down"))));
    note("198.51.100.7");
    await settled();
    isUp = true;
    note("198.51.100.7");
    expect(told).toHaveLength(2);
    await settled();
    for (let at = 0; at < 100; at += 1) note("198.51.100.7", `many-${at}`);
    expect(told).toHaveLength(66);
    await settled();
  });
});

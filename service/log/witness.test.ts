// W1 and W2 of a witness, with a store that is slow, fails or loses a race. Everything else is tested over HTTP
// (node/witness/witness-server.test.ts).

import { describe, expect, it } from "vitest";
import { formatHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { verifySignature as verify } from "../../protocol/keys/signatures.ts";
import { parseNote, verifyNote } from "../../protocol/log/note.ts";
import { noteKey, SignedLog } from "../../protocol/log/signed-log.fixture.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { WitnessedHead, WitnessStore } from "../../storage/witness-store.ts";
import { createWitness } from "./witness.ts";

const log = new SignedLog();
const key = noteKey("witness.test/w1", "cosignature", 3);
const headOf = (size: number): WitnessedHead => ({
  size,
  root: formatHash(log.root(size)),
  note: log.note(size),
});

function witnessOver(store: Partial<WitnessStore>) {
  const steps: string[] = [];
  const time = { ms: 5_000 };
  const witness = createWitness({
    key,
    logs: () => [{ origin: log.origin, keys: [log.key] }],
    crypto: part({ sha256, verify }),
    store: {
      read: async () => headOf(9),
      advance: async () => {
        steps.push("advanced");
        return true;
      },
      ...store,
    },
    signer: rubbish({
      sign: async (message: Uint8Array) => {
        steps.push("signed");
        return key.sign(message);
      },
    }),
    clock: { now: () => time.ms },
  });
  return {
    steps,
    time,
    add: (from: number, size: number) => witness.addCheckpoint(utf8(log.request(from, size))),
  };
}

describe("a witness", () => {
  it("W1: signs what it has written down", async () => {
    const { steps, add } = witnessOver({});
    expect((await add(9, 20)).status).toBe(200);
    expect(steps).toEqual(["advanced", "signed"]);
  });

  it("W1: signs nothing that it could not write down", async () => {
    const { steps, add } = witnessOver({
      advance: () => Promise.reject(new Error("the disk is full")),
    });
    await expect(add(9, 20)).rejects.toThrow("the disk is full");
    expect(steps).toEqual([]);
  });

  it("W1: signs nothing when another was first, and says how far that one came", async () => {
    const heads = [headOf(9), headOf(30)];
    const { steps, add } = witnessOver({
      read: async () => heads.shift() ?? null,
      advance: async () => false,
    });
    expect(await add(9, 20)).toMatchObject({ status: 409, body: "30\n" });
    expect(steps).toEqual([]);
  });

  it("W2: states the time at which nothing larger had been cosigned", async () => {
    const { time, add } = witnessOver({
      advance: async () => {
        time.ms += 60_000;
        return true;
      },
    });
    const { body } = await add(9, 20);
    const parsed = parseNote(log.note(20) + body);
    if (!parsed.ok) throw new Error(parsed.detail);
    expect(verifyNote({ verify, sha256 }, parsed.value, key)).toEqual({ seconds: 5 });
  });
});

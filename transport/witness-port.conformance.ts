// The conformance suite of the port by which the log reaches a witness.

import { beforeEach, describe, expect, it } from "vitest";
import { SignedLog } from "../protocol/log/signed-log.fixture.ts";
import type { ReachedWitness } from "./witness-port.ts";

export interface OpenWitness {
  /** Reaches a witness that was just made and knows the logs of the origin and key of {@link SignedLog}. */
  readonly reached: ReachedWitness;
  /** The same witness, that never answers. */
  readonly silent: ReachedWitness;
  /** One that is not there. */
  readonly dead: ReachedWitness;
}

export function witnessPortConformance(name: string, open: () => Promise<OpenWitness>): void {
  describe(`witness port: ${name}`, () => {
    const log = new SignedLog();
    const ask = (oldSize: number, size: number, of = log) => ({
      oldSize,
      proof: of.proof(oldSize, size),
      note: of.note(size),
    });
    let opened: OpenWitness;
    beforeEach(async () => {
      opened = await open();
    });

    it("P1: passes on what a witness answers", async () => {
      const { reached } = opened;
      const lines = expect.stringMatching(new RegExp(`^— ${reached.key.name} \\S+\\n$`));
      expect(await reached.addCheckpoint(ask(0, 9)).reply).toEqual({ kind: "cosigned", lines });
      expect(await reached.addCheckpoint(ask(9, 20)).reply).toEqual({ kind: "cosigned", lines });
      expect(await reached.addCheckpoint(ask(9, 30)).reply).toEqual({ kind: "at", size: 20 });
      const fork = new SignedLog({ words: "other" });
      expect(await reached.addCheckpoint(ask(20, 30, fork)).reply).toEqual({ kind: "refused", status: 422 });
      const other = new SignedLog({ origin: "log.test/two" });
      expect(await reached.addCheckpoint(ask(0, 3, other)).reply).toEqual({ kind: "refused", status: 404 });
    });

    it("P2: gives up a witness that does not answer when it is told to", async () => {
      const call = opened.silent.addCheckpoint(ask(0, 9));
      call.cancel();
      await expect(call.reply).rejects.toThrow();
    });

    it("rejects where nothing answers", async () => {
      const call = opened.dead.addCheckpoint(ask(0, 9));
      setTimeout(call.cancel, 2_000).unref();
      await expect(call.reply).rejects.toThrow();
    });

    it("may be cancelled after its answer", async () => {
      const call = opened.reached.addCheckpoint(ask(0, 9));
      expect((await call.reply).kind).toBe("cosigned");
      call.cancel();
      expect((await opened.reached.addCheckpoint(ask(9, 10)).reply).kind).toBe("cosigned");
    });
  });
}

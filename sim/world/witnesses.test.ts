// A witness as a simulated node reaches it; the kernel drives the time of each request.

import { nativeCrypto } from "../../crypto/native.ts";
import { noteKey, SignedLog } from "../../protocol/log/signed-log.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createWitness } from "../../service/log/witness.ts";
import { memoryWitnessStore } from "../../storage/memory/witness-store.ts";
import { witnessPortConformance } from "../../transport/witness-port.conformance.ts";
import type { ReachedWitness } from "../../transport/witness-port.ts";
import { Kernel, Trace } from "../kernel/kernel.ts";
import { Life } from "../kernel/life.ts";
import { Random } from "../kernel/random.ts";
import { until } from "../kernel/until.fixture.ts";
import { type FaultKind, Faults } from "./faults.ts";
import { reachSimWitness } from "./witnesses.ts";

const log = new SignedLog();
const key = noteKey("witness.test/w1", "cosignature", 3);

/** The witness behind a network that always has this fault. */
function reach(fault: FaultKind | null): ReachedWitness {
  const kernel = new Kernel({ startMs: 1_780_000_000_000, trace: new Trace({ story: false }) });
  const random = Random.of(1);
  const faults = new Faults(random);
  faults.chosen.clear();
  faults.active = true;
  if (fault !== null) faults.chosen.set(fault, { rate: 1, random, strikes: 0 });
  const witness = createWitness({
    key,
    crypto: nativeCrypto,
    store: memoryWitnessStore(),
    clock: kernel,
    signer: rubbish({ sign: async (message: Uint8Array) => key.sign(message) }),
    logs: () => [{ origin: log.origin, keys: [log.key] }],
  });
  const delays = random.fork("delays");
  const life = new Life(kernel, "a-1");
  const reached = reachSimWitness(
    { kernel, faults, delays, life },
    { key: { ...key, kind: "cosignature" }, witness },
  );
  return {
    key: reached.key,
    addCheckpoint: (request) => {
      const { reply, cancel } = reached.addCheckpoint(request);
      return { reply: until(kernel, reply), cancel };
    },
  };
}

witnessPortConformance("the simulator's network", async () => ({
  reached: reach(null),
  silent: reach("witness_unheard"),
  dead: reach("witness_away"),
}));

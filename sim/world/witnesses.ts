// Two witnesses of the log, which are nobody's nodes: they outlive crashes, and they are reached over a network that loses requests
// and answers. What they do is production's code, over a memory that is never lost.

import { utf8 } from "../../protocol/bytes.ts";
import type { WitnessPolicy } from "../../protocol/log/cosignatures.ts";
import { addCheckpointPath, formatAddCheckpoint, noteKeyOf, parseTreeSize } from "../../protocol/log/note.ts";
import { createCollector } from "../../service/log/collect-cosignatures.ts";
import { createWitness, type Witness } from "../../service/log/witness.ts";
import { memoryWitnessStore } from "../../storage/memory/witness-store.ts";
import type { Cosign, ReachedWitness, WitnessReply } from "../../transport/witness-port.ts";
import type { Observed } from "../checkers/observed.ts";
import { createSimCrypto, type SimCrypto } from "../crypto/sim-crypto.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Life } from "../kernel/life.ts";
import type { Random } from "../kernel/random.ts";
import type { Faults } from "./faults.ts";
import type { WorldKeys } from "./world-parts.ts";

export interface SimWitnesses {
  readonly policy: WitnessPolicy;
  /** By which cosignatures are judged. */
  readonly crypto: SimCrypto;
  /** How the node of this life reaches them. */
  cosignFor(life: Life): Cosign;
}

export interface SimWitnessesParts {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly observed: Observed;
  readonly keys: WorldKeys;
  /** That of the nodes. The witnesses have keys of their own, which leave those of the nodes what they are. */
  readonly crypto: SimCrypto;
}

const names = ["witness.test/a", "witness.test/b"];

export function createSimWitnesses(random: Random, parts: SimWitnessesParts): SimWitnesses {
  const { kernel, faults } = parts;
  const own = createSimCrypto({ keys: random.fork("keys"), chance: random.fork("chance") });
  const crypto: SimCrypto = {
    ...own,
    verify: (...given) => own.verify(...given) || parts.crypto.verify(...given),
  };
  const witnesses = names.map((name) => witnessOf(parts, name, crypto));
  const policy = { witnesses: witnesses.map(({ key }) => key), quorum: random.between(1, names.length) };
  const delays = random.fork("delays");
  return {
    policy,
    crypto,
    cosignFor: (life) =>
      createCollector({
        policy: {
          witnesses: witnesses.map((each) => reachSimWitness({ kernel, faults, delays, life }, each)),
          quorum: policy.quorum,
        },
        crypto,
        now: () => kernel.now(),
        schedule: (delayMs, run) => life.after(delayMs, "cosignatures are due", run),
      }),
  };
}

/** A witness as the node of a life reaches it. */
export function reachSimWitness(
  from: {
    readonly kernel: Kernel;
    readonly faults: Faults;
    readonly delays: Random;
    readonly life: Life;
  },
  { key, witness }: NamedWitness,
): ReachedWitness {
  const { kernel, faults, delays, life } = from;
  return {
    key,
    addCheckpoint: (request) => {
      const { promise: reply, resolve, reject } = Promise.withResolvers<WitnessReply>();
      const answer = (): void =>
        void witness.addCheckpoint(utf8(formatAddCheckpoint(request))).then(({ status, body }) => {
          if (faults.meets("witness_unheard")) return;
          const size = status === 409 ? parseTreeSize(body) : null;
          life.after(1 + delays.below(40), "witness answers", () =>
            resolve(
              status === 200
                ? { kind: "cosigned", lines: body }
                : size === null
                  ? { kind: "refused", status }
                  : { kind: "at", size },
            ),
          );
        });
      // A request that is on its way arrives, whatever becomes of its sender.
      if (!faults.meets("witness_away"))
        kernel.after(1 + delays.skewed(0, 2_000), `POST ${addCheckpointPath}`, answer);
      return { reply, cancel: () => reject(new Error("it did not answer in time")) };
    },
  };
}

interface NamedWitness {
  readonly key: WitnessPolicy["witnesses"][number];
  readonly witness: Witness;
}

function witnessOf(
  { kernel, keys, observed }: SimWitnessesParts,
  name: string,
  crypto: SimCrypto,
): NamedWitness {
  const { log } = keys.trust.anchors;
  const signer = crypto.newSigner();
  const [made, logKey] = [noteKeyOf(name, signer.publicJwk), noteKeyOf(log.key_name, keys.log.publicJwk)];
  if (made === null || logKey === null) throw new Error("Keys of notes are Ed25519 keys.");
  const key = { ...made, kind: "cosignature" as const };
  const witness = createWitness({
    key,
    signer,
    crypto,
    store: memoryWitnessStore(),
    logs: () => [{ origin: log.origin, keys: [logKey] }],
    clock: { now: () => kernel.now() },
    forked: () => observed.violate("log-grows", "a witness was shown two trees of one size"),
  });
  return { key, witness };
}

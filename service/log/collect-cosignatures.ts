// Collects the cosignatures of a checkpoint under the log's policy: of n witnesses, at least k.
// Also the signed checkpoints themselves.
//   C1. A cosignature counts only under the key of the policy, over exactly this checkpoint, with a time that is not ahead of ours.
//   C2. It ends in bounded time, whatever witnesses do: with enough cosignatures, or with the reason of each that is missing.
//   C3. A witness that is behind gets the proof from where it says it is. One that says something else each time is left alone.
//   C4. When the node stops, what is under way ends at once, and nobody is asked any more.

import type { SignerAt } from "../../crypto/port.ts";
import { equalBytes, type Sha256 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { LogAnchor } from "../../protocol/keys/anchors.ts";
import {
  formatNote,
  keyHashOf,
  logMessage,
  logSignature,
  type Note,
  type NoteSignature,
  noteKeysOf,
  parseCosignatures,
  parseNote,
  type VerifySignature,
  verifyNote,
} from "../../protocol/log/note.ts";
import { boundedText } from "../../protocol/result.ts";
import type {
  Cosign,
  Cosigned,
  CosignRequest,
  ReachedWitness,
  WitnessCall,
} from "../../transport/witness-port.ts";

export interface CosignaturePolicy {
  readonly witnesses: readonly ReachedWitness[];
  /** How many of them have to cosign before a checkpoint is published. */
  readonly quorum: number;
}

/** Of an AbortSignal, what is needed. */
interface StopSignal {
  readonly aborted: boolean;
  addEventListener(event: "abort", run: () => void): void;
  removeEventListener(event: "abort", run: () => void): void;
}

export interface CollectDeps {
  readonly policy: CosignaturePolicy;
  readonly crypto: { readonly verify: VerifySignature; readonly sha256: Sha256 };
  readonly now: () => number;
  /** Runs something later; the returned function cancels it. */
  readonly schedule: (delayMs: number, run: () => void) => () => void;
  /** Aborted when the node stops. */
  readonly stopped?: StopSignal;
}

/** How long all of them have, and how long those that are slower than a quorum have after it. */
export const collectMs = 5_000;
const lingerMs = 500;
/** Requests to one witness about one checkpoint: with the size that is known, and with the one that it says. */
const attemptsMax = 3;
const aheadMaxSeconds = 300;

/** Makes the collector. It remembers how far each witness is, so that one request to each is enough. */
export function createCollector(deps: CollectDeps): Cosign {
  const known = new Map<ReachedWitness, number>();
  return (request) => collect(deps, known, request);
}

interface Asking {
  readonly deps: CollectDeps;
  readonly known: Map<ReachedWitness, number>;
  readonly request: CosignRequest;
  readonly note: Note;
  readonly calls: Set<WitnessCall>;
  hasEnded: boolean;
}

async function collect(
  deps: CollectDeps,
  known: Map<ReachedWitness, number>,
  request: CosignRequest,
): Promise<Cosigned> {
  const { witnesses, quorum } = deps.policy;
  const parsed = parseNote(request.note);
  if (!parsed.ok) throw new Error("The log's own checkpoint is not a note.");
  const asking: Asking = {
    deps,
    known,
    request,
    note: parsed.value,
    calls: new Set(),
    hasEnded: deps.stopped?.aborted === true,
  };
  const lines = new Map<ReachedWitness, NoteSignature>();
  const faults = new Map<ReachedWitness, NotCosigned>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const timers = [deps.schedule(collectMs, end)];
  const linger = (): void => {
    if (lines.size + faults.size === witnesses.length) end();
    else if (lines.size >= quorum) timers.push(deps.schedule(lingerMs, end));
  };
  const stop = (): void => end();
  deps.stopped?.addEventListener("abort", stop);
  if (asking.hasEnded) end();
  linger();
  for (const witness of witnesses)
    void askWitness(asking, witness)
      .then(
        (line) => lines.set(witness, line),
        (error: unknown) =>
          faults.set(witness, error instanceof NotCosigned ? error : new NotCosigned(messageOf(error))),
      )
      .then(linger);
  await ended;
  asking.hasEnded = true;
  deps.stopped?.removeEventListener("abort", stop);
  for (const cancel of timers) cancel();
  for (const call of asking.calls) call.cancel();
  const disputes = [...faults].filter(([, { isDispute }]) => isDispute);
  const disputed = disputes.map(([{ key }, { message }]) => `${key.name} ${message}`).join("; ");
  const also = disputed === "" ? {} : { disputed: boundedText(disputed) };
  if (lines.size < quorum) return { missing: reasonOf(deps.policy, lines, faults), ...also };
  // In the order of the policy, so that one set of cosignatures is one text.
  const signatures = witnesses.flatMap((witness) => lines.get(witness) ?? []);
  const names = new Set(witnesses.map(({ key }) => key.name));
  // What is cosigned again has lines of an earlier time.
  const own = asking.note.signatures.filter(({ name }) => !names.has(name));
  return { note: formatNote({ ...asking.note, signatures: [...own, ...signatures] }), ...also };
}

function reasonOf(
  { witnesses, quorum }: CosignaturePolicy,
  lines: ReadonlyMap<ReachedWitness, NoteSignature>,
  faults: ReadonlyMap<ReachedWitness, NotCosigned>,
): string {
  const missing = witnesses.filter((witness) => !lines.has(witness));
  const reasons = missing.map(
    (each) => `${each.key.name} ${faults.get(each)?.message ?? "did not answer in time"}`,
  );
  return boundedText(`${lines.size} of ${quorum} cosignatures: ${reasons.join("; ")}`);
}

/** A witness that does not cosign, and why; its name goes before it. */
class NotCosigned extends Error {
  override readonly name = "NotCosigned";
  /** Whether it cosigned a tree that this one does not continue. */
  readonly isDispute: boolean;

  constructor(message: string, isDispute = false) {
    super(message);
    this.isDispute = isDispute;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function askWitness(asking: Asking, witness: ReachedWitness): Promise<NoteSignature> {
  const { known, request } = asking;
  let oldSize = known.get(witness) ?? request.publishedSize;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    if (oldSize > request.size) throw new NotCosigned(`cosigned a tree of ${oldSize} leaves already`, true);
    const isFirst = oldSize === 0 || oldSize === request.size;
    const proof = isFirst ? [] : await request.proofFrom(oldSize);
    const reply = await replyOf(asking, witness, { oldSize, proof, note: request.note });
    if (reply.kind === "cosigned") {
      const line = judged(asking, witness, reply.lines);
      known.set(witness, request.size);
      return line;
    }
    known.delete(witness);
    if (reply.kind === "refused") throw refusedBy(reply.status, oldSize);
    if (reply.size === oldSize)
      throw new NotCosigned(`refuses the size of ${oldSize}, which it says is its own`);
    oldSize = reply.size;
    known.set(witness, oldSize);
  }
  known.delete(witness);
  throw new NotCosigned("says another size each time");
}

/**
 * A witness looks at the old size before it looks at the tree (tlog-witness), so 422 says that it cosigned a tree of that size which
 * this one does not continue. A 409 without a size that can be read says nothing about any tree.
 */
function refusedBy(status: number, oldSize: number): NotCosigned {
  if (status === 422)
    return new NotCosigned(`answered 422: it knows another tree of ${oldSize} leaves`, true);
  return new NotCosigned(
    status === 409 ? "answered 409 without a size that can be read" : `answered ${status}`,
  );
}

async function replyOf(
  asking: Asking,
  witness: ReachedWitness,
  request: Parameters<ReachedWitness["addCheckpoint"]>[0],
) {
  if (asking.hasEnded) throw new NotCosigned("did not answer in time");
  const call = witness.addCheckpoint(request);
  asking.calls.add(call);
  try {
    return await call.reply;
  } catch (error) {
    throw new NotCosigned(`cannot be reached: ${messageOf(error)}`);
  } finally {
    asking.calls.delete(call);
  }
}

/** The witness's own line of its answer (C1). Lines of other keys are ignored, as tlog-witness demands. */
function judged({ deps, note, request }: Asking, { key }: ReachedWitness, answer: string): NoteSignature {
  const { crypto, now } = deps;
  const hash = keyHashOf(key, crypto.sha256);
  const own = (parseCosignatures(request.note, answer) ?? []).filter(
    ({ name, keyHash }) => name === key.name && equalBytes(keyHash, hash),
  );
  const verified = verifyNote(crypto, { text: note.text, signatures: own }, key);
  const [line] = own;
  if (line === undefined || verified?.seconds == null)
    throw new NotCosigned("answered with no valid cosignature");
  if (verified.seconds > now() / 1_000 + aheadMaxSeconds)
    throw new NotCosigned("states a time that is ahead");
  return line;
}

// Checkpoints of the log, signed (C2SP signed-note): by the log's key, under the name that the anchors give it, and in a second line
// under the log's origin. A policy file can name a log only by a key of that name (C2SP tlog-policy).

export interface SignCheckpointDeps {
  readonly anchor: LogAnchor;
  readonly signer: SignerAt;
  readonly now: () => number;
  readonly sha256: Sha256;
}

/** Returns the note over a checkpoint's text. Throws {@link SigningUnavailable} where this node has no key of the log. */
export async function signCheckpoint(deps: SignCheckpointDeps, text: string): Promise<string> {
  const signer = deps.signer(formatTimestamp(deps.now()));
  const keys = noteKeysOf(deps.anchor, signer.publicJwk);
  if (keys.length === 0) throw new TypeError("The log's key is an Ed25519 key.");
  const signature = await signer.sign(logMessage(text));
  return formatNote({ text, signatures: keys.map((key) => logSignature(key, signature, deps.sha256)) });
}

// Checkpoints of the log, signed (C2SP signed-note): by the log's key, under the name that the anchors give it, and in a second line
// under the log's origin. A policy file can name a log only by a key of that name (C2SP tlog-policy).

import type { SignerAt } from "../crypto/port.ts";
import type { LogAnchor } from "../protocol/anchors.ts";
import type { Sha256 } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { formatNote, logMessage, logSignature, noteKeysOf } from "../protocol/log/note.ts";

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

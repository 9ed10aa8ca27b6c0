// The two documents that the service signs about every version that it publishes: the row and the sidecar. Where the keys
// are is the caller's matter; this file says which texts are signed and how the documents are put together.

import { toBase64 } from "./bytes.ts";
import { payloadTypes } from "./dsse.ts";
import { MessagePacker, type PackedMessages } from "./packed-messages.ts";
import { type ProjectedRow, projectedRowText } from "./projection/project.ts";
import { signedRowText } from "./row.ts";
import { type SidecarV2, sidecarPayloadText } from "./sidecar.ts";

/** Signs messages with one key. */
interface MessageSigner {
  readonly keyId: string;
  signMany(messages: PackedMessages): Promise<readonly Uint8Array[]>;
}

export interface VersionSigners {
  readonly projection: MessageSigner;
  readonly sidecar: MessageSigner;
}

export interface VersionTexts {
  readonly row: ProjectedRow;
  readonly sidecar: SidecarV2;
}

export interface SignedVersion {
  /** The exact signed text of the row. */
  readonly row: string;
  /** The sidecar envelope as JSON text. */
  readonly sidecar: string;
}

/** Signatures are Ed25519 and therefore deterministic: the same rows and sidecars produce the same text. */
export async function signRowsAndSidecars(
  signers: VersionSigners,
  versions: readonly VersionTexts[],
): Promise<readonly SignedVersion[]> {
  const texts = versions.map(({ row }) => projectedRowText(row));
  const [rowMessages, sidecarMessages] = [new MessagePacker(), new MessagePacker()];
  for (const text of texts) rowMessages.addText(text);
  const payloads = versions.map(({ sidecar }) =>
    sidecarMessages.addEnvelope(payloadTypes["sidecar.v2"], sidecarPayloadText(sidecar)),
  );
  const [rowSignatures, sidecarSignatures] = await Promise.all([
    signers.projection.signMany(rowMessages.pack()),
    signers.sidecar.signMany(sidecarMessages.pack()),
  ]);
  return versions.map((_, index) => {
    const rowSignature = rowSignatures[index];
    const sidecarSignature = sidecarSignatures[index];
    const payload = payloads[index];
    if (!rowSignature || !sidecarSignature || payload === undefined)
      throw new Error("A signer answered with too few signatures.");
    return {
      row: signedRowText(texts[index] as string, toBase64(rowSignature)),
      sidecar: sidecarEnvelope(payload, signers.sidecar.keyId, sidecarSignature),
    };
  });
}

/** The text of the envelope; the payload is given in base64. No part needs escaping. */
function sidecarEnvelope(payload: string, keyId: string, signature: Uint8Array): string {
  return `{"payloadType":"${payloadTypes["sidecar.v2"]}","payload":"${payload}","signatures":[{"keyid":"${keyId}","sig":"${toBase64(signature)}"}]}`;
}

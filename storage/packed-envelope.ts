// The envelope of a receipt as stores keep it. It is text three times over: a payload in base64, whose rows have hashes in hexadecimal digits
// and signatures in base64. Their bytes are less than half of it: of fifty rows, 7 kB instead of 18.
//   P1. What is unpacked is the text that was packed, byte for byte, whatever it was. Only what is written in exactly one way is packed (a
//       row with the members and order of protocol/receipt.ts, lower-case digits, strict base64); any other text is kept as it is.
//   P2. What is packed says all by itself: it needs no row, record or key to be read, and so outlives them.

import { concatBytes, parseBase64, parseHex, parseUtf8, toBase64, toHex, utf8 } from "../protocol/bytes.ts";

const mark = { whole: 0, packed: 1 } as const;

// The parts of an envelope between its values.
const beforeType = '{"payloadType":"';
const beforePayload = '","payload":"';
const beforeSigner = '","signatures":[{"keyid":"';
const beforeSealed = '","sig":"';
const afterSealed = '"}]}';
const signatureBytes = 64;

// The parts of a row's text between its values. A hash has 64 digits and becomes 32 bytes. A signature has 86 digits: the first 84 become 63
// bytes, and the last two stay digits, so that the signatures of all rows are converted at once.
const beforeHash = '{"adl_origin":"sha256:';
const beforeSignature = '","adl_row_sig":"';
const beforeVersion = '==","ai_policy_version":';
const beforeId = ',"record_id":"';
const afterRow = '"}';
const [hashDigits, hashBytes] = [64, 32];
const [signatureDigits, packedDigits, packedBytes] = [86, 84, 63];

/** Around what is left of a row in the text, and the end of the text: characters that no text has that is packed. */
const rowStart = "\u0001";
const rowEnd = "\u0002";
const textEnd = 0;
/** The last digits of the signature, the version, the id. */
const packedRowForm = new RegExp(`${rowStart}(..)([0-9]+),([^${rowEnd}]*)${rowEnd}`, "g");
/** Separates what is packed of an envelope. */
const line = "\n";
const taken = [rowStart, rowEnd, line, String.fromCharCode(textEnd)];

export function packEnvelope(envelope: string): Uint8Array {
  return packedParts(envelope) ?? concatBytes(Uint8Array.of(mark.whole), utf8(envelope));
}

/** Null for a text that is kept as it is (P1). */
function packedParts(envelope: string): Uint8Array | null {
  // Each from where the one before has ended, so that none shares a quotation mark with it.
  const payloadAt = envelope.indexOf(beforePayload, beforeType.length);
  const signerAt = envelope.indexOf(beforeSigner, payloadAt + beforePayload.length);
  const sealedAt = envelope.indexOf(beforeSealed, signerAt + beforeSigner.length);
  if (!envelope.startsWith(beforeType) || payloadAt < 0 || signerAt < 0 || sealedAt < 0) return null;
  if (!envelope.endsWith(afterSealed)) return null;
  const payloadType = envelope.slice(beforeType.length, payloadAt);
  const payload = textIn(parseBase64(envelope.slice(payloadAt + beforePayload.length, signerAt)));
  const keyId = envelope.slice(signerAt + beforeSigner.length, sealedAt);
  const sealed = parseBase64(envelope.slice(sealedAt + beforeSealed.length, -afterSealed.length));
  if (payload === "" || sealed?.length !== signatureBytes || /[^ -~]/.test(payloadType + keyId)) return null;
  if (taken.some((character) => payload.includes(character))) return null;
  const { text, hashes, signatures } = rowsTakenOut(payload);
  // Padding would end the digits of one, and so move those of the others.
  if (signatures.includes("=")) return null;
  const raw = [parseHex(hashes), parseBase64(signatures)].filter((part) => part !== null);
  if (raw.length < 2) return null;
  const head = utf8([payloadType, keyId, text].join(line));
  return concatBytes(Uint8Array.of(mark.packed), head, Uint8Array.of(textEnd), sealed, ...raw);
}

/** The text of a payload without the hashes and signatures of its rows, and the digits of those. */
function rowsTakenOut(payload: string) {
  let [text, hashes, signatures] = ["", "", ""];
  let from = 0;
  for (let at = payload.indexOf(beforeHash); at >= 0; at = payload.indexOf(beforeHash, at + 1)) {
    const hash = at + beforeHash.length;
    const signature = hash + hashDigits + beforeSignature.length;
    const version = signature + signatureDigits + beforeVersion.length;
    const versionEnd = payload.indexOf(beforeId, version);
    const end = payload.indexOf(afterRow, versionEnd + beforeId.length);
    const isRow =
      payload.startsWith(beforeSignature, hash + hashDigits) &&
      payload.startsWith(beforeVersion, signature + signatureDigits) &&
      versionEnd >= 0 &&
      end >= 0 &&
      /^[0-9]+$/.test(payload.slice(version, versionEnd));
    if (!isRow) continue;
    hashes += payload.slice(hash, hash + hashDigits);
    signatures += payload.slice(signature, signature + packedDigits);
    const lastDigits = payload.slice(signature + packedDigits, signature + signatureDigits);
    const id = payload.slice(versionEnd + beforeId.length, end);
    text += `${payload.slice(from, at)}${rowStart}${lastDigits}${payload.slice(version, versionEnd)},${id}${rowEnd}`;
    from = end + afterRow.length;
    at = from - 1;
  }
  return { text: text + payload.slice(from), hashes, signatures };
}

/** Throws for bytes that {@link packEnvelope} did not make. */
export function unpackEnvelope(packed: Uint8Array): string {
  if (packed[0] === mark.whole) return textOf(packed.subarray(1));
  const end = packed.indexOf(textEnd, 1);
  if (packed[0] !== mark.packed || end < 0) throw notPacked();
  const [payloadType = "", keyId = "", text = ""] = textOf(packed.subarray(1, end)).split(line);
  const rawStart = end + 1 + signatureBytes;
  const rows = (packed.length - rawStart) / (hashBytes + packedBytes);
  if (!Number.isInteger(rows) || rows < 0) throw notPacked();
  const hashes = toHex(packed.subarray(rawStart, rawStart + rows * hashBytes));
  const signatures = toBase64(packed.subarray(rawStart + rows * hashBytes));
  let row = 0;
  const payload = text.replace(packedRowForm, (_row, lastDigits: string, version: string, id: string) => {
    const hash = hashes.slice(row * hashDigits, (row + 1) * hashDigits);
    const signature = signatures.slice(row * packedDigits, (row + 1) * packedDigits);
    row += 1;
    return `${beforeHash}${hash}${beforeSignature}${signature}${lastDigits}${beforeVersion}${version}${beforeId}${id}${afterRow}`;
  });
  if (row !== rows) throw notPacked();
  const sealed = toBase64(packed.subarray(end + 1, rawStart));
  const encoded = toBase64(utf8(payload));
  return `${beforeType}${payloadType}${beforePayload}${encoded}${beforeSigner}${keyId}${beforeSealed}${sealed}${afterSealed}`;
}

/** Empty where there is none. */
function textIn(bytes: Uint8Array | null): string {
  return bytes === null ? "" : (parseUtf8(bytes) ?? "");
}

function textOf(bytes: Uint8Array): string {
  const text = parseUtf8(bytes);
  if (text === null) throw notPacked();
  return text;
}

function notPacked(): Error {
  return new Error("The envelope of a receipt was not written by this store.");
}

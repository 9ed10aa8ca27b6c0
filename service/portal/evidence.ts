// What people send with an application, to show who they are: for operators' eyes alone, and nothing of it is ever decoded here.
//   EF1. A file is judged before anything of it is stored: by its length, its first bytes, and what its sender says that it is, which
//         have to agree.
//   EF2. It is stored encrypted only, under the key of its application, which the application's actor has (AE1 in
//         actors/application/definition.ts), and bound to its place.
//   EF3. The bytes are stored before the actor lists them. What a crash in between leaves counts for its person until the application
//         ends, and is removed with it.
//   EF4. An operator is handed a file only once the actor has noted who takes it.

import type { EvidenceFile } from "../../actors/messages/application.ts";
import { applicationRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { CryptoPort, SecretBox } from "../../crypto/port.ts";
import { parseBase64Url, toBase64Url, toHex } from "../../protocol/bytes.ts";
import { evidenceBytesMax } from "../../protocol/limits.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type EvidenceStore, StoreError } from "../../storage/evidence-store.ts";
import { nameOf, newUuid, type SignedIn } from "./people.ts";

export interface EvidenceDeps extends Actors {
  readonly crypto: CryptoPort;
  readonly evidenceStore: EvidenceStore;
  readonly secretBox: SecretBox;
}

/** A file as it was sent. */
export interface SentFile {
  /** What its sender calls it, and says that it is. */
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export type EvidenceRefusal =
  | "evidence_type"
  | "evidence_too_large"
  | "evidence_full"
  | "too_much_evidence"
  | "not_waiting";

export interface Evidence {
  /** Adds a file to the person's own application; `network` is the one that it came from. Throws {@link StoreError}. */
  add(
    who: SignedIn,
    uuid: string,
    sent: SentFile,
    network: string | null,
  ): Promise<Result<void, EvidenceRefusal>>;
  /** False where the application is not the person's, or nobody waits for it any more. */
  remove(who: SignedIn, uuid: string, file: string): Promise<boolean>;
  /** Hands an operator a file, which is noted; null for one that does not exist, or no more. Throws {@link StoreError}. */
  view(
    name: { readonly uuid: string; readonly file: string },
    by: string,
  ): Promise<{ readonly evidence: EvidenceFile; readonly bytes: Uint8Array } | null>;
}

/** Adds and removes evidence, and hands it to operators (EF1 to EF3). */
export function createEvidence(deps: EvidenceDeps): Evidence {
  const { actors, evidenceStore, secretBox } = deps;
  return {
    add: (who, uuid, sent, network) => add(deps, who, { uuid, sent, network }),
    remove: async ({ person_id }, uuid, file) => {
      const command = { type: "evidence.remove", applicant: person_id, file } as const;
      return (await actors.ask(applicationRef(uuid), command)).status === "removed";
    },
    view: async ({ uuid, file }, by) => {
      const command = { type: "evidence.view", file, by, view: newUuid(deps) } as const;
      const found = await actors.ask(applicationRef(uuid), command);
      if (found === null) return null;
      const sealed = await evidenceStore.read({ application: uuid, file });
      if (sealed === null) throw new StoreError("not_applied", "a file of evidence is not here yet");
      const bytes = await secretBox.open(keyIn(found.key), sealed, placeOf(uuid, file));
      if (bytes === null)
        throw new Error("A file of evidence does not open with the key of its application.");
      return { evidence: found.evidence, bytes };
    },
  };
}

interface Adding {
  readonly uuid: string;
  readonly sent: SentFile;
  readonly network: string | null;
}

async function add(
  deps: EvidenceDeps,
  { person_id }: SignedIn,
  { uuid, sent, network }: Adding,
): Promise<Result<void, EvidenceRefusal>> {
  const { actors, crypto, evidenceStore, secretBox } = deps;
  const judged = judgeEvidence(sent);
  if (!judged.ok) return judged;
  const to = applicationRef(uuid);
  const fresh_key = toBase64Url(crypto.randomBytes(keyBytes));
  const begun = await actors.ask(to, { type: "evidence.begin", applicant: person_id, fresh_key });
  if (begun.status === "refused") return refused(begun.code);
  const [file, { bytes }] = [newUuid(deps), sent];
  const { sealed, sha256 } = await secretBox.seal(keyIn(begun.key), bytes, placeOf(uuid, file));
  const stored = { application: uuid, file, person: person_id, network, bytes: sealed };
  if ((await evidenceStore.put(stored)) === "full")
    return refuse("evidence_full", "There is no room for it now.");
  const listed = { file, ...judged.value, bytes: bytes.length, sha256: `sha256:${toHex(sha256)}` };
  const added = await actors.ask(to, { type: "evidence.add", applicant: person_id, added: listed });
  if (added.status === "added") return ok(undefined);
  await evidenceStore.forget({ application: uuid, file });
  return refused(added.code);
}

function refused(code: "not_open" | "too_many"): Result<never, EvidenceRefusal> {
  return code === "too_many"
    ? refuse("too_much_evidence", "The application has as many files as it may.")
    : refuse("not_waiting", "Nobody waits for it.");
}

const keyBytes = 32;

function keyIn(text: string): Uint8Array {
  const key = parseBase64Url(text);
  if (key?.length !== keyBytes) throw new Error("The key of an application's evidence has 32 bytes.");
  return key;
}

function placeOf(uuid: string, file: string): string {
  return `evidence/${uuid}/${file}`;
}

/** Each type with the bytes that its files begin with, and what their names end in; the first ending is written. */
const types = [
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d], ["pdf"]],
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], ["png"]],
  ["image/jpeg", [0xff, 0xd8, 0xff], ["jpg", "jpeg"]],
] as const;

/** What the file is called and is (EF1). The name has nothing in it that cannot be seen, and ends as its type does. */
export function judgeEvidence({
  filename,
  mediaType,
  bytes,
}: SentFile): Result<Pick<EvidenceFile, "name" | "media_type">, EvidenceRefusal> {
  if (bytes.length > evidenceBytesMax) return refuse("evidence_too_large", "A file has at most 10 MiB.");
  const [, stem = "", ending = ""] = /([^/\\]*)\.([^./\\]*)$/.exec(filename.slice(-filenameMax)) ?? [];
  const found = types.find(
    ([type, begins, endings]) =>
      type === mediaType.toLowerCase() &&
      endings.some((each) => each === ending.toLowerCase()) &&
      begins.every((byte, at) => bytes[at] === byte),
  );
  if (found === undefined) return refuse("evidence_type", "A file is a PDF, a PNG or a JPEG, and says so.");
  const [media_type, , [written]] = found;
  const seen = stem.replaceAll(/[\p{C}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu, "");
  const short = [...seen.normalize("NFC")].slice(0, stemLengthMax).join("");
  return ok({ media_type, name: `${nameOf(short) ?? "file"}.${written}` });
}

/** So much of a file's name is read, from its end. */
const filenameMax = 255;
const stemLengthMax = 80;

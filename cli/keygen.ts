// `svc keygen` and `svc prove-key`: a key pair for signing requests, and its proof for the operator who registers the public half.
// The private half stays in the file.

import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { generatePrivateJwk, parseSigningKey, proveToOperator } from "../client/signing-key.ts";
import { type Arguments, type Call, type Command, onlyArgument, UsageError } from "./command.ts";
import { loadKey } from "./connection.ts";

export const keygen: Command = {
  name: "keygen",
  usage: "",
  summary: "make a key pair for signing requests",
  options: `
    -o, --out FILE  file for the private JWK; it must not exist
    --alg ALG       Ed25519 (default) or ES256`,
  run: async (call) => {
    const out = call.text("out");
    if (out === null) throw new UsageError("Name a file for the private key with --out FILE.");
    const alg = algorithmOf(call);
    const jwk = await generatePrivateJwk(alg);
    const key = await parseSigningKey(jwk);
    if (!key.ok) throw new Error(key.detail);
    await writePrivate(resolve(call.cwd, out), `${JSON.stringify(jwk)}\n`);
    call.terminal.note(
      `The private key is in ${out}, readable only by you. This is its public half, which svc grant --key registers in a sandbox:`,
    );
    call.terminal.print(JSON.stringify({ key_id: key.value.keyId, alg, public_key: key.value.publicJwk }));
  },
};

export const proveKey: Command = {
  name: "prove-key",
  usage: "KEY_FILE --business UUID | --company UUID --certificate CERT_ID",
  summary: "prove that a key is yours, for the operator who registers it",
  details: [
    "  Prints what the operator needs (svc ops register-key): the public half, and a signature of the key over whose it is.",
    "  The operator tells you the UUID and the CERT_ID; the proof is worth nothing for another party or certificate.",
  ],
  options: `
    --business UUID        the business whose pushes and reads the key will sign
    --company UUID         the AI company whose searches and fetches the key will sign
    --certificate CERT_ID  the party's certificate in force, sha256:…`,
  run: async (call) => {
    const { printed } = await provenParty(call, onlyArgument(call, proveKey));
    call.terminal.print(JSON.stringify(printed));
  },
};

/** The proof of the key in a file, for the party that the options name. Throws {@link UsageError}. */
export async function provenParty(call: Call, file: string) {
  const [business, company] = [call.text("business"), call.text("company")];
  const uuid = business ?? company;
  if (uuid === null || (business !== null && company !== null))
    throw new UsageError("Name one party, with --business or --company.");
  const key = await parseSigningKey(
    await loadKey({ version: 1, key: { file: resolve(call.cwd, file) } }, "", call),
  );
  if (!key.ok) throw new UsageError(`The private key cannot be used: ${key.detail}`);
  const role = business === null ? "retrieval" : "integration";
  const certId = call.text("certificate") ?? "";
  const proven = await proveToOperator(key.value, { uuid, role, certId });
  if (!proven.ok) throw new UsageError(proven.detail);
  return { keyId: key.value.keyId, printed: proven.value };
}

/** The algorithm for a new key: `--alg`, by default Ed25519. */
export function algorithmOf(args: Arguments): "Ed25519" | "ES256" {
  const alg = args.text("alg") ?? "Ed25519";
  if (alg === "Ed25519" || alg === "ES256") return alg;
  throw new UsageError(`--alg is ${JSON.stringify(alg)}; use Ed25519 or ES256.`);
}

// Files that only their owner can read, and that never overwrite an existing one.

/** Throws {@link UsageError} where a file of that name exists. */
export async function writePrivate(path: string, text: string | Uint8Array): Promise<void> {
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw new UsageError((error as Error).message);
    throw new UsageError(`${path} exists and is not overwritten. Choose another name.`);
  }
}

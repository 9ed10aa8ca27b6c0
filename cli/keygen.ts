// `svc keygen`: creates a key pair for signing requests. The private half stays in the file; the public half is registered.

import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { generatePrivateJwk, parseSigningKey } from "../client/signing-key.ts";
import { type Arguments, type Command, UsageError } from "./command.ts";

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

/** The algorithm for a new key: `--alg`, by default Ed25519. */
export function algorithmOf(args: Arguments): "Ed25519" | "ES256" {
  const alg = args.text("alg") ?? "Ed25519";
  if (alg === "Ed25519" || alg === "ES256") return alg;
  throw new UsageError(`--alg is ${JSON.stringify(alg)}; use Ed25519 or ES256.`);
}

// Files that only their owner can read, and that never overwrite an existing one.

/** Throws {@link UsageError} where a file of that name exists. */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw new UsageError((error as Error).message);
    throw new UsageError(`${path} exists and is not overwritten. Choose another name.`);
  }
}

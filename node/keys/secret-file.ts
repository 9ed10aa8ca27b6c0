// Secrets in files of their own: readable by their owner only, like private keys.

import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { createFile } from "../../crypto/durable-file.ts";
import { toBase64Url } from "../../protocol/bytes.ts";
import { ConfigError } from "../configuration/config-error.ts";

const secretBytes = 32;
const groupAndWorld = 0o077;

/** Writes a 43-character secret to a new file. Throws {@link ConfigError} if the file exists. */
export async function writeSecret(path: string): Promise<void> {
  const secret = toBase64Url(randomBytes(secretBytes));
  if (await createFile(path, `${secret}\n`)) return;
  throw new ConfigError(path, "exists, and a secret is not overwritten; name another file");
}

/** The secret in a file. Throws {@link ConfigError} for one that is missing, readable by others, or too short. */
export async function loadSecret(path: string): Promise<string> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(path, `cannot be read (${error.code}); make it with \`svc keys create-secret\``);
  });
  try {
    const { mode } = await file.stat();
    if (process.platform !== "win32" && (mode & groupAndWorld) !== 0)
      throw new ConfigError(path, "can be read by other users; make another secret, in a file of mode 600");
    const secret = (await file.readFile("utf8")).trim();
    if (/^[A-Za-z0-9_-]{43,256}$/.test(secret)) return secret;
    throw new ConfigError(path, "holds no secret; make one with `svc keys create-secret`");
  } finally {
    await file.close();
  }
}

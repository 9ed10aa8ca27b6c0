// Private keys as files: one JWK per file, readable only by the owner of the process.
//   F1. A key that others could have read is refused and never used: nobody can know who else signs with it.
//   F2. A key file is complete or absent, whenever the process dies; when two writers create the same key, one wins for
//       both.

import { type FileHandle, mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { algorithmOf, type KeyAlgorithm } from "../protocol/keys/jwk.ts";
import { createFile } from "./durable-file.ts";
import { generatePrivateJwk, type PrivateJwk, parsePrivateJwk } from "./private-jwk.ts";

export type KeyStoreErrorCode =
  | "permissions_too_open"
  | "key_malformed"
  | "algorithm_mismatch"
  | "name_taken"
  | "name_invalid";

/** The reason why a key may not be used; the message names the file and the remedy. */
export class KeyStoreError extends Error {
  readonly code: KeyStoreErrorCode;
  constructor(code: KeyStoreErrorCode, message: string) {
    super(message);
    this.name = "KeyStoreError";
    this.code = code;
  }
}

const extension = ".jwk";
const ownerOnlyFolder = 0o700;
const ownerOnlyFile = 0o600;
const groupAndWorld = 0o077;
/** Windows keeps access rights in lists that these bits do not show. */
const hasModes = process.platform !== "win32";

export class FileKeyStore {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens the store in `folder`, creating the folder if it is missing. Throws {@link KeyStoreError}. */
  static async open(folder: string): Promise<FileKeyStore> {
    await mkdir(folder, { recursive: true, mode: ownerOnlyFolder });
    refuseOpen((await stat(folder)).mode, folder, "700");
    return new FileKeyStore(folder);
  }

  /** The names of the stored keys, in ascending order. */
  async names(): Promise<readonly string[]> {
    const files = await readdir(this.#folder);
    const names = files
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length));
    return names.sort();
  }

  /** The key with that name, or null. Throws {@link KeyStoreError} for a file that must not be used (F1). */
  async load(name: string): Promise<PrivateJwk | null> {
    const path = this.#path(name);
    const file = await openIfThere(path);
    if (file === null) return null;
    try {
      // Checks the open file, so that it cannot be swapped between the check and the read.
      refuseOpen((await file.stat()).mode, path, "600");
      return parseKey(await file.readFile("utf8"), path);
    } finally {
      await file.close();
    }
  }

  /** Loads a key like {@link load}; also throws {@link KeyStoreError} for a key of another algorithm. */
  async loadOfAlgorithm(name: string, algorithm: KeyAlgorithm): Promise<PrivateJwk | null> {
    const key = await this.load(name);
    return key === null ? null : this.#asserted(name, key, algorithm);
  }

  /**
   * The key with that name, generated first if there is none. Throws {@link KeyStoreError}, also for a key of another
   * algorithm.
   */
  async loadOrCreate(name: string, algorithm: KeyAlgorithm): Promise<PrivateJwk> {
    const key = (await this.load(name)) ?? (await this.#create(name, generatePrivateJwk(algorithm)));
    return this.#asserted(name, key, algorithm);
  }

  /** Generates a key under an unused name. Throws {@link KeyStoreError} if the name is taken: no key is ever overwritten. */
  async createNew(name: string, algorithm: KeyAlgorithm): Promise<PrivateJwk> {
    const made = generatePrivateJwk(algorithm);
    const path = this.#path(name);
    if (await createFile(path, `${JSON.stringify(made)}\n`, { mode: ownerOnlyFile })) return made;
    throw new KeyStoreError("name_taken", `${path} exists, and a key is not overwritten.`);
  }

  /** Stores `key` under `name` unless that name is taken; returns the key that the name then has (F2). */
  async #create(name: string, key: PrivateJwk): Promise<PrivateJwk> {
    const path = this.#path(name);
    if (await createFile(path, `${JSON.stringify(key)}\n`, { mode: ownerOnlyFile })) return key;
    const other = await this.load(name);
    if (other === null) throw new Error(`${path} was removed while its key was being made.`);
    return other;
  }

  #asserted(name: string, key: PrivateJwk, algorithm: KeyAlgorithm): PrivateJwk {
    if (algorithmOf(key) === algorithm) return key;
    throw new KeyStoreError(
      "algorithm_mismatch",
      `${this.#path(name)} is ${algorithmOf(key)}, but ${algorithm} is required.`,
    );
  }

  #path(name: string): string {
    if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name)) return join(this.#folder, name + extension);
    throw new KeyStoreError(
      "name_invalid",
      `"${name}" cannot name a key: lower-case letters, digits, ".", "_" and "-".`,
    );
  }
}

function refuseOpen(mode: number, path: string, wanted: string): void {
  if (!hasModes || (mode & groupAndWorld) === 0) return;
  const found = (mode & 0o777).toString(8);
  throw new KeyStoreError(
    "permissions_too_open",
    `${path} has mode ${found}: other users of this machine may read the private keys. ` +
      `If nobody did, run \`chmod ${wanted} ${path}\`; otherwise replace the keys.`,
  );
}

function parseKey(text: string, path: string): PrivateJwk {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new KeyStoreError("key_malformed", `${path} is not JSON.`);
  }
  const parsed = parsePrivateJwk(value);
  if (parsed.ok) return parsed.value;
  throw new KeyStoreError("key_malformed", `${path} contains no usable key: ${parsed.detail}`);
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

// A JSON file of the operator's whose `versions` come into force one after another.

import { readFile } from "node:fs/promises";
import { readShape, type Shape } from "../protocol/shape.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { ConfigError } from "./config-error.ts";

const fileBytesMax = 4 * 1024 * 1024;

interface Versioned {
  readonly versions: readonly { readonly version: number; readonly effective_from: string }[];
}

/** Reads a file of this shape, with its versions oldest first. Throws {@link ConfigError}, which names the place in it. */
export async function readVersionedFile<T extends Versioned>(
  shape: Shape<T>,
  { setting, path }: { readonly setting: string; readonly path: string },
): Promise<T> {
  const file = await readShaped(shape, setting, path);
  for (const [at, { version, effective_from }] of file.versions.entries()) {
    const earlier = file.versions[at - 1];
    if (earlier !== undefined && !(earlier.version < version && earlier.effective_from < effective_from))
      throw new ConfigError(
        setting,
        `/versions/${at} in ${path} does not come after the one before; order them by version and effective_from`,
      );
  }
  return file;
}

async function readShaped<T>(shape: Shape<T>, setting: string, path: string): Promise<T> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new ConfigError(
      setting,
      `${path} cannot be read (${String(error)}); name a JSON file, or unset it`,
    );
  });
  if (bytes.length > fileBytesMax)
    throw new ConfigError(setting, `${path} has ${bytes.length} bytes; use at most ${fileBytesMax}`);
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok)
    throw new ConfigError(setting, `${path} is not strict JSON (${parsed.detail}); write {"versions":[…]}`);
  const read = readShape(shape, parsed.value);
  if (read.ok) return read.value;
  const { pointer, detail } = read.fault;
  throw new ConfigError(setting, `${pointer || "the document"} in ${path}: ${detail}`);
}

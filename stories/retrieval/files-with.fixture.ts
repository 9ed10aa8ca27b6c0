// Looks for a text in every file below a folder, however stores write it. For tests.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A random word that no other text contains. */
export function secretWord(): string {
  const letters = crypto.getRandomValues(new Uint8Array(20));
  return Array.from(letters, (each) => String.fromCharCode(0x61 + (each % 26))).join("");
}

/**
 * What the bytes of a word look like: as text, and as base64 wherever it may begin in what was encoded. The first letters are left
 * out, as indexes do that share them with the word before.
 */
function formsOf(word: string): readonly Buffer[] {
  const text = word.slice(4);
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.from("x".repeat(before) + text).toString("base64");
    // What shares its characters with what is around it is left out.
    return encoded.slice(before === 0 ? 0 : 4, Math.floor((before + text.length) / 3) * 4);
  });
  return [text, ...base64].flatMap((form) => [Buffer.from(form), Buffer.from(form.toLowerCase())]);
}

/** The paths of all files below a folder that contain a word, each relative to the folder. */
export async function filesWith(folder: string, word: string): Promise<readonly string[]> {
  return (await filesWithAny(folder, [word])).map(({ file }) => file);
}

/** The same for several words, each file being read once. */
export async function filesWithAny(
  folder: string,
  words: readonly string[],
): Promise<readonly { readonly file: string; readonly words: readonly string[] }[]> {
  const forms = words.map((word) => ({ word, forms: formsOf(word) }));
  const found: { file: string; words: readonly string[] }[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // A store may remove a file meanwhile.
    const content = await readFile(path).catch(() => Buffer.alloc(0));
    const inIt = forms.filter((each) => each.forms.some((form) => content.includes(form)));
    if (inIt.length > 0)
      found.push({ file: path.slice(folder.length + 1), words: inIt.map(({ word }) => word) });
  }
  return found;
}

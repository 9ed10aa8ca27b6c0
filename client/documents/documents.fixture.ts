// Files of documents as texts, and what was read of them, for tests.

import { notesOf, pieces, recordOf } from "../feeds/feed.fixture.ts";
import { documentFaults } from "./document-check.ts";
import { type DocumentOptions, readDocuments } from "./read-documents.ts";

export interface ReadItem {
  readonly record: unknown;
  /** `attribute code` of every note. */
  readonly notes: readonly string[];
  /** Details of the notes that leave something out, with what they are about. */
  readonly left: readonly string[];
  /** `code pointer` of every fault in the record that is to be sealed. */
  readonly faults: readonly string[];
}

/** 1 December 2026. */
export const nowMs = Date.UTC(2026, 11, 1);

export async function read(
  contents: string | object,
  options: DocumentOptions & { readonly said?: Readonly<Record<string, string>> } = {},
): Promise<readonly ReadItem[]> {
  const text = typeof contents === "string" ? contents : JSON.stringify(contents);
  const { said = {}, ...rest } = options;
  const set = new Map(Object.entries(said));
  const { type, items } = await readDocuments(pieces(text), { nowMs, set, ...rest });
  return (await Array.fromAsync(items)).map((item) => ({
    record: recordOf(item),
    notes: notesOf(item),
    left: item.notes
      .filter(({ effect }) => effect !== "value_changed")
      .map(({ attribute, detail }) => `${attribute}: ${detail}`),
    faults:
      item.bytes === null
        ? []
        : documentFaults(type, item.bytes).map(({ code, pointer }) => `${code} ${pointer}`),
  }));
}

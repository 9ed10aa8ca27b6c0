// Who is told about the pushes of a business: a JSON file that an operator keeps, `{"<business uuid>": ["address", …]}`. It is
// read for every notice, so a change takes effect at once.

import { readFile } from "node:fs/promises";
import { isObject } from "../../std/is-object.ts";
import { mailAddress } from "./mail-config.ts";

/** Further addresses of a business are left out. */
const recipientsMax = 20;
const fileBytesMax = 16_777_216;

/** Throws if the file cannot be read as such a table; what cannot be an address is left out. */
export async function readRecipients(path: string, businessUuid: string): Promise<readonly string[]> {
  const text = await readFile(path, "utf8");
  if (text.length > fileBytesMax) throw new Error(`${path} is larger than ${fileBytesMax} characters.`);
  const table: unknown = JSON.parse(text);
  if (!isObject(table)) throw new Error(`${path} is not a JSON object.`);
  const listed = (table as Readonly<Record<string, unknown>>)[businessUuid];
  if (listed === undefined) return [];
  if (!Array.isArray(listed)) throw new Error(`${path} has no list of addresses for ${businessUuid}.`);
  const isAddress = (each: unknown): each is string => typeof each === "string" && mailAddress.test(each);
  return [...new Set(listed.filter(isAddress))].slice(0, recipientsMax);
}

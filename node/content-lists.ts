// The lists that the content rules judge by: a file of the operator's (`SVC_CONTENT_LISTS`). A misread list would allow or
// refuse the wrong things, so parsing is strict.

import { readFile, stat } from "node:fs/promises";
import { utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { isUuidV4 } from "../protocol/identifiers.ts";
import { isFindable, type OperatorLists, type ProtectedName } from "../protocol/records/content-lists.ts";
import { isArray } from "../protocol/records/record-validator.ts";
import { parseBlocked } from "../protocol/records/url-rule.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { isObject } from "../std/is-object.ts";
import { joinPointer } from "../std/json-pointer.ts";
import { ConfigError } from "./config-error.ts";

const setting = "SVC_CONTENT_LISTS";
export const contentListsBytesMax = 32 * 1024 * 1024;
const nameLengthMax = 200;
const ownersMax = 100;
const assignedBytesMax = 4_096;
const members = ["protected_names", "blocked_hosts", "exempt_names"] as const;
const form = '{"protected_names":[…],"blocked_hosts":[…],"exempt_names":[…]}';

/** Throws {@link ConfigError}, which names the place in the file. */
export async function loadContentLists(path: string): Promise<OperatorLists> {
  const parsed = parseStrictJson(await read(path));
  if (!parsed.ok) {
    const { pointer = "", detail } = parsed;
    throw refused(path, pointer, `is not strict JSON (${detail}); write ${form}`);
  }
  return parseLists(path, parsed.value);
}

async function read(path: string): Promise<Uint8Array> {
  let file: Awaited<ReturnType<typeof stat>>;
  let bytes: Uint8Array | null;
  try {
    file = await stat(path);
    bytes = file.isFile() && file.size <= contentListsBytesMax ? await readFile(path) : null;
  } catch (error) {
    throw new ConfigError(
      setting,
      `${path} cannot be read (${String(error)}); name a JSON file, or unset it`,
    );
  }
  if (bytes !== null) return bytes;
  throw new ConfigError(
    setting,
    file.isFile()
      ? `${path} has ${file.size} bytes; use at most ${contentListsBytesMax}`
      : `${path} is not a file; name a JSON file, or unset it`,
  );
}

function parseLists(path: string, value: JsonValue): OperatorLists {
  if (!isObject(value)) throw refused(path, "", `is not an object; write ${form}`);
  const unknown = Object.keys(value).find((name) => !(members as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw refused(path, pointerTo("", unknown), `is not a member of this file; use ${members.join(", ")}`);
  }
  const parse = <T>(member: (typeof members)[number], item: (value: JsonValue, at: Place) => T) =>
    parseList({ path, pointer: `/${member}` }, value[member], item);
  const protectedNames = parse("protected_names", parseProtected);
  checkAssigned(path, protectedNames);
  return {
    protectedNames,
    exemptNames: value["exempt_names"] === undefined ? [] : parse("exempt_names", parseText(faultOfName)),
    blockedHosts: parse("blocked_hosts", parseHost),
  };
}

interface Place {
  readonly path: string;
  readonly pointer: string;
}

function parseList<T>(
  { path, pointer }: Place,
  list: JsonValue | undefined,
  parseItem: (value: JsonValue, at: Place) => T,
): readonly T[] {
  if (list === undefined) throw refused(path, pointer, "is missing; write [] for an empty list");
  if (!isArray(list)) throw refused(path, pointer, "is not an array; write an array of strings");
  return list.map((item, index) => parseItem(item, { path, pointer: `${pointer}/${index}` }));
}

function parseText(faultOf: (text: string) => string | null): (value: JsonValue, at: Place) => string {
  return (value, { path, pointer }) => {
    const fault = typeof value === "string" ? faultOf(value) : "is not a string; write it in quotes";
    if (fault !== null) throw refused(path, pointer, fault);
    return value as string;
  };
}

/** A name, or a name with its owners. */
function parseProtected(value: JsonValue, at: Place): ProtectedName {
  if (!isObject(value)) return parseText(faultOfName)(value, at);
  const { path, pointer } = at;
  const { name = null, owners, ...rest } = value;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw refused(path, pointerTo(pointer, unknown), "is not a member of a name; use name and owners");
  const parsed = parseList({ path, pointer: `${pointer}/owners` }, owners, parseText(faultOfOwner));
  if (parsed.length > ownersMax)
    throw refused(path, `${pointer}/owners`, `has ${parsed.length} owners; name at most ${ownersMax}`);
  return { name: parseText(faultOfName)(name, { path, pointer: `${pointer}/name` }), owners: parsed };
}

/** The lists assigned to a business are stored with each of its pushes, so their size is bounded. */
function checkAssigned(path: string, names: readonly ProtectedName[]): void {
  const bytes = new Map<string, number>();
  for (const [index, each] of names.entries()) {
    if (typeof each === "string") continue;
    for (const owner of each.owners) {
      const sum = (bytes.get(owner) ?? 0) + utf8(each.name).length;
      bytes.set(owner, sum);
      const limit = `use at most ${assignedBytesMax} bytes of names for one business`;
      if (sum > assignedBytesMax)
        throw refused(path, `/protected_names/${index}`, `exceeds the limit for ${owner}; ${limit}`);
    }
  }
}

function faultOfOwner(owner: string): string | null {
  return isUuidV4(owner) ? null : "is not a business_uuid; write a UUID v4 in lower case";
}

function faultOfName(name: string): string | null {
  if (name.trim() === "") return "is empty; name a company or brand, or remove it";
  if (name.length > nameLengthMax) return `is longer than ${nameLengthMax} characters; write only the name`;
  return isFindable(name)
    ? null
    : `is ${JSON.stringify(name)}: names of fewer than three letters are not looked for; remove it`;
}

function parseHost(value: JsonValue, { path, pointer }: Place): string {
  const blocked = typeof value === "string" ? parseBlocked(value) : null;
  if (blocked !== null) return blocked;
  const fault = `is ${JSON.stringify(value).slice(0, nameLengthMax)}; write a host or an address, such as bad.example`;
  throw refused(path, pointer, fault);
}

function refused(path: string, pointer: string, fault: string): ConfigError {
  return new ConfigError(setting, `${pointer === "" ? path : `${pointer} in ${path}`} ${fault}`);
}

/** A pointer to the member, whose name is cut to the maximum length of a name. */
function pointerTo(pointer: string, name: string): string {
  return joinPointer(pointer, name.slice(0, nameLengthMax));
}

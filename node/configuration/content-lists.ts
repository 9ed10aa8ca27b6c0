// The lists that the content rules judge by: a file of the operator's (`SVC_CONTENT_LISTS`). A misread list would allow or
// refuse the wrong things, so parsing is strict.

import { readFile, stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { utf8 } from "../../protocol/bytes.ts";
import { isUuidV4 } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { type ItemPlace, splitArray } from "../../protocol/json/json-records.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import {
  isFindable,
  type OperatorLists,
  type ProtectedName,
  prepareNames,
} from "../../protocol/records/name-index.ts";
import { isArray } from "../../protocol/records/record-validator.ts";
import { parseBlocked, prepareBlocked } from "../../protocol/records/url-rule.ts";
import { isObject, joinPointer } from "../../std/json-pointer.ts";
import { inSteps } from "../../std/work.ts";
import { ConfigError } from "./config-error.ts";

const setting = "SVC_CONTENT_LISTS";
export const contentListsBytesMax = 32 * 1024 * 1024;
const nameLengthMax = 200;
const ownersMax = 100;
const assignedBytesMax = 4_096;
/** What one step reads: bytes of the file, then items of its lists. */
const stepBytes = 262_144;
const itemsPerStep = 1_000;
/** The file without the items of its lists is a few words. */
const restBytesMax = 65_536;
const members = ["protected_names", "blocked_hosts", "exempt_names"] as const;
const form = '{"protected_names":[…],"blocked_hosts":[…],"exempt_names":[…]}';

/** Where a list is read from: the path of a file, or what an operator sent, under a name for complaints. */
export type ListSource = string | { readonly name: string; readonly bytes: Uint8Array };

/** How complaints name it. */
export function nameOf(source: ListSource): string {
  return typeof source === "string" ? source : source.name;
}

/**
 * Reads the lists and prepares them for the rules. A node does so while it serves: it pauses after every step, however long
 * the file is. Throws {@link ConfigError}, which names the place in the file.
 */
export async function loadContentLists(
  source: ListSource,
  pause: () => Promise<void> = () => nextTurn(),
): Promise<OperatorLists> {
  const path = nameOf(source);
  const bytes = typeof source === "string" ? await read(source) : source.bytes;
  const lists = await inSteps(parseLists(path, bytes), pause);
  await inSteps(prepareNames(lists.protectedNames), pause);
  await inSteps(prepareNames(lists.exemptNames), pause);
  await inSteps(prepareBlocked(lists.blockedHosts), pause);
  return lists;
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

type Member = (typeof members)[number];

/** Where the items of a list lie in some bytes. */
interface Slices {
  readonly bytes: Uint8Array;
  readonly items: readonly ItemPlace[];
}

function* parseLists(path: string, bytes: Uint8Array): Generator<void, OperatorLists> {
  const slices = new Map<Member, Slices>();
  let rest = bytes;
  for (const member of members) {
    const split = yield* splitArray(rest, {
      member,
      itemsMax: bytes.length,
      stringBytesMax: bytes.length,
      stepBytes,
      values: true,
    });
    if (split.kind !== "split") throw notJson(path, `/${member}`, "the list is not closed, or has no commas");
    if (split.items === null) continue;
    slices.set(member, { bytes: rest, items: split.items });
    rest = split.rest;
  }
  if (rest.length > restBytesMax) throw refused(path, "", `has more than its lists; write ${form}`);
  const value = parsed(path, "", rest);
  if (!isObject(value)) throw refused(path, "", `is not an object; write ${form}`);
  const unknown = Object.keys(value).find((name) => !(members as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw refused(path, pointerTo("", unknown), `is not a member of this file; use ${members.join(", ")}`);
  }
  const parse = <T>(member: Member, item: (value: JsonValue, at: Place) => T) =>
    parseSlices({ path, pointer: `/${member}` }, { list: value[member], slices: slices.get(member) }, item);
  const protectedNames = yield* parse("protected_names", parseProtected);
  yield* checkAssigned(path, protectedNames);
  const exempt = value["exempt_names"] !== undefined;
  return {
    protectedNames,
    exemptNames: exempt ? yield* parse("exempt_names", parseText(faultOfName)) : [],
    blockedHosts: yield* parse("blocked_hosts", parseHost),
  };
}

/** Throws {@link ConfigError} for bytes that are not strict JSON. */
function parsed(path: string, pointer: string, bytes: Uint8Array): JsonValue {
  const json = parseStrictJson(bytes);
  if (json.ok) return json.value;
  throw notJson(path, `${pointer}${json.pointer ?? ""}`, json.detail);
}

function notJson(path: string, pointer: string, detail: string): ConfigError {
  return refused(path, pointer, `is not strict JSON (${detail}); write ${form}`);
}

interface Place {
  readonly path: string;
  readonly pointer: string;
}

/** A list of the file, whose items were left in the bytes: each is parsed alone. */
function* parseSlices<T>(
  place: Place,
  { list, slices }: { readonly list: JsonValue | undefined; readonly slices: Slices | undefined },
  parseItem: (value: JsonValue, at: Place) => T,
): Generator<void, readonly T[]> {
  if (slices === undefined) return parseList(place, list, parseItem);
  const { path } = place;
  const values: T[] = [];
  for (const [index, item] of slices.items.entries()) {
    if (index % itemsPerStep === itemsPerStep - 1) yield;
    const pointer = `${place.pointer}/${index}`;
    const bytes = slices.bytes.subarray(item?.start, item?.end);
    values.push(parseItem(parsed(path, pointer, bytes), { path, pointer }));
  }
  return values;
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
function* checkAssigned(path: string, names: readonly ProtectedName[]): Generator<void, void> {
  const bytes = new Map<string, number>();
  for (const [index, each] of names.entries()) {
    if (index % itemsPerStep === itemsPerStep - 1) yield;
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

// The lists that the content rules judge by: a file of the operator's (`SVC_CONTENT_LISTS`), read once, when a node starts.
// A list that is taken for another than was meant would let through, or refuse, what it should not: so it is read strictly.

import { readFile, stat } from "node:fs/promises";
import type { JsonValue } from "../protocol/canonical-json.ts";
import type { ContentLists } from "../protocol/records/content-rules.ts";
import { hostForm } from "../protocol/records/https-url.ts";
import { isArray, isObject } from "../protocol/records/record-validator.ts";
import { isFindable } from "../protocol/records/scope-rule.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { ConfigError } from "./config-error.ts";

const setting = "SVC_CONTENT_LISTS";
export const contentListsBytesMax = 32 * 1024 * 1024;
const nameLengthMax = 200;
const members = ["protected_names", "blocked_hosts"] as const;
const form = '{"protected_names":[…],"blocked_hosts":[…]}';

/** Empty lists for null. Throws {@link ConfigError}, which names the place in the file. */
export async function loadContentLists(path: string | null): Promise<ContentLists> {
  if (path === null) return { protectedNames: [], blockedHosts: [] };
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

function parseLists(path: string, value: JsonValue): ContentLists {
  if (!isObject(value)) throw refused(path, "", `is no object; write ${form}`);
  const unknown = Object.keys(value).find((name) => !(members as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw refused(path, `/${escaped(unknown)}`, `is not a member of this file; use ${members.join(" and ")}`);
  }
  return {
    protectedNames: parseList(path, "protected_names", value, faultOfName),
    blockedHosts: parseList(path, "blocked_hosts", value, faultOfHost),
  };
}

function parseList(
  path: string,
  member: (typeof members)[number],
  lists: { readonly [name: string]: JsonValue },
  faultOf: (text: string) => string | null,
): readonly string[] {
  const list = lists[member];
  if (list === undefined) throw refused(path, `/${member}`, "is missing; write [] for an empty list");
  if (!isArray(list)) throw refused(path, `/${member}`, "is no array; write an array of strings");
  return list.map((item, index) => {
    const fault = typeof item === "string" ? faultOf(item) : "is no string; write it in quotes";
    if (fault !== null) throw refused(path, `/${member}/${index}`, fault);
    return item as string;
  });
}

function faultOfName(name: string): string | null {
  if (name.trim() === "") return "is empty; name a company or brand, or remove it";
  if (name.length > nameLengthMax) return `is longer than ${nameLengthMax} characters; write the name alone`;
  return isFindable(name)
    ? null
    : `is ${JSON.stringify(name)}: names of fewer than three letters are not looked for; remove it`;
}

function faultOfHost(host: string): string | null {
  return hostForm.accepts(host)
    ? null
    : `is ${JSON.stringify(host.slice(0, nameLengthMax))}; write ${hostForm.meaning}, such as bad.example`;
}

function refused(path: string, pointer: string, fault: string): ConfigError {
  return new ConfigError(setting, `${pointer === "" ? path : `${pointer} in ${path}`} ${fault}`);
}

/** RFC 6901 §3, at most as long as a name. */
function escaped(name: string): string {
  return name.slice(0, nameLengthMax).replaceAll("~", "~0").replaceAll("/", "~1");
}

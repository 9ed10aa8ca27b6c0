// What a record says, once its form is right: the per-record checks of publishing that need the service's lists
// (specification, «Publish behaviour» 5). Pure: the same record and lists give the same faults.

import type { JsonObject, JsonValue } from "../canonical-json.ts";
import type { CollectionName } from "../identifiers.ts";
import type { Members } from "./fields.ts";
import { httpsUrlForm } from "./https-url.ts";
import { businessFileNames } from "./own-names.ts";
import { recordTypes } from "./parse-record.ts";
import { FaultList, type RecordFault } from "./record-fault.ts";
import { isArray, isObject } from "./record-validator.ts";
import {
  findDirective,
  findName,
  type NameIndex,
  nameIndex,
  type OwnNames,
  ownNameSet,
} from "./scope-rule.ts";
import { flaggedHostInText, flaggedHostOfUrl, flaggedHosts, type HostList } from "./url-rule.ts";

export interface ContentLists {
  /** Names of companies and brands that only their owners' records may name. */
  readonly protectedNames: readonly string[];
  /** Hosts of malware and phishing, lower case; their subdomains are meant too. */
  readonly blockedHosts: readonly string[];
}

/** A pointer in steps, `*` standing for every item or member. */
type Path = readonly string[];

/** Texts in which a record speaks. */
const spokenTexts: Readonly<Record<CollectionName, readonly Path[]>> = {
  products: [["product_name"], ["short_description"], ["tags", "*"]],
  business_files: [["description"], ["markets_served", "*"], ["represent_us", "*"]],
  events: [["title"], ["description"]],
  jobs: [["title"], ["description"]],
  updates: [["headline"], ["body"]],
};

interface Compiled {
  readonly names: NameIndex;
  readonly hosts: HostList;
}

const noNames: NameIndex = nameIndex([]);
const compiledLists = new WeakMap<ContentLists, Compiled>();
const compiledNames = new WeakMap<readonly string[], ReadonlySet<string>>();
const urlPaths = new Map<CollectionName, readonly Path[]>();

/**
 * Every `scope_violation` and `url_flagged` of a record that passed `parseRecord`. `ownNames` are the names of the business
 * itself and its brands, null for all names there are; the record's own `brand` is allowed as well, and in a business file
 * what it says of itself. Keep one `lists` object and one `ownNames`: they are prepared once.
 */
export function contentFaults(
  collection: CollectionName,
  record: JsonObject,
  lists: ContentLists,
  ownNames: readonly string[] | null = [],
): readonly RecordFault[] {
  const { names: protectedNames, hosts } = compile(lists);
  const names = ownNames === null ? noNames : protectedNames;
  const own = allOwnNames(collection, record, ownNames ?? []);
  const faults = new FaultList();
  for (const path of spokenTexts[collection]) {
    visit(record, path, (text, pointer) => {
      const directive = findDirective(text);
      if (directive !== null)
        faults.add(
          "scope_violation",
          pointer,
          `A record does not direct how other sources are treated: "${directive}".`,
        );
      const name = findName(text, names, own);
      if (name !== null)
        faults.add("scope_violation", pointer, `The text names another company or brand: "${name}".`);
      const host = flaggedHostInText(text, hosts);
      if (host !== null) faults.add("url_flagged", pointer, `The host ${host} is flagged as unsafe.`);
    });
  }
  for (const path of urlPathsOf(collection)) {
    visit(record, path, (url, pointer) => {
      const host = flaggedHostOfUrl(url, hosts);
      if (host !== null) faults.add("url_flagged", pointer, `The host ${host} is flagged as unsafe.`);
    });
  }
  return faults.faults;
}

function compile(lists: ContentLists): Compiled {
  const known = compiledLists.get(lists);
  if (known !== undefined) return known;
  const compiled = { names: nameIndex(lists.protectedNames), hosts: flaggedHosts(lists.blockedHosts) };
  compiledLists.set(lists, compiled);
  return compiled;
}

/** What the record itself names as its own is folded only once a protected name was found in it. */
function allOwnNames(collection: CollectionName, record: JsonObject, ownNames: readonly string[]): OwnNames {
  let ofRecord: ReadonlySet<string> | null = null;
  return {
    has: (name) => {
      ofRecord ??= ownNameSet(recordNames(collection, record));
      return ofRecord.has(name) || compileNames(ownNames).has(name);
    },
  };
}

function recordNames(collection: CollectionName, record: JsonObject): readonly string[] {
  const { brand } = record;
  return [
    ...(typeof brand === "string" ? [brand] : []),
    ...(collection === "business_files" ? businessFileNames(record) : []),
  ];
}

function compileNames(ownNames: readonly string[]): ReadonlySet<string> {
  const known = compiledNames.get(ownNames);
  if (known !== undefined) return known;
  const compiled = ownNameSet(ownNames);
  compiledNames.set(ownNames, compiled);
  return compiled;
}

function urlPathsOf(collection: CollectionName): readonly Path[] {
  const known = urlPaths.get(collection);
  if (known !== undefined) return known;
  const paths = [...pathsOfUrls(recordTypes[collection].members, [])];
  urlPaths.set(collection, paths);
  return paths;
}

function* pathsOfUrls(members: Members, path: Path): Generator<Path> {
  for (const [name, field] of Object.entries(members)) {
    const here = [...path, name];
    if (field.kind === "form" && field.form === httpsUrlForm) yield here;
    else if (field.kind === "object") yield* pathsOfUrls(field.members, here);
    else if (field.kind === "array" && field.items.kind === "object")
      yield* pathsOfUrls(field.items.members, [...here, "*"]);
  }
}

type Found = (text: string, pointer: string) => void;

/** Calls back with every string that a path leads to. */
function visit(record: JsonObject, path: Path, found: Found): void {
  step(record, { path, at: 0 }, "", found);
}

function step(
  value: JsonValue | undefined,
  { path, at }: { readonly path: Path; readonly at: number },
  pointer: string,
  found: Found,
): void {
  const name = path[at];
  const rest = { path, at: at + 1 };
  if (name === undefined) {
    if (typeof value === "string") found(value, pointer);
  } else if (name === "*") {
    if (isArray(value))
      for (const [index, item] of value.entries()) step(item, rest, `${pointer}/${index}`, found);
    else if (isObject(value))
      for (const key of Object.keys(value)) step(value[key], rest, `${pointer}/${key}`, found);
  } else if (isObject(value)) {
    step(value[name], rest, `${pointer}/${name}`, found);
  }
}

// What a record says, once its form is right: the per-record checks of publishing that need the service's lists
// (specification, «Publish behaviour» 5). Pure: the same record and lists give the same faults.

import type { JsonObject, JsonValue } from "../canonical-json.ts";
import type { CollectionName } from "../identifiers.ts";
import type { Members } from "./fields.ts";
import { httpsUrlForm } from "./https-url.ts";
import { recordTypes } from "./parse-record.ts";
import { FaultList, type RecordFault } from "./record-fault.ts";
import { isArray, isObject } from "./record-validator.ts";
import { findDirective, findName, type NameIndex, nameIndex, ownNameSet } from "./scope-rule.ts";
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

const compiledLists = new WeakMap<ContentLists, Compiled>();
const urlPaths = new Map<CollectionName, readonly Path[]>();

/**
 * Every `scope_violation` and `url_flagged` of a record that passed `parseRecord`. `ownNames` are the names of the business
 * itself and its brands; the record's own `brand` is allowed as well. Keep one `lists` object: it is prepared once.
 */
export function contentFaults(
  collection: CollectionName,
  record: JsonObject,
  lists: ContentLists,
  ownNames: readonly string[] = [],
): readonly RecordFault[] {
  const { names, hosts } = compile(lists);
  const faults = new FaultList();
  const brand = record["brand"];
  const own =
    names.byFirstWord.size === 0
      ? new Set<string>()
      : ownNameSet(typeof brand === "string" ? [...ownNames, brand] : ownNames);
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

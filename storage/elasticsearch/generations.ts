// The generations of a collection's index, and the role of each. The roles are held by aliases alone, which the cluster
// changes in one step; the cluster itself allows only one write index per alias, so if two nodes create one at once, the
// second is refused.
//   W1. A generation serves only once it holds every row: it is built in the other role, and the switch is the only way
//       from there. So an index that is missing is never replaced by an empty one: nothing serves until one is built.

import { indexUnavailable } from "../row-index.ts";
import { type Engine, EngineRefusal, malformed, memberOf, textOf } from "./engine.ts";
import { builderAlias, type IndexLayout, type IndexNames, rowsAlias } from "./layout.ts";

export interface Generations {
  /** Null where the index is missing: it was never built, or the cluster lost it. */
  readonly serving: string | null;
  /** The generation that is being built beside it. */
  readonly next: string | null;
  /** Generations in neither role: the remains of a switch. */
  readonly others: readonly string[];
  /** Highest number in use; 0 if there is none. */
  readonly numberMax: number;
}

export async function readGenerations(engine: Engine, names: IndexNames): Promise<Generations> {
  const answer = await engine.write({ method: "GET", path: `/${names.pattern}/_alias` });
  if (typeof answer !== "object" || answer === null) throw malformed("aliases");
  let serving: string | null = null;
  let next: string | null = null;
  let numberMax = 0;
  const others: string[] = [];
  for (const [index, entry] of Object.entries(answer)) {
    const number = names.number(index);
    if (number === null) continue;
    numberMax = Math.max(numberMax, number);
    const aliases = memberOf(entry, "aliases");
    if (memberOf(aliases, names.serving) !== undefined) serving = index;
    else if (memberOf(aliases, names.next) !== undefined) next = index;
    else others.push(index);
  }
  return { serving, next, others, numberMax };
}

/** The metadata stored with a generation. */
export interface GenerationNote {
  /** Digest of the layout to which it was last brought. */
  readonly digest: string;
  /** How its documents were made, by field (layout.ts). */
  readonly making: Readonly<Record<string, string>>;
  /** While it is being built: when its builder was last at work, in Unix milliseconds. */
  readonly built_at_ms?: number;
}

/** Reads the metadata of a generation; null if there is no such index or it has no metadata. */
export async function readNote(engine: Engine, index: string): Promise<GenerationNote | null> {
  let answer: unknown;
  try {
    answer = await engine.write({ method: "GET", path: `/${index}/_mapping?filter_path=*.mappings._meta` });
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return null;
    throw error;
  }
  const note = memberOf(memberOf(memberOf(answer, index), "mappings"), "_meta");
  const making = memberOf(note, "making");
  if (typeof making !== "object" || making === null) return null;
  const builtAtMs = memberOf(note, "built_at_ms");
  return {
    digest: textOf(memberOf(note, "digest")),
    making: Object.fromEntries(Object.entries(making).map(([name, how]) => [name, textOf(how)])),
    ...(typeof builtAtMs === "number" ? { built_at_ms: builtAtMs } : {}),
  };
}

/**
 * Replaces the metadata of a generation, and adds fields. Throws `EngineRefusal` if a field cannot be changed that way.
 */
export async function writeNote(
  engine: Engine,
  index: string,
  {
    note,
    properties = {},
  }: { readonly note: GenerationNote; readonly properties?: IndexLayout["properties"] },
): Promise<void> {
  const body = { _meta: note, properties };
  assertAcknowledged(await engine.write({ method: "PUT", path: `/${index}/_mapping`, body }));
}

export interface IndexSettings {
  /** Primary shards of each index; 1 by default. */
  readonly shards?: number;
  /** Replicas of each shard; `0-1` by default: one if the cluster has a second node. */
  readonly replicas?: number | `${number}-${number}`;
}

/** Twice the number of fields of the largest collection. */
const fieldsMax = 2_000;

/**
 * Creates a generation with its aliases, in one step. False if the cluster refused because one exists already, with that
 * number or in that role.
 */
export async function makeGeneration(
  engine: Engine,
  wanted: {
    readonly names: IndexNames;
    readonly layout: IndexLayout;
    readonly settings: IndexSettings;
    readonly number: number;
    readonly role: "serving" | "next";
    /** When its building began, and who alone can make it the serving one; for the role `next`. */
    readonly builtAtMs?: number;
    readonly builder?: string;
  },
): Promise<string | null> {
  const { names, layout, role, builtAtMs, builder } = wanted;
  const index = names.generation(wanted.number);
  const { shards = 1, replicas = "0-1" } = wanted.settings;
  const note: GenerationNote = {
    digest: layout.digest,
    making: layout.making,
    ...(builtAtMs === undefined ? {} : { built_at_ms: builtAtMs }),
  };
  const body = {
    settings: {
      number_of_shards: shards,
      ...(typeof replicas === "number"
        ? { number_of_replicas: replicas, auto_expand_replicas: false }
        : { auto_expand_replicas: replicas }),
      // Writers make their own rows visible; this is for rows whose writer died before doing so.
      refresh_interval: "5s",
      "index.mapping.total_fields.limit": fieldsMax,
      // Otherwise the terms are stored once more, as term vectors, so that a source could be returned: there is none.
      "index.mapping.exclude_source_vectors": false,
    },
    mappings: {
      _source: { enabled: false },
      dynamic: false,
      _meta: note,
      properties: layout.properties,
    },
    aliases: {
      [names[role]]: { is_write_index: true },
      [rowsAlias(index)]: {},
      ...(builder === undefined ? {} : { [builderAlias(index, builder)]: {} }),
    },
  };
  try {
    assertAcknowledged(await engine.write({ method: "PUT", path: `/${index}`, body }));
    return index;
  } catch (error) {
    // A second write index of the alias is reported as an illegal state.
    const isThere = ["resource_already_exists_exception", "illegal_state_exception"];
    if (error instanceof EngineRefusal && isThere.includes(error.type)) return null;
    throw error;
  }
}

export interface Switch {
  /** The serving generation; null if none is. */
  readonly from: string | null;
  readonly to: string;
  readonly builder?: string;
}

/**
 * Makes the generation that is being built the serving one (W1); false if the two no longer have these roles, or if another builder
 * has made one of that name since.
 */
export async function switchGenerations(
  engine: Engine,
  names: IndexNames,
  { from, to, builder }: Switch,
): Promise<boolean> {
  const body = {
    actions: [
      ...(from === null ? [] : [remove(from, names.serving)]),
      remove(to, names.next),
      ...removeBuilder(to, builder),
      { add: { index: to, alias: names.serving, is_write_index: true } },
    ],
  };
  try {
    assertAcknowledged(await engine.write({ method: "POST", path: "/_aliases", body }));
    return true;
  } catch (error) {
    if (error instanceof EngineRefusal) return false;
    throw error;
  }
}

/**
 * Removes a generation that is being built, by this builder if one is given; false if it no longer is. Its role is removed first: a
 * concurrent switch then finds it without the role, and cannot make a removed generation the serving one.
 */
export async function withdrawGeneration(
  engine: Engine,
  names: IndexNames,
  index: string,
  builder?: string,
): Promise<boolean> {
  const body = { actions: [remove(index, names.next), ...removeBuilder(index, builder)] };
  try {
    assertAcknowledged(await engine.write({ method: "POST", path: "/_aliases", body }));
  } catch (error) {
    if (error instanceof EngineRefusal) return false;
    throw error;
  }
  await removeGeneration(engine, index);
  return true;
}

/** An action on aliases that is refused, with all others beside it, where the index has no such alias. */
function remove(index: string, alias: string) {
  return { remove: { index, alias, must_exist: true } };
}

function removeBuilder(index: string, builder: string | undefined) {
  return builder === undefined ? [] : [remove(index, builderAlias(index, builder))];
}

/** Removes a generation without a role, which it will never have again; one that does not exist counts as removed. */
export async function removeGeneration(engine: Engine, index: string): Promise<void> {
  try {
    await engine.write({ method: "DELETE", path: `/${index}` });
  } catch (error) {
    if (!(error instanceof EngineRefusal && error.status === 404)) throw error;
  }
}

/** Waits until searches of the index can be answered. */
export async function awaitSearchable(engine: Engine, index: string): Promise<void> {
  const path = `/_cluster/health/${index}?wait_for_status=yellow&timeout=20s&filter_path=timed_out`;
  const answer = await engine.write({ method: "GET", path });
  if (memberOf(answer, "timed_out") !== false)
    throw indexUnavailable("incomplete", `Not all shards of ${index} are there.`);
}

/** Every node of the cluster knows of the change: later reads from any of them include it. */
function assertAcknowledged(answer: unknown): void {
  if (memberOf(answer, "acknowledged") !== true || memberOf(answer, "shards_acknowledged") === false)
    throw indexUnavailable("incomplete", "Not all nodes of the cluster applied the change in time.");
}

// Start-up: the serving generation of a collection has this node's layout as far as it can be migrated to it. Any number
// of nodes do this at once; what one node has done the others find done. Where nothing serves there is nothing to prepare:
// the index has to be built first (rebuild.ts).
//   L1. New fields are added to the mapping, so that rows from now on have them.
//   L2. Earlier rows do not have them. Until the index is rebuilt (rebuild.ts), a field that its rows may lack is
//       `lacking`, and a search that uses it is refused rather than answered with fewer rows (X5).

export interface PreparedIndex {
  readonly engine: Engine;
  readonly names: IndexNames;
  readonly layout: IndexLayout;
}

/** Other nodes may be switching generations meanwhile. */
const attemptsMax = 5;

/**
 * Brings the mapping of an older index up to date. Returns the names in `layout.making` that its rows may lack (L2): none if the
 * index is missing, because no row of it is found at all.
 */
export async function prepareIndex(index: PreparedIndex): Promise<ReadonlySet<string>> {
  const { engine, names } = index;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { serving } = await readGenerations(engine, names);
    if (serving === null) return new Set();
    await awaitSearchable(engine, serving);
    const lacking = await extend(index, serving);
    if (lacking !== null) return lacking;
  }
  throw indexUnavailable("incomplete", `The index ${names.serving} is being changed by others.`);
}

/** The fields that the rows of a generation may lack; null if the index no longer exists. */
async function extend(
  { engine, layout }: PreparedIndex,
  generation: string,
): Promise<ReadonlySet<string> | null> {
  const note = await readNote(engine, generation);
  if (note === null) return null;
  const lacking = lackingOf(layout, note.making);
  if (note.digest === layout.digest) return lacking;
  try {
    const properties = Object.fromEntries(
      Object.entries(layout.properties).filter(([name]) => !isRemade(layout, note.making, name)),
    );
    await writeNote(engine, generation, { note: { ...note, digest: layout.digest }, properties });
    return lacking;
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    if (error.status === 404) return null;
    // A field that every row has would have to change its kind: this node cannot search any of the index.
    return new Set(Object.keys(layout.making));
  }
}

/** Rereads the fields that the rows of the serving generation may lack: the index may have been rebuilt. */
export async function readLacking({ engine, names, layout }: PreparedIndex): Promise<ReadonlySet<string>> {
  const { serving } = await readGenerations(engine, names);
  const note = serving === null ? null : await readNote(engine, serving);
  return note === null ? new Set(Object.keys(layout.making)) : lackingOf(layout, note.making);
}

function lackingOf(layout: IndexLayout, making: Readonly<Record<string, string>>): ReadonlySet<string> {
  return new Set(Object.keys(layout.making).filter((name) => layout.making[name] !== making[name]));
}

/** Whether an existing field was made differently: its mapping may differ, which cannot be changed. */
function isRemade(layout: IndexLayout, making: Readonly<Record<string, string>>, property: string): boolean {
  const name = Object.keys(layout.making).find((each) =>
    each.endsWith("*")
      ? property.startsWith(each.slice(0, -1)) && property.length === each.length + 1
      : each === property,
  );
  return name !== undefined && making[name] !== undefined && making[name] !== layout.making[name];
}

// Whether the words of the definitions lead to the right tool and arguments, by a judge without a model: he knows nothing but which words
// are shared, and how rare they are (Okapi BM25). What he finds, a model finds; what he does not, its reader has to guess.

import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { isObject } from "../std/json-pointer.ts";
import { connected, testServer } from "./tool-server.fixture.ts";

interface Wanted {
  readonly request: string;
  readonly tool: string;
  /** Arguments or fields of the filter that the request speaks of. */
  readonly fields: readonly string[];
}

const wanted = JSON.parse(
  readFileSync(new URL("./tool-requests.json", import.meta.url), "utf8"),
) as readonly Wanted[];

/** Words by their stems, of which English endings are cut. */
function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  return words.map((word) => word.replace(/(?:ing|ies|es|ed|s|y|e)$/, ""));
}

/** The names with their texts, best first. */
function ranked(texts: ReadonlyMap<string, string>, request: string): readonly string[] {
  const documents = [...texts].map(([name, text]) => ({ name, words: wordsOf(text) }));
  const mean = documents.reduce((sum, { words }) => sum + words.length, 0) / documents.length;
  const scoreOf = (words: readonly string[]): number =>
    [...new Set(wordsOf(request))].reduce((score, word) => {
      const count = words.filter((each) => each === word).length;
      const having = documents.filter((each) => each.words.includes(word)).length;
      const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
      return score + (rarity * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / mean));
    }, 0);
  return documents
    .map(({ name, words }) => ({ name, score: scoreOf(words) }))
    .sort((one, other) => other.score - one.score)
    .map(({ name }) => name);
}

/** Every argument and, of a filter, every field, with its words. */
function fieldsOf(schema: unknown, into = new Map<string, string>()): Map<string, string> {
  for (const [name, member] of Object.entries(propertiesOf(schema))) {
    if (!isObject(member)) continue;
    const said = String(member["description"] ?? "");
    if (name !== "filter") into.set(name, `${name} ${name} ${said}`);
    else fieldsOfFilter(propertiesOf(member["items"])["field"], into);
  }
  return into;
}

/** The fields of a filter are explained in one text, each after its name. */
function fieldsOfFilter(field: unknown, into: Map<string, string>): void {
  const { enum: names, description } = field as {
    readonly enum: readonly string[];
    readonly description: string;
  };
  const places = names.map((name) => ({ name, at: description.indexOf(` ${name}: `) + 1 }));
  const ordered = places.toSorted((one, other) => one.at - other.at);
  for (const [index, { name, at }] of ordered.entries()) {
    expect(at).toBeGreaterThan(0);
    const said = description.slice(at, ordered[index + 1]?.at).replace(/\[[a-z ]+\]/g, "");
    into.set(name, `${name} ${said}`);
  }
}

function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
  return isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {};
}

let tools: ReadonlyMap<string, { readonly text: string; readonly fields: ReadonlyMap<string, string> }>;
beforeAll(async () => {
  await using own = await connected(await testServer([], { ads: true }));
  const { tools: listed } = await own.client.listTools();
  tools = new Map(
    listed.map(({ name, title = "", description = "", inputSchema }) => {
      const fields = fieldsOf(inputSchema);
      return [name, { text: [name, name, title, description, ...fields.values()].join(" "), fields }];
    }),
  );
});

it("leads at least 47 of fifty requests to their tool", () => {
  expect(wanted).toHaveLength(50);
  const texts = new Map([...tools].map(([name, { text }]) => [name, text]));
  const missed = wanted.filter(({ request, tool }) => ranked(texts, request)[0] !== tool);
  expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(3);
});

it("leads to at least nine of ten of the arguments that they speak of, among the first four of the tool", () => {
  const missed = wanted.flatMap(({ request, tool, fields }) => {
    const first = ranked(tools.get(tool)?.fields ?? new Map(), request).slice(0, 4);
    return fields.filter((field) => !first.includes(field)).map((field) => [request, field, first]);
  });
  const spoken = wanted.flatMap(({ fields }) => fields).length;
  expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(spoken / 10);
});

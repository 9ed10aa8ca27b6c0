import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { makeAdItem } from "./ad.fixture.ts";
import { makeScene } from "./scene.fixture.ts";

const { service, business, verifier } = makeScene();
let item: JsonObject;
beforeAll(async () => {
  item = await makeAdItem(service, business);
});

type Path = readonly (string | number)[];

/** What an item does not prove: it is the service's own, or (the purchase bit) may be withheld. */
const notJudged =
  /^(?:net_price\/(?:amount|currency)|keyword_matches|render_token|creative\/images\/[0-9]+\/url|row\/ai_policy_bits\/action)$/;

function* leaves(value: JsonValue, path: Path = []): Generator<Path> {
  if (value === null || typeof value !== "object") yield path;
  else
    for (const key of Object.keys(value))
      yield* leaves((value as JsonObject)[key] as JsonValue, [
        ...path,
        Array.isArray(value) ? Number(key) : key,
      ]);
}

function* members(value: JsonValue, path: Path = []): Generator<Path> {
  if (value === null || typeof value !== "object") return;
  for (const key of Object.keys(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    yield at;
    yield* members((value as JsonObject)[key] as JsonValue, at);
  }
}

type Place = Record<string | number, JsonValue>;

/** The item with the container at the end of a path changed. */
function edited(path: Path, edit: (place: Place, name: string | number) => void): JsonObject {
  const copy = structuredClone(item) as Place;
  let place = copy;
  for (const name of path.slice(0, -1)) place = place[name] as unknown as Place;
  edit(place, path.at(-1) as string | number);
  return copy as JsonObject;
}

function otherThan(value: JsonValue, at: number, by: string): JsonValue {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (value === null) return "x";
  const text = String(value);
  const index = text.length === 0 ? 0 : at % text.length;
  const other = text[index] === by ? "~" : by;
  return text.slice(0, index) + other + text.slice(index + 1);
}

it("of an ad is refused whatever single value in it is changed", () => {
  const judged = [...leaves(item)].filter((path) => !notJudged.test(path.join("/")));
  expect(judged.length).toBeGreaterThan(90);
  const change = fc.record({ at: fc.nat(100_000), by: fc.constantFrom(..."AQgw019abz_-/+=é") });
  for (const path of judged) {
    fc.assert(
      fc.property(change, ({ at, by }) => {
        const other = edited(path, (place, name) => {
          place[name] = otherThan(place[name] as JsonValue, at, by);
        });
        expect(verifier.adItem(other).valid, path.join("/")).toBe(false);
      }),
      { numRuns: 1 },
    );
  }
});

it("of an ad is refused whatever member of it is left out, added or repeated", () => {
  for (const path of members(item)) {
    const where = path.join("/");
    const without = edited(path, (place, name) => {
      if (Array.isArray(place)) place.splice(Number(name), 1);
      else delete place[name];
    });
    expect(verifier.adItem(without).valid, `without ${where}`).toBe(false);
    const more = edited(path, (place, name) => {
      if (Array.isArray(place)) place.push(structuredClone(place[Number(name)]));
      else place["another"] = 1;
    });
    expect(verifier.adItem(more).valid, `with more beside ${where}`).toBe(false);
  }
});

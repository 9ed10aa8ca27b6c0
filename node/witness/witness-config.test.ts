import { describe, expect, it } from "vitest";
import { sha256 } from "../../protocol/bytes.ts";
import { verifierKeyOf } from "../../protocol/log/note.ts";
import { noteKey } from "../../protocol/log/signed-log.fixture.ts";
import { ConfigError } from "../configuration/config-error.ts";
import { parseWitnesses } from "./witness-client.ts";

const keyOf = (name: string, seed: number, kind: "log" | "cosignature" = "cosignature") =>
  verifierKeyOf(noteKey(name, kind, seed), sha256);
const one = `${keyOf("w.test/1", 1)} https://w1.test/prefix/`;
const two = `${keyOf("w.test/2", 2)} https://w2.test`;
const read = (witnesses: string, more: Record<string, string> = {}) =>
  parseWitnesses({ SVC_LOG_WITNESSES: witnesses, ...more });

describe("the witnesses of the settings", () => {
  it("are none unless they are set, and then nobody is waited for", () => {
    expect(parseWitnesses({})).toEqual({ witnesses: [], quorum: 0, isSet: false });
    expect(read("")).toEqual({ witnesses: [], quorum: 0, isSet: true });
  });

  it("all have to cosign unless a quorum is set", () => {
    const { witnesses, quorum } = read(`${one}, ${two}`);
    expect(witnesses.map(({ key, url }) => [key.name, url])).toEqual([
      ["w.test/1", "https://w1.test/prefix"],
      ["w.test/2", "https://w2.test"],
    ]);
    expect(quorum).toBe(2);
    for (const count of [0, 1, 2])
      expect(read(`${one}, ${two}`, { SVC_LOG_WITNESS_QUORUM: String(count) }).quorum).toBe(count);
  });

  it("may be on a private network if that is set", () => {
    const plain = `${keyOf("w.test/1", 1)} http://10.0.0.7:7390`;
    expect(() => read(plain)).toThrow(/https URL, or set SVC_LOG_WITNESS_PRIVATE=yes/);
    const [witness] = read(plain, { SVC_LOG_WITNESS_PRIVATE: "yes" }).witnesses;
    expect(witness).toMatchObject({ url: "http://10.0.0.7:7390", mayBePrivate: true });
  });

  it.each<[string, string, Record<string, string>]>([
    ["a key without a URL", keyOf("w", 1), {}],
    ["a URL without a key", "https://w1.test", {}],
    ["a log's key", `${keyOf("w", 1, "log")} https://w1.test`, {}],
    ["a key that was changed", `${one.replace("w.test/1", "w.test/3")}`, {}],
    ["words behind the URL", `${one} more`, {}],
    ["another scheme", `${keyOf("w", 1)} ftp://w1.test`, {}],
    ["a query", `${one}?a=b`, {}],
    ["one name twice", `${one}, ${keyOf("w.test/1", 2)} https://w2.test`, {}],
    ["one key under two names", `${one}, ${keyOf("w.test/2", 1)} https://w2.test`, {}],
    ["a quorum that is larger", one, { SVC_LOG_WITNESS_QUORUM: "2" }],
    ["a quorum that is no number", one, { SVC_LOG_WITNESS_QUORUM: "all" }],
    ["a private network that is neither yes nor no", one, { SVC_LOG_WITNESS_PRIVATE: "maybe" }],
    [
      "too many",
      Array.from({ length: 17 }, (_, at) => `${keyOf(`w${at}`, at + 1)} https://w.test`).join(","),
      {},
    ],
  ])("are refused with %s", (_what, witnesses, more) => {
    expect(() => read(witnesses, more)).toThrow(ConfigError);
  });
});

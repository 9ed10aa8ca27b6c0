// Faults that are planted into the code that is fuzzed, one at a time and only in the process that fuzzes it, to see that each is found.
// A fault whose text is not in its file any more, or whose file is not used, is an error by its name: it would change nothing.

import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../process.ts";

export interface PlantedFault {
  readonly name: string;
  /** The target that has to find it. */
  readonly target: string;
  readonly path: string;
  /** What stands in the file exactly once, and what stands there instead. */
  readonly was: string;
  readonly becomes: string;
}

export const plantedFaults: readonly PlantedFault[] = [
  {
    ...{ name: "duplicateMembersPass", target: "strict-json", path: "protocol/strict-json.ts" },
    ...{ was: "countMembers(value) === colons", becomes: "countMembers(value) <= colons" },
  },
  {
    ...{ name: "membersAreNotSorted", target: "strict-json", path: "protocol/canonical-json.ts" },
    ...{ was: "Object.keys(object).sort()", becomes: "Object.keys(object)" },
  },
  {
    ...{ name: "signatureOfAnotherLabel", target: "signature-headers", path: "protocol/http-signature.ts" },
    ...{
      was: "if (!input || !value || input[1] !== value[1]) return null;",
      becomes: "if (!input || !value) return null;",
    },
  },
  {
    ...{ name: "rangeOfAnyWidth", target: "source-address", path: "std/ip-address.ts" },
    ...{ was: "prefix < 0 || prefix > network.width ? null", becomes: "prefix < 0 ? null" },
  },
  {
    ...{ name: "itemsWithoutCommas", target: "publish-body", path: "protocol/json-records.ts" },
    ...{
      was: 'if (!reader.take(comma)) return { kind: "malformed", at: reader.at };',
      becomes: "reader.take(comma);",
    },
  },
  {
    ...{ name: "lineEndInTwoPieces", target: "feed", path: "client/feeds/csv.ts" },
    ...{
      was: 'next === undefined || (next === "\\r" && reader.at + 1 === reader.text.length)',
      becomes: "next === undefined",
    },
  },
  {
    ...{ name: "beginningOfALineIsLost", target: "record-lines", path: "service/record-lines.ts" },
    ...{ was: "concatBytes(...this.#begun, rest)", becomes: "concatBytes(...this.#begun.slice(-1), rest)" },
  },
  {
    ...{ name: "delimiterInTwoPieces", target: "multipart", path: "api/multipart.ts" },
    ...{
      was: "this.#rest.length - (this.#delimiter.length - 1)",
      becomes: "this.#rest.length - (this.#delimiter.length - 2)",
    },
  },
  {
    ...{ name: "repeatedRecordIsNotCompared", target: "evidence", path: "verifier/fetched-record.ts" },
    ...{ was: 'exactly(exact.record, shown, "/record")', becomes: 'exactly(undefined, shown, "/record")' },
  },
  {
    ...{ name: "noteWithoutItsEnd", target: "log-notes", path: "protocol/log/note.ts" },
    ...{ was: 'split < 0 || !note.endsWith("\\n")', becomes: "split < 0" },
  },
  {
    ...{ name: "imageWithoutItsEnd", target: "image", path: "service/image-structure.ts" },
    ...{ was: 'if (end > bytes.length) return "cut_off";', becomes: "" },
  },
  {
    ...{ name: "textOfAnyLength", target: "work-between-looks", path: "protocol/records/record-texts.ts" },
    ...{ was: " && value.length <= 2 * place.lengthMax", becomes: "" },
  },
];

/** Plants a fault; call it before the code is loaded. Returns a check, for when it is, that the fault is there. */
export function plantFault(fault: PlantedFault): () => void {
  const { name, path, was, becomes } = fault;
  const wanted = pathToFileURL(join(root, path)).href;
  let isPlanted = false;
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (url !== wanted) return loaded;
      const parts = String(loaded.source).split(was);
      if (parts.length !== 2)
        throw new Error(`The fault ${name} changes nothing: its text is not once in ${path}.`);
      isPlanted = true;
      return { ...loaded, source: parts.join(becomes) };
    },
  });
  return () => {
    if (!isPlanted) throw new Error(`The fault ${name} changes nothing: ${path} is not used.`);
  };
}

// Evidence files and the notes of the log: what is read is what was written, and what was changed is not believed.

import { nativeCrypto } from "../../crypto/native.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { formatCheckpoint, formatNote, parseCheckpoint, parseNote } from "../../protocol/log/note.ts";
import { unsignedMembers } from "../../protocol/unsigned-members.ts";
import { isObject } from "../../std/json-pointer.ts";
import { memberSubjects } from "../../verifier/answers.fixture.ts";
import { type FuzzTarget, mustEqual, outcomeOf } from "./target.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const subjects = await memberSubjects(nativeCrypto);
const subject = subjects.find(({ name }) => name === "evidence of a product");
if (subject === undefined) throw new Error("There is evidence of a product.");
const { judge } = subject;
const genuine = subject.value as JsonObject;

/** What a valid file says of the record; members that no signature covers are named by the report. */
function signedParts({ fetched }: JsonObject): string {
  const unsigned = unsignedMembers.flatMap(({ answer, member }) =>
    answer === "fetch" ? [member.split("/")[1]] : [],
  );
  const members = Object.entries(fetched as JsonObject).filter(([name]) => !unsigned.includes(name));
  return canonicalize(Object.fromEntries(members));
}

/** The genuine file with changes, one a line: a path, a space, and the JSON that stands there then; without any, the member is gone. */
function changedBy(input: Uint8Array): Uint8Array {
  const file = structuredClone(genuine) as Place;
  for (const line of new TextDecoder().decode(input).split("\n")) {
    const end = `${line} `.indexOf(" ");
    const [names, json] = [line.slice(0, end).split("/"), line.slice(end + 1)];
    let place: JsonValue | undefined = file as JsonValue;
    for (const name of names.slice(0, -1)) place = isObject(place) ? (place as Place)[name] : undefined;
    const parsed = json === "" ? null : parseStrictJson(utf8(json));
    const name = names.at(-1) ?? "";
    if (!isObject(place) || name === "" || name === "__proto__") continue;
    if (parsed === null) delete (place as Place)[name];
    else if (parsed.ok) (place as Place)[name] = parsed.value;
  }
  return utf8(JSON.stringify(file));
}

type Place = Record<string, JsonValue>;

/** Every path of the file that is not too deep for a change to find by chance. */
const paths = Object.keys(genuine).flatMap((name) => [
  name,
  ...Object.keys(isObject(genuine[name]) ? genuine[name] : {}).map((each) => `${name}/${each}`),
]);
const record = JSON.stringify((genuine["fetched"] as JsonObject)["record"]);

const evidence: FuzzTarget = {
  name: "evidence",
  seeds: [
    "",
    'record_base64 "e30="',
    "certificate\nmandate",
    'fetched/record {"brand":"x"}\ncaller_key_id null',
  ].map(utf8),
  words: ["\n", " ", "/", "null", '""', "{}", "1", `"${utf8(record).toBase64()}"`, '"e30="', ...paths],
  check: (input) => {
    const bytes = changedBy(input);
    const report = judge(bytes);
    const states = report.checks.map(({ name, state }) => `${name} ${state}`).join(" ");
    if (!report.valid) return states.slice(0, 200);
    const file = JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
    mustEqual(signedParts(file), signedParts(genuine), "the answer in a valid file");
    const { record_base64: repeated } = file;
    if (typeof repeated === "string")
      mustEqual(
        new TextDecoder().decode(Uint8Array.fromBase64(repeated)),
        record,
        "the record that is repeated",
      );
    return `valid ${states}`.slice(0, 400);
  },
};

const checkpoint = formatCheckpoint({
  origin: "svc.test/log",
  size: 3,
  root: new Uint8Array(32).fill(1),
  extensions: [],
});
const signed = (text: string, ...names: readonly string[]): string =>
  formatNote({
    text,
    signatures: names.map((name) => ({ name, keyHash: new Uint8Array(4), bytes: new Uint8Array(64) })),
  });

const notes: FuzzTarget = {
  name: "log-notes",
  seeds: [signed(checkpoint, "svc.test/log", "witness.test/one"), signed("a\n\nb\n", "x")].map(utf8),
  words: ["\n", "\n\n", "\u2014 ", "+", " ", "=", "AAAAAAAA", "0", "9007199254740993"],
  check: (input) => {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(input);
    const note = parseNote(text);
    if (!note.ok) return outcomeOf(note);
    mustEqual(formatNote(note.value), text, "the note, written again");
    const read = parseCheckpoint(note.value.text);
    if (read.ok) mustEqual(formatCheckpoint(read.value), note.value.text, "the checkpoint, written again");
    return `${note.value.signatures.length > 1} ${outcomeOf(read)}`;
  },
};

export const signedFileTargets: readonly FuzzTarget[] = [evidence, notes];

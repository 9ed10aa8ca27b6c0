// Cases about checkpoints: who signed them, what a note may contain, and whose cosignatures they need.

import { sha256 } from "../../protocol/bytes.ts";
import {
  formatNote,
  logMessage,
  logSignature,
  type NoteSignature,
  noteKeyOf,
  parseNote,
  verifierKeyOf,
} from "../../protocol/log/note.ts";
import { cosign, noteKey, type TestNoteKey } from "../../protocol/log/signed-log.fixture.ts";
import { makeServiceKey, soleKey, type TestService } from "../../verifier/service.fixture.ts";
import { signBytes, withSeed } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import type { NoteOf } from "./log-cases.fixture.ts";
import { casesOf, nextLogKey, type World } from "./world.fixture.ts";

export function checkpointCases({ production: { service } }: World, noteOf: NoteOf): readonly VectorCase[] {
  const { good, bad, under } = casesOf("checkpoint");
  const reason = "checkpoint_invalid";
  const note = noteOf(5);
  const next = nextLogKey();
  const changing = under("two-log-keys");
  const [, nextLine = ""] = noteOf(5, { key: next }).split("\n\n");
  const [, wrongLine = ""] = noteOf(6, { key: next }).split("\n\n");
  const underOrigin = (size: number) =>
    noteOf(size, { name: service.anchors.log.origin }).split("\n\n")[1] ?? "";
  const [byOrigin, otherByOrigin] = [underOrigin(5), underOrigin(6)];
  const extended = (further: string, size = "5") => ({
    note: signedText(service, `${note.split("\n\n")[0]?.replace("\n5\n", `\n${size}\n`)}\n${further}`),
  });
  const line = "— a.test aGVsbG8=\n";
  const stranger = withSeed("svc public test vectors: another log key", () => makeServiceKey("log"));
  return [
    good("of the log", "The anchored log, under the log key of the key set.", { note }, { value: 5 }),
    bad(reason, "origin", "Another log.", { note: noteOf(5, { origin: "log.test/other" }) }),
    bad(reason, "name", "The log's key under another name.", { note: noteOf(5, { name: "svc-log2" }) }),
    bad(reason, "unknown key", "A key that the key set does not have.", {
      note: noteOf(5, { key: stranger }),
    }),
    bad(reason, "another use", "A working key of another use.", {
      note: noteOf(5, { key: service.statement }),
    }),
    under("log-key-compromised").bad(
      reason,
      "key compromised",
      "A checkpoint states no time, so a compromised key signs none.",
      { note },
    ),
    changing.good(
      "changing keys: the first",
      "The log has two keys, and the first one signed.",
      { note },
      { value: 5 },
    ),
    changing.good(
      "changing keys: both",
      "The log has two keys, and both signed.",
      { note: note + nextLine },
      { value: 5 },
    ),
    changing.bad(
      reason,
      "changing keys: a wrong line",
      "The first key signed, and a line of the second is wrong.",
      { note: note + wrongLine },
    ),
    changing.bad(
      reason,
      "changing keys: a wrong line first",
      "A line of the second key is wrong, and the first signed.",
      { note: note.replace("\n\n", `\n\n${wrongLine}`) },
    ),
    good(
      "a wrong line of an unknown key",
      "What an unknown key signed is ignored.",
      { note: note + wrongLine },
      { value: 5 },
    ),
    good(
      "under both names",
      "The log's key signed under its own name, and under the log's origin.",
      { note: note + byOrigin },
      { value: 5 },
    ),
    good(
      "under the origin",
      "The log's key signed under the log's origin alone.",
      { note: noteOf(5, { name: service.anchors.log.origin }) },
      { value: 5 },
    ),
    bad(
      reason,
      "a wrong line under the origin",
      "The line under the log's origin is of another checkpoint.",
      {
        note: note + byOrigin.replace(/ [^ ]+$/, ` ${otherByOrigin.split(" ").at(-1)}`),
      },
    ),
    good("further lines", "20 further lines.", extended("x\n".repeat(20)), { value: 5 }),
    good(
      "a character behind ASCII",
      "U+007F and U+0085, which a note may have.",
      extended("\u007f\u0085\n"),
      { value: 5 },
    ),
    ...["\u0000", "\t", "\r"].map((character) =>
      bad(
        reason,
        `control character ${character.charCodeAt(0)}`,
        "A control character in a further line.",
        extended(`a${character}b\n`),
      ),
    ),
    bad(reason, "an empty further line", "A further line is empty.", extended("a\n\nb\n")),
    bad(reason, "size of 2^53", "A size that is not exact.", extended("", String(2 ** 53))),
    good("100 signatures", "As many as a note has.", { note: note + line.repeat(99) }, { value: 5 }),
    bad(reason, "101 signatures", "One more than a note has.", { note: note + line.repeat(100) }),
    bad(reason, "a name with a space", "A name with a space of Unicode.", {
      note: note + line.replace("a.test", "a\u0085test"),
    }),
    bad(reason, "a name with a plus sign", "A name with a plus sign.", {
      note: note + line.replace("a.test", "a+test"),
    }),
    bad(reason, "a line feed in a signature", "A signature line that goes on.", {
      note: note.replace(/.{8}\n$/, "\n$&"),
    }),
    bad(reason, "size", "Another size under the same signature.", { note: note.replace("\n5\n", "\n6\n") }),
    bad(reason, "size with a zero", "A size with a leading zero.", { note: note.replace("\n5\n", "\n05\n") }),
    bad(reason, "no signature", "The text alone.", { note: `${note.split("\n\n")[0]}\n` }),
    bad(reason, "no line feed", "The last line has no end.", { note: note.slice(0, -1) }),
    bad(reason, "another dash", "The signature line begins with a hyphen.", {
      note: note.replace("— ", "- "),
    }),
  ];
}

/** A note over any text, signed by the log's key. */
function signedText({ log }: TestService, text: string): string {
  const signer = soleKey(log);
  const named = noteKeyOf("svc-log", signer.jwk);
  if (named === null) throw new Error("It is an Ed25519 key.");
  return formatNote({
    text,
    signatures: [logSignature(named, signBytes(signer, logMessage(text)), sha256)],
  });
}

export function witnessCases(noteOf: NoteOf): readonly VectorCase[] {
  const { good, bad } = casesOf("checkpoint");
  const keys = [1, 2, 3].map((seed) => noteKey(`witness.test/w${seed}`, "cosignature", seed));
  const [one, two, three] = keys as [TestNoteKey, TestNoteKey, TestNoteKey];
  const vkeys = keys.map((key) => verifierKeyOf(key, sha256));
  const text = `${noteOf(5).split("\n\n")[0]}\n`;
  const by = (key: TestNoteKey) => cosign(key, text, 1_800_000_000);
  const cosigned = (lines: readonly NoteSignature[], quorum = 2, of: readonly string[] = vkeys) => {
    const parsed = parseNote(noteOf(5));
    if (!parsed.ok) throw new Error(parsed.detail);
    const note = formatNote({ ...parsed.value, signatures: [...parsed.value.signatures, ...lines] });
    return { note, witnesses: { keys: of, quorum } };
  };
  const reason = "checkpoint_invalid";
  const found = { value: 5 };
  const says = "At least two of three witnesses have to have cosigned it";
  const refused = (name: string, why: string, lines: readonly NoteSignature[]) =>
    bad(reason, `witnesses: ${name}`, `${says}: ${why}.`, cosigned(lines));
  return [
    good("witnesses: two of three", `${says}.`, cosigned([by(one), by(three)]), found),
    good(
      "witnesses: in another order",
      `${says}, in any order.`,
      cosigned([by(three), by(two), by(one)]),
      found,
    ),
    good(
      "witnesses: and a stranger",
      "A line of a witness that the policy does not name is ignored.",
      cosigned([by(noteKey("witness.test/w9", "cosignature", 9)), by(one), by(three)]),
      found,
    ),
    good("witnesses: none asked for", "A policy of no witness.", cosigned([], 0, []), found),
    refused("none", "none did", []),
    refused("one", "one did", [by(one)]),
    refused("one twice", "one did, twice", [by(one), by(one)]),
    refused("another name", "one signed under another name", [
      by(one),
      by({ ...two, name: "witness.test/w7" }),
    ]),
    refused("another key", "one signed with another key", [by(one), by(noteKey(two.name, "cosignature", 8))]),
    refused("another size", "one cosigned another size", [
      by(one),
      cosign(two, text, 1_800_000_000, { of: text.replace("\n5\n", "\n6\n") }),
    ]),
    refused("another time", "one line has another time than was signed", [
      by(one),
      { ...by(two), bytes: by(two).bytes.with(7, 1) },
    ]),
    refused("a time of zero", "one cosigned at no time", [by(one), cosign(two, text, 0)]),
    refused("no time", "one line has no time", [by(one), { ...by(two), bytes: by(two).bytes.slice(8) }]),
    refused("one of three wrong", "two did, and a third line is wrong", [
      by(one),
      by(two),
      { ...by(three), bytes: by(three).bytes.with(70, 1) },
    ]),
    bad(
      reason,
      "witnesses: too few",
      "A policy that asks for more witnesses than it names.",
      cosigned([by(one), by(two), by(three)], 4),
    ),
    bad(
      reason,
      "witnesses: the same twice",
      "A policy that names a witness twice.",
      cosigned([by(one)], 1, [...vkeys, vkeys[0] ?? ""]),
    ),
  ];
}

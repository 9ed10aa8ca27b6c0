// Verification of an evidence file with the proofs of the log, offline in a real browser, against its signatures alone.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { toBase64 } from "../../protocol/bytes.ts";
import { verifySignature } from "../../protocol/keys/signatures.ts";
import { findBrowser, runInBrowser } from "../../tools/browser.ts";
import { root } from "../../tools/process.ts";
import type { VectorFile } from "../../tools/vectors/case.ts";
import { verifyEvidence } from "../../verifier/verifier.ts";
import { type Compared, compare, count, figure, type Goal, type Measured, median } from "../figures.ts";
import type { World } from "../world.ts";

interface PageTimes {
  readonly firstMlDsa: number;
  readonly firstFile: number;
  readonly rounds: readonly { readonly ours: number; readonly floor: number }[];
}

/** A page verifies one ML-DSA signature, then the file, and then in turn the file and its signatures alone. */
const measure = `async ({ verifyEvidence }, { verifySignature }, { parseBase64 }) => {
  const read = (path) => fetch(path).then((answer) => answer.json());
  const [anchors, given, repeats] = await Promise.all(["/anchors", "/signatures", "/repeats"].map(read));
  const file = new Uint8Array(await fetch("/file").then((answer) => answer.arrayBuffer()));
  const signatures = given.map(({ jwk, message, signature }) => [jwk, parseBase64(message), parseBase64(signature)]);
  const timed = (work) => {
    const startedMs = performance.now();
    if (!work()) throw new Error("The evidence or one of its signatures is refused.");
    return performance.now() - startedMs;
  };
  const all = () => signatures.every((each) => verifySignature(...each));
  const whole = () => verifyEvidence({ anchors }, file).valid;
  const firstMlDsa = timed(() => verifySignature(...signatures.find(([jwk]) => jwk.kty === "AKP")));
  const firstFile = timed(whole);
  const rounds = [];
  for (let round = 0; round < repeats; round += 1) {
    const floor = timed(all);
    rounds.push({ ours: timed(whole), floor });
  }
  return { firstMlDsa, firstFile, rounds };
}`;

export async function measureEvidence(world: World): Promise<readonly Measured[]> {
  const browser = findBrowser();
  if (browser === null) {
    world.say("NOT MEASURED: evidence, because there is no Chromium");
    return [];
  }
  const { file, anchors } = await readEvidence();
  const signatures: { readonly jwk: unknown; readonly message: string; readonly signature: string }[] = [];
  const noting: typeof verifySignature = (jwk, message, signature) => {
    signatures.push({ jwk, message: toBase64(message), signature: toBase64(signature) });
    return verifySignature(jwk, message, signature);
  };
  if (!verifyEvidence({ anchors, verify: noting }, file).valid) throw new Error("The evidence is refused.");
  const page = {
    browser,
    run: measure,
    modules: ["verifier/verifier.ts", "protocol/keys/signatures.ts", "protocol/bytes.ts"],
    files: {
      "/anchors": JSON.stringify(anchors),
      "/signatures": JSON.stringify(signatures),
      "/repeats": String(world.size(20, 2)),
      "/file": new TextDecoder().decode(file),
    },
  };
  const pages = await Array.fromAsync({ length: world.size(5, 1) }, () => runInBrowser(page));
  const about = `One thread of a page in Chromium; a file of ${count(file.length)} bytes with the log's proofs and ${signatures.length} signatures to verify, by portable code.`;
  return evidenceFigures(pages as readonly PageTimes[], about);
}

async function readEvidence() {
  const read = async (name: string) => JSON.parse(await readFile(join(root, "vectors", name), "utf8"));
  const { cases }: VectorFile = await read("evidence.json");
  const whole = cases.find(({ name }) => name === "evidence: proofs: whole");
  const { trust } = await read("trust.json");
  const file = new Uint8Array(Buffer.from(String(whole?.input["file_base64"]), "base64"));
  return { file, anchors: trust[whole?.trust ?? ""].anchors };
}

function evidenceFigures(pages: readonly PageTimes[], about: string): readonly Measured[] {
  const of = (name: string, measured: Compared | number, goal: Goal | null, note: string): Measured =>
    figure(name, "ms", measured, goal, `${about} ${note}`);
  const repeated = compare(pages.flatMap(({ rounds }) => rounds));
  const firstFile = median(pages.map((page) => page.firstFile));
  const firstMlDsa = median(pages.map((page) => page.firstMlDsa));
  const [goal, first] = [{ atMost: 100 }, "first verification of a page, after one ML-DSA signature"];
  const bare = "The floor verifies the same signatures and nothing else.";
  return [
    of(first, firstFile, goal, "Nothing else has run in the page before."),
    of("every further verification", repeated.ours, goal, "Nothing is remembered between them."),
    of("further verification, against its signatures alone", repeated, null, bare),
    of("the first ML-DSA signature of a page", firstMlDsa, null, "It prepares the tables of the algorithm."),
  ];
}

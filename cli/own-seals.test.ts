import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sealRemoval } from "../client/removal.ts";
import { generatePrivateJwk, parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import { sha256, utf8 } from "../protocol/bytes.ts";
import { recordIdOf } from "../protocol/identifiers.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import { ownSeals, recordingKey } from "./own-seals.ts";

let home = "";
let key: SigningKey;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-own-seals-"));
  const parsed = await parseSigningKey(await generatePrivateJwk("Ed25519"));
  if (!parsed.ok) throw new Error(parsed.detail);
  key = parsed.value;
});
afterEach(() => rm(home, { recursive: true, force: true }));

const removal = (by: SigningKey, atMs: number) =>
  sealRemoval(
    {
      recordId: recordIdOf("products", new Uint8Array(17)),
      action: "withdraw",
      certId: "c",
      aiPolicyVersion: 1,
      atMs,
    },
    by,
  );

it("has every seal that was made, also after a line was cut short, and nothing else that was signed", async () => {
  const recording = recordingKey(key, join(home, "new"));
  const first = await removal(recording, 1_000);
  await recording.sign(utf8('"@method": POST'));
  await recording.sign(utf8("DSSEv1 5 other 1 x"));
  await appendFile(join(home, "new", "own-seals.txt"), "sha256:0123");
  const second = await removal(recording, 2_000);
  const leaves = [first, second].map(({ seal }) => sealLeafOf(seal, sha256));
  expect(await ownSeals(join(home, "new"))).toEqual(new Set(leaves));
});

it("gives no seal out that it could not write down", async () => {
  await writeFile(join(home, "blocked"), "");
  await expect(removal(recordingKey(key, join(home, "blocked")), 1_000)).rejects.toThrow(/EEXIST|ENOTDIR/);
});

it("knows the seals of journals, and nothing where there are none", async () => {
  expect(await ownSeals(join(home, "none"))).toEqual(new Set());
  const { seal } = await removal(key, 1_000);
  await mkdir(join(home, "pushes"));
  const batches = [{ sealed: { batch_seal: seal } }, { sealed: null }];
  await writeFile(join(home, "pushes", "a.json"), JSON.stringify({ batches }));
  expect(await ownSeals(home)).toEqual(new Set([sealLeafOf(seal, sha256)]));
  await expect(readFile(join(home, "own-seals.txt"))).rejects.toThrow("ENOENT");
});

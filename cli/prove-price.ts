// `svc prove-price`: makes the proof of one shown price out of a search that was saved. It contacts no service.

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { proveShownPrice } from "../client/evidence.ts";
import { type Command, UsageError } from "./command.ts";
import { homeOf, loadSandbox, quoted } from "./connection.ts";
import { limitMax } from "./search.ts";
import { loadAnchors, readBytes } from "./verify.ts";

export const provePrice: Command = {
  name: "prove-price",
  usage: "FILE",
  summary: "prove to others one price that a search showed: who claimed it, when, and to whom it was shown",
  details: [
    "FILE is the evidence of a search of products (svc search --save). Says what the proof discloses beside the row, and with --save writes it.",
    "With --without-keys it is for a reader who has verified the key set, and half as large: svc verify FILE --key-set FILE.",
  ],
  options: `
    --row N             the row, counted from 1
    --save FILE         write the proof, which \`svc verify FILE\` checks offline
    --certificate FILE  a saved GET /v1/certificates/{uuid} of the business, so that the proof says its name
    --without-keys      leave out the keys of the service
    --anchors FILE      pinned anchors (JSON)
    --sandbox           accept sandbox anchors
    --verify-url URL    public address of the verification surface (default: that of the sandbox)
    --home DIR          home folder whose sandbox.json has the anchors and the address`,
  run: async (call) => {
    const row = call.integer("row", { min: 1, max: limitMax, fallback: 0 });
    if (row === 0) throw new UsageError("Name the row with --row N, counted from 1.");
    const anchorsText = await loadAnchors(call);
    const verifyUrl =
      call.text("verify-url") ?? (call.flag("sandbox") ? (await loadSandbox(homeOf(call))).verify_url : null);
    if (verifyUrl === null)
      throw new UsageError("Name the address of the verification surface with --verify-url URL.");
    const certificate = call.text("certificate");
    const hasChain = !call.flag("without-keys");
    const proof = proveShownPrice(await readBytes(call.argument, call), {
      anchorsText,
      allowSandbox: call.flag("sandbox"),
      row,
      verifyUrl: verifyUrl.replace(/\/+$/, ""),
      hasChain,
      ...(certificate === null ? {} : { certificate: await readBytes(certificate, call) }),
    });
    if (!proof.ok) throw new UsageError(proof.detail);
    const { terminal } = call;
    terminal.note("Beside the row, the proof discloses to everyone who gets it:");
    for (const each of proof.value.discloses) terminal.note(`  ${each}`);
    const save = call.text("save");
    if (save === null) {
      terminal.note("Nothing was written: --save FILE writes it.");
      return;
    }
    await writeFile(resolve(call.cwd, save), proof.value.text);
    const options = [
      call.flag("sandbox") ? "--sandbox" : `--anchors ${quoted(call.text("anchors") ?? "FILE")}`,
      ...(hasChain ? [] : ["--key-set FILE"]),
    ];
    terminal.note(`Saved. Verify it offline with: svc verify ${quoted(save)} ${options.join(" ")}`);
  },
};

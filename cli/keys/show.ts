// `svc keys show`, `id`: shows a key set in plain words, as the public verifier judges it, and the ids of keys in a file.

import { resolve } from "node:path";
import { namedAs, witnessedAs } from "../../verifier/log.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "../command.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { environmentOf, environmentOption, pathOf } from "./options.ts";

export const show: Command = {
  name: "keys show",
  usage: "FILE",
  summary: "verify a key set under anchors, and show its contents",
  options: {
    anchors: { type: "string", value: "FILE", help: "anchors to verify it under" },
    environment: environmentOption,
  },
  run: runShow,
};

async function runShow(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { loadAnchors, loadKeySet } = await import("../../node/keys/trusted-files.ts");
  const file = resolve(context.cwd, onlyArgument(args, show));
  const anchors = await loadAnchors(pathOf(args, context, "anchors"), environmentOf(args));
  const { trust } = await loadKeySet(file, anchors);
  for (const line of keyLines(trust, context.now())) context.terminal.print(line);
  for (const log of witnessedAs(trust)) context.terminal.print(`svc witness --log '${log}'`);
  for (const key of namedAs(trust)) context.terminal.print(`log ${key}   (policy files)`);
  return exitCodes.done;
}

export const id: Command = {
  name: "keys id",
  usage: "FILE",
  summary: "print the key_id of a private key, or of each of the public halves in a file",
  options: { use: { type: "string", value: "USE", help: "only of the keys with this use" } },
  run: async (args, context) => {
    const { keyIdsIn } = await import("../../node/keys/exchange-files.ts");
    for (const keyId of await keyIdsIn(resolve(context.cwd, onlyArgument(args, id)), args.text("use")))
      context.terminal.print(keyId);
    return exitCodes.done;
  },
};

interface ShownTrust {
  readonly anchors: { readonly environment: string; readonly roots: readonly { readonly key_id: string }[] };
  readonly keySet: { readonly issued_at: string };
  readonly keys: ReadonlyMap<string, ShownKey>;
}

interface ShownKey {
  readonly key_id: string;
  readonly use: string;
  readonly region: string | null;
  readonly alg: string;
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly compromised_from: string | null;
}

/** The lines for a verified key set, one per key. */
export function keyLines(trust: ShownTrust, nowMs: number): readonly string[] {
  const { anchors, keySet, keys } = trust;
  const pinned = new Set(anchors.roots.map((root) => root.key_id));
  const at = new Date(nowMs).toISOString();
  return [
    `Issued at ${keySet.issued_at}; verifies under ${anchors.environment} anchors.`,
    ...[...keys.values()].map((key) => {
      const what = key.region === null ? key.use : `${key.use} ${key.region}`;
      const pin = pinned.has(key.key_id) ? ", pinned" : "";
      return `${what.padEnd(18)} ${key.key_id} ${key.alg.padEnd(9)} ${standing(key, at)}${pin}`;
    }),
  ];
}

function standing(key: ShownKey, at: string): string {
  if (key.compromised_from !== null) return `COMPROMISED from ${key.compromised_from}`;
  if (at < key.valid_from) return `valid from ${key.valid_from} until ${key.valid_until ?? "it is ended"}`;
  if (key.valid_until !== null && at >= key.valid_until) return `ended ${key.valid_until}`;
  return `valid until ${key.valid_until ?? "it is ended"}`;
}

// `svc ops lists`: content and URL lists, the AS table, prices and terms: what is in force, what was before, and the act that sets one.

import { isUtf8 } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  changed,
  type ListState,
  listBytesMax,
  listHistory,
  listState,
  listStates,
} from "../../ops/shapes.ts";
import { type Call, type Command, type ExitCode, exitCodes, UsageError } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { writePrivate } from "../keygen.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { showOpsList } from "../query.ts";
import { visible } from "../terminal.ts";

export const opsLists: Command = {
  name: "ops lists",
  usage: "[history NAME | get NAME | set NAME FILE]",
  summary:
    "show the content and URL lists, AS table, prices and terms, what was set before, or set one (for operators)",
  details: [
    "  NAME is content-lists, blocked-urls, as-table, prices or terms. Without an argument: what is in force of each, and since when.",
    "  The file of a node counts until its list is set; then what was set counts on every node, within seconds. FILE has the same form.",
    "  Somebody else's act since the last look is not overwritten. Setting the same bytes again does no harm.",
  ],
  options: `
    --version N    get: this version; otherwise what is in force
    --out FILE     get: where it is written; an existing file is not overwritten
${actOptions}
    --yes          do not ask${opsOptions}`,
  run: (call) => {
    const [verb, name = "", file, ...more] = call.positionals;
    if (verb === undefined) return showAll(call);
    const wanted = verb === "set" ? file !== undefined : file === undefined;
    if (name !== "" && wanted && more.length === 0) {
      const path = `/ops/lists/${encodeURIComponent(name)}`;
      if (verb === "history") return showHistory(call, path);
      if (verb === "get") return get(call, path);
      if (verb === "set" && file !== undefined) return set(call, path, file);
    }
    throw new UsageError("See: svc help ops lists");
  },
};

const showAll = (call: Call): Promise<ExitCode> =>
  showOpsList(call, {
    path: () => "/ops/lists",
    form: listStates,
    items: ({ lists }) => lists,
    header: ["LIST", "BY", "VERSION", "SINCE", "BYTES", "HOLDS", "SHA-256", "REASON"],
    rowOf: ({ list, source, version, since, bytes, holds, sha256, by, reason, fault }) => [
      list,
      source === "act" ? visible(by ?? "") : source === "file" ? "(file)" : "(nothing)",
      String(version ?? ""),
      since ?? "",
      String(bytes ?? ""),
      visible(fault === null ? (holds ?? "") : `${holds}; FAULT: ${fault}`),
      sha256 ?? "",
      visible(reason ?? ""),
    ],
    note: ({ lists }) => {
      const unused = lists.filter(({ unused_file }) => unused_file).map(({ list }) => list);
      return unused.length === 0
        ? null
        : `The files of this node for ${unused.join(", ")} are not used any more.`;
    },
    isNo: ({ lists }) => lists.some(({ fault }) => fault !== null),
  });

const showHistory = (call: Call, path: string): Promise<ExitCode> =>
  showOpsList(call, {
    path: () => path,
    form: listHistory,
    items: ({ versions }) => versions,
    header: ["VERSION", "BY", "SET", "BYTES", "HOLDS", "SHA-256", "REASON"],
    rowOf: ({ version, by, set_at, bytes, holds, sha256, reason }) => [
      String(version),
      visible(by),
      set_at,
      String(bytes),
      visible(holds),
      sha256,
      visible(reason),
    ],
    none: () => "Operators never set this list.",
    isNo: ({ versions }) => versions.length === 0,
  });

async function get(call: Call, path: string): Promise<ExitCode> {
  const out = resolve(call.cwd, requiredText(call, "out", opsLists));
  const version = call.text("version");
  const query = version === null ? "" : `?${new URLSearchParams({ version })}`;
  await writePrivate(out, await (await connectOps(call)).file(`${path}/text${query}`));
  call.terminal.print(call.flag("json") ? JSON.stringify({ out }) : out);
  return exitCodes.done;
}

async function set(call: Call, path: string, file: string): Promise<ExitCode> {
  const by = requiredText(call, "by", opsLists);
  const reason = requiredText(call, "reason", opsLists);
  const text = await listText(resolve(call.cwd, file));
  const ops = await connectOps(call, by);
  const { list: before } = await ops.get(path, listHistory);
  const lines = [
    `  ${wordsOf(before)}`,
    `  ${file}, with ${Buffer.byteLength(text)} bytes, takes its place on every node.`,
  ];
  if (!(await isAgreed(call, ops.url, lines))) return exitCodes.negative;
  const asked = { text, expected: before.version, reason };
  const answer = await ops.post(`${path}/set`, asked, changed("list", listState));
  const said = answer.changed ? `Done. ${wordsOf(answer.list)}` : "It was so before.";
  call.terminal.print(call.flag("json") ? JSON.stringify(answer) : said);
  return exitCodes.done;
}

/** Throws {@link UsageError} for what is no list. */
async function listText(path: string): Promise<string> {
  const size = await stat(path).then(
    (found) => found.size,
    () => {
      throw new UsageError(`${path} cannot be read.`);
    },
  );
  if (size > listBytesMax) throw new UsageError(`${path} has ${size} bytes; use at most ${listBytesMax}.`);
  const bytes = await readFile(path);
  if (!isUtf8(bytes)) throw new UsageError(`${path} is not UTF-8.`);
  return bytes.toString();
}

function wordsOf({ list, source, version, sha256, holds, since, by, reason }: ListState): string {
  if (source === "none") return `Nothing is in force of ${list}.`;
  const what = `${visible(holds ?? "")} (${sha256})`;
  return source === "file"
    ? `Of ${list} the file of the node is in force since ${since}: ${what}.`
    : `Of ${list} version ${version} is in force since ${since}, by ${visible(by ?? "")} (${visible(reason ?? "")}): ${what}.`;
}

// The lists of operators: what is in force of each, since when, by whom and why; its versions and their bytes; and the acts that set them.

import { type ListName, listNames } from "../protocol/identifiers.ts";
import { listBytesMax } from "../protocol/limits.ts";
import type { Result } from "../protocol/result.ts";
import { anyText, described, integer, nullable, object, text } from "../protocol/shape.ts";
import { actOf, sendProblem } from "./acts.ts";
import { act, type OpsRoute, parameter, read } from "./route.ts";
import {
  type Act,
  actMembers,
  changed,
  type ListHistory,
  type ListState,
  listHistory,
  listState,
  listStates,
} from "./shapes.ts";

const setBody = object({
  text: described(
    text(listBytesMax),
    "The whole list, in the form of the file that the settings name; 32 MiB at most, 4 MiB of prices and terms.",
  ),
  expected: described(
    nullable(integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
    "The `version` that was seen in force, null for that of a file: if it is another by now, nothing is done.",
  ),
  ...actMembers,
});

export interface ListSet {
  readonly list: ListName;
  readonly bytes: Uint8Array;
  /** The version that was seen, null for none; absent where nobody looked. */
  readonly expected?: number | null;
  readonly act: Act;
}

export interface ListActs {
  all(): readonly ListState[];
  /** Null for a name of no list. */
  of(list: string): Promise<ListHistory | null>;
  /** The bytes of a version, or of what is in force; null where they are not here. */
  bytes(list: string, version: number | null): Promise<Uint8Array | null>;
  set(
    asked: ListSet,
  ): Promise<Result<{ readonly changed: boolean; readonly subject: ListState }, "refused" | "state_changed">>;
}

const summaries: Readonly<Record<ListName, string>> = {
  "content-lists": "Sets the protected names, the exempt names and the blocked hosts",
  "blocked-urls": "Sets the blocked hosts and addresses",
  "as-table": "Sets the table of autonomous systems, for the source lists of mandates",
  prices: "Sets the prices of AI companies, of which what was in force stays as it was",
  terms: "Sets the terms of AI companies, of which what was published stays as it was",
};

/** Twice the text, whose characters may have to be escaped, and the rest. */
const bodyBytesMax = 2 * listBytesMax + 65_536;
const names = [parameter("path", "list", `Name of a list: ${listNames.join(", ")}.`)];
const noList = "There is no list of this name.";

export function listRoutes(lists: ListActs): readonly OpsRoute[] {
  return [
    read("/ops/lists", { summary: "What is in force of each list", answer: listStates }, async () => ({
      lists: lists.all(),
    })),
    read(
      "/ops/lists/:list",
      {
        summary: "What is in force of a list, and what operators set before",
        answer: listHistory,
        parameters: names,
        problems: ["not_found"],
      },
      async ({ params }, reply) => (await lists.of(params.list)) ?? sendProblem(reply, "not_found", noList),
    ),
    read(
      "/ops/lists/:list/text",
      {
        summary: "The bytes of a list, as they were set or as the file of this node has them",
        answer: anyText,
        parameters: [
          ...names,
          parameter("query", "version", "Number of a version; what is in force without it.", {
            type: "string",
            pattern: "^[1-9][0-9]{0,8}$",
          }),
        ],
        problems: ["not_found"],
        mediaType: unknownType,
      },
      async ({ params, query: { version } }, reply) => {
        const bytes = await lists.bytes(params.list, version === undefined ? null : Number(version));
        if (bytes === null)
          return sendProblem(
            reply,
            "not_found",
            "There are no such bytes here: nothing is in force, the version is not kept, or the file of this node has changed.",
          );
        return reply
          .header("content-disposition", `attachment; filename="${params.list}"`)
          .header("content-type", unknownType)
          .header("content-security-policy", "sandbox; default-src 'none'")
          .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      },
    ),
    ...listNames.map((list) => ({
      ...act(
        `/ops/lists/${list}/set`,
        {
          summary: summaries[list],
          body: setBody,
          answer: changed("list", listState),
          problems: ["state_changed"],
        },
        async (request, reply) => {
          const { text: sent, expected } = request.body;
          const pointer = "/text";
          if (!sent.isWellFormed())
            return sendProblem(reply, "request_invalid", "text has half a character.", { pointer });
          const asked = { list, bytes: Buffer.from(sent), expected, act: actOf(request) };
          const done = await lists.set(asked);
          if (!done.ok)
            return done.code === "state_changed"
              ? sendProblem(reply, "state_changed", done.detail)
              : sendProblem(reply, "request_invalid", `Nothing was changed: ${done.detail}`, { pointer });
          const { changed: isChanged, subject } = done.value;
          const { version, sha256, bytes, holds: what } = subject;
          request.outcome = { changed: isChanged, version, sha256, bytes, holds: what };
          return reply.send({ changed: isChanged, list: subject });
        },
      ),
      bodyBytesMax,
    })),
  ];
}

const unknownType = "application/octet-stream";

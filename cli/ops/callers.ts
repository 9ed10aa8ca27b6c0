// `svc ops pushes` and `svc ops refusals`: which keys have how many pushes under way, and what was refused to which key and address.

import { jsonOption } from "../business-options.ts";
import { type Command, noArguments } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { visible } from "../terminal.ts";
import { noteMissing, print, type Shown } from "./lists.ts";

export const opsPushes: Command = {
  name: "ops pushes",
  usage: "",
  summary: "list the keys with the most pushes under way on all nodes (for operators)",
  options: { json: jsonOption, ...opsOptions },
  run: async (args, context) => {
    noArguments(args, opsPushes);
    const { terminal } = context;
    const counts = await (await connectOps(args, context)).get("/ops/counts", "pushes_under_way", "missing");
    const keys = counts["pushes_under_way"] as readonly Shown[];
    print(terminal, args, keys, ["PUSHES", "RECORDS", "BUSINESS", "KEY"], (each) =>
      ["pushes", "records", "business_uuid", "key_id"].map((name) => visible(String(each[name]))),
    );
    noteMissing(terminal, counts);
    if (keys.length === 0) terminal.note("No push is under way.");
    return exitCodes.done;
  },
};

export const opsRefusals: Command = {
  name: "ops refusals",
  usage: "",
  summary: "list the requests that were refused within a day, by key and address (for operators)",
  details: ["  Nothing proves that the sender of a request has the key that it names."],
  options: {
    surface: { type: "string", value: "SURFACE", help: "only those of this surface, such as business" },
    code: { type: "string", value: "CODE", help: "only those with this code, such as key_unknown" },
    key: { type: "string", value: "KEY_ID", help: "only those that named this key" },
    json: jsonOption,
    ...opsOptions,
  },
  run: async (args, context) => {
    noArguments(args, opsRefusals);
    const { terminal } = context;
    const wanted = { surface: args.text("surface"), code: args.text("code"), key_id: args.text("key") };
    const given = Object.entries(wanted).filter((each): each is [string, string] => each[1] !== null);
    const ops = await connectOps(args, context);
    const answer = await ops.get(`/ops/refusals?${new URLSearchParams(given)}`, "requests", "missing");
    const requests = answer["requests"] as readonly Shown[];
    print(terminal, args, requests, ["COUNT", "CODE", "SURFACE", "KEY", "FROM", "LAST"], (each) =>
      ["count", "code", "surface", "key_id", "from", "last_at"].map((name) =>
        visible(String(each[name] ?? "–")),
      ),
    );
    noteMissing(terminal, answer);
    if (requests.length === 0) terminal.note("No such request was refused.");
    return exitCodes.done;
  },
};

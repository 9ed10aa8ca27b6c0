// `svc keys serve-issuance`: runs the process that holds the issuance pair.

import { type Arguments, type Command, type CommandContext, noArguments } from "../command.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { environmentOf, environmentOption, pathOf } from "./options.ts";

export const serveIssuance: Command = {
  name: "keys serve-issuance",
  usage: "",
  summary: "sign certificates and custody statements for the nodes of this machine",
  details: [
    "Signs nothing else, and writes a line to the audit log before each signature.",
    "The folder of the keys also contains anchors.json and key-set.json.",
  ],
  options: {
    keys: { type: "string", value: "DIR", help: "folder of the issuance pair" },
    clients: {
      type: "string",
      value: "DIR",
      help: "folder of the nodes' secrets, one NAME.secret for each node",
    },
    audit: { type: "string", value: "FILE", help: "audit log, with one line for each signature" },
    listen: {
      type: "string",
      value: "ADDRESS",
      help: "unix:/path/of.sock, or 127.0.0.1:PORT (default 127.0.0.1:7399)",
    },
    environment: environmentOption,
  },
  run: runServe,
};

async function runServe(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, serveIssuance);
  const [{ startIssuance }, { parseIssuanceAddress }] = await Promise.all([
    import("../../node/keys/issuance-server.ts"),
    import("../../node/key-config.ts"),
  ]);
  const issuance = await startIssuance({
    keys: pathOf(args, context, "keys"),
    clients: pathOf(args, context, "clients"),
    audit: pathOf(args, context, "audit"),
    listen: parseIssuanceAddress("--listen", args.text("listen") ?? "127.0.0.1:7399"),
    environment: environmentOf(args),
    clock: { now: context.now },
  });
  const { promise: stopped, resolve } = Promise.withResolvers<ExitCode>();
  context.onStop(async () => {
    await issuance[Symbol.asyncDispose]();
    resolve(exitCodes.done);
    return exitCodes.done;
  });
  const { address } = issuance;
  const where = "socket" in address ? `unix:${address.socket}` : `${address.host}:${address.port}`;
  context.terminal.print(`Issuing with ${issuance.keyIds.join(" + ")} at ${where}`);
  return await stopped;
}

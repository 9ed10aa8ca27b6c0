// `svc ads image`: sends an image of an ad, which a creative then names by its hash.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { businessOptions, connectBusiness } from "./business-options.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "./command.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";

export const adsImage: Command = {
  name: "ads image",
  usage: "FILE",
  summary: "send an image of an ad, and show the hash by which a creative names it",
  details: ["A still PNG, JPEG or WebP of at most 2 MiB. Sending it again changes nothing."],
  options: {
    json: { type: "boolean", help: "print the service's answer as JSON" },
    ...businessOptions,
  },
  run: runAdsImage,
};

async function runAdsImage(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const file = onlyArgument(args, adsImage);
  const bytes = await readFile(resolve(context.cwd, file)).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code ?? error.message}).`);
  });
  const { business } = await connectBusiness(args, context);
  const image = await business.uploadImage(new Uint8Array(bytes));
  const { sha256, media_type, width, height } = image;
  const line = `${sha256} ${media_type} ${width}x${height} ${image.bytes} bytes`;
  context.terminal.print(args.flag("json") ? JSON.stringify(image) : line);
  return exitCodes.done;
}

// Starts a profile of real engines for trying things out, and keeps it running until Ctrl-C.

import { exitCodes, parseOptions, runTool, UsageError } from "../command-line.ts";
import { type ProfileName, profileNames, startProfile } from "./profiles.ts";

const help = `node tools/run.mjs tools/engines/main.ts [OPTIONS]
  Real engines for trying things, until Ctrl-C.

  --profile NAME    ${profileNames.join(", ")} (one)
  --base 127.A.B.C  first loopback address (127.0.0.1)
  --folder DIR      where data and logs are kept from run to run (a fresh one)
  --help            show this`;

await runTool({ help, run: (args) => runEngines(args) });

async function runEngines(args: readonly string[]): Promise<void> {
  const values = parseOptions(args, {
    profile: { type: "string", default: "one" },
    base: { type: "string", default: "127.0.0.1" },
    folder: { type: "string" },
  });
  const name = profileNames.find((each) => each === values.profile);
  if (name === undefined) throw new UsageError(`--profile must be one of ${profileNames.join(", ")}.`);
  const { base, folder } = values;
  await keepEngines(name, { base, ...(folder !== undefined && { folder }) });
}

async function keepEngines(
  name: ProfileName,
  places: { readonly base: string; readonly folder?: string },
): Promise<void> {
  // Before all is up a signal ends this process, and the guard ends the engines.
  let isUp = false;
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => (isUp ? resolve() : process.exit(exitCodes.interrupted)));
    }
  });
  console.log(`Starting the profile ${name} …`);
  const profile = await startProfile(name, { ...places, progress: (line) => console.log(line) });
  for (const [key, value] of Object.entries(profile.env)) console.log(`${key}=${value}`);
  console.log("Ready. Ctrl-C stops everything.");
  isUp = true;
  await stopped;
  await profile.stop();
}

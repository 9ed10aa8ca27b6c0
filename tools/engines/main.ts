// Real engines for trying things: starts a profile and keeps it until Ctrl-C.
// Usage: node tools/run.mjs tools/engines/main.ts [--profile one|regions|quorum] [--base 127.0.0.1] [--folder DIR]

import { parseArgs } from "node:util";
import { EngineUnavailable } from "./maven.ts";
import { type ProfileName, profileNames, startProfile } from "./profiles.ts";

const interrupted = 130;
const { values } = parseArgs({
  options: {
    profile: { type: "string", default: "one" },
    base: { type: "string", default: "127.0.0.1" },
    folder: { type: "string" },
  },
});
const name = profileNames.find((each) => each === values.profile);
if (name === undefined) {
  console.error(`--profile is one of ${profileNames.join(", ")}.`);
  process.exitCode = 2;
} else {
  await run(name);
}

async function run(profileName: ProfileName): Promise<void> {
  // Before all is up a signal ends this process, and the guard the engines.
  let isUp = false;
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => (isUp ? resolve() : process.exit(interrupted)));
    }
  });
  try {
    console.log(`Starting the profile ${profileName} …`);
    const profile = await startProfile(profileName, {
      base: values.base,
      ...(values.folder !== undefined && { folder: values.folder }),
      progress: (line) => console.log(line),
    });
    for (const [key, value] of Object.entries(profile.env)) console.log(`${key}=${value}`);
    console.log("Ready. Ctrl-C stops everything.");
    isUp = true;
    await stopped;
    await profile.stop();
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    console.error(`${error.message}.`);
    process.exitCode = 1;
  }
}

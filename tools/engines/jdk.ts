// Finds the JDKs of a machine: JAVA_HOME, the command search path, and the folders where systems install them.

import { accessSync, constants, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Host } from "./host.ts";

export interface Jdk {
  /** Absolute path with symbolic links resolved. */
  readonly home: string;
  /** Feature release, such as 17. */
  readonly major: number;
}

export interface JdkWish {
  readonly min: number;
  readonly max: number;
}

/** Each parent folder holds one folder per JDK; `inside` leads from there to its home. */
const systemFolders: readonly { readonly parent: string; readonly inside: string }[] = [
  { parent: "/usr/lib/jvm", inside: "." },
  { parent: "/Library/Java/JavaVirtualMachines", inside: "Contents/Home" },
];

/** All JDKs that can be started, without duplicates, in the order in which they were found. */
export function findJdks(host: Pick<Host, "javaHome" | "path">): readonly Jdk[] {
  const candidates = [
    ...(host.javaHome === null ? [] : [host.javaHome]),
    ...host.path.flatMap(homeOfCommand),
    ...systemFolders.flatMap(({ parent, inside }) =>
      listed(parent).map((name) => join(parent, name, inside)),
    ),
  ];
  const found = new Map<string, Jdk>();
  for (const candidate of candidates) {
    const jdk = readJdk(candidate);
    if (jdk !== null && !found.has(jdk.home)) found.set(jdk.home, jdk);
  }
  return [...found.values()];
}

/** The first JDK of the newest release that satisfies the wish, or null. */
export function chooseJdk(jdks: readonly Jdk[], wish: JdkWish): Jdk | null {
  let best: Jdk | null = null;
  for (const jdk of jdks) {
    if (jdk.major < wish.min || jdk.major > wish.max) continue;
    if (best === null || jdk.major > best.major) best = jdk;
  }
  return best;
}

/** Every JDK has a `release` file in its home, which states its version: `JAVA_VERSION="17.0.15"`. */
function readJdk(home: string): Jdk | null {
  try {
    const resolved = realpathSync(home);
    accessSync(join(resolved, "bin", "java"), constants.X_OK);
    const version = /^JAVA_VERSION="?(\d+)(?:\.(\d+))?/m.exec(
      readFileSync(join(resolved, "release"), "utf8"),
    );
    if (version === null) return null;
    // Before release 9 the feature number came second: 1.8.
    return { home: resolved, major: Number(version[1] === "1" ? version[2] : version[1]) };
  } catch {
    return null;
  }
}

function homeOfCommand(folder: string): readonly string[] {
  try {
    return [dirname(dirname(realpathSync(join(folder, "java"))))];
  } catch {
    return [];
  }
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

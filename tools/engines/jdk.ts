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

interface JdkWish {
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

// The supported engines, and the Maven Central artifacts that make up each.

export interface Distribution {
  readonly name: "cassandra" | "elasticsearch";
  readonly version: string;
  /** Maven coordinates, `group:artifact:version[:packaging]`. */
  readonly artifact: string;
  /** `jars`: the artifact and its run-time dependencies, as files of one folder. `zip`: the archive, unpacked. */
  readonly form: "jars" | "zip";
  /** The artifact's own file, by which the whole is recognised. */
  readonly file: string;
  /** SHA-256 of that file, in hex: only the tested version runs. */
  readonly sha256: string;
  /** The digest of the list of all files with their hashes (`digestOf`), which covers everything else that is fetched. */
  readonly contentsSha256: string;
  readonly jdk: JdkWish;
}

export const cassandraDistribution: Distribution = {
  name: "cassandra",
  version: "5.0.6",
  artifact: "org.apache.cassandra:cassandra-all:5.0.6",
  form: "jars",
  file: "cassandra-all-5.0.6.jar",
  sha256: "bd533204e1088179ba58bd817082673b211cc78f605e64e34c3cd001c42aca2a",
  contentsSha256: "ecdfef6fb06ae629b78b9996f8731564d990f401941fa780c5040499b0c33b4f",
  // Cassandra 5.0 supports Java 11 and 17; its options do not work with later ones.
  jdk: { min: 17, max: 17 },
};

export const elasticsearchDistribution: Distribution = {
  name: "elasticsearch",
  version: "9.2.0",
  artifact: "org.elasticsearch.distribution.integ-test-zip:elasticsearch:9.2.0:zip",
  form: "zip",
  file: "elasticsearch-9.2.0.zip",
  sha256: "bf44938a0490ba2a303d39c9cb64b38963dd08c812ce93e10816e878585bcb6b",
  contentsSha256: "16c76d340c8c6f679141ecd37e3a079330d65c5474c94e770fc9889c005594e5",
  jdk: { min: 21, max: 25 },
};

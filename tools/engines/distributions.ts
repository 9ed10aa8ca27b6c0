// The supported engines, and the Maven Central artifacts that make up each.

import type { JdkWish } from "./jdk.ts";

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

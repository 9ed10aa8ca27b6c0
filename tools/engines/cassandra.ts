// A Cassandra node as a local process: its configuration, its start until it answers CQL, and its faults.

import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { Client, policies } from "cassandra-driver";
import { type EngineProcess, type Guard, startEngineProcess, untilReady } from "./engine-process.ts";
import type { Host } from "./host.ts";
import { cassandraDistribution } from "./jdk.ts";
import { provide } from "./maven.ts";

export interface CassandraPlan {
  /** Its own loopback address; the ports are always Cassandra's own 9042, 7000 and 7199. */
  readonly address: string;
  readonly dataCenter: string;
  /** All nodes of the cluster, in the same order for each node: the order determines each node's share of the ring. */
  readonly ring: readonly string[];
  readonly seeds: readonly string[];
  /** Folder for its data, configuration and log; created if needed. Starting on an existing one keeps its data. */
  readonly folder: string;
  readonly heapMb: number;
}

export interface RunningCassandra {
  readonly address: string;
  readonly process: EngineProcess;
}

const cqlPort = 9042;
const storagePort = 7000;
/** Where it takes the commands of nodetool, without a password: loopback only. */
export const jmxPort = 7199;
/** The ports on which a node listens. */
export const cassandraPorts: readonly number[] = [cqlPort, storagePort, jmxPort];
const tokensPerNode = 16;
const startMaxMs = 300_000;

/** Starts a node and waits until it answers CQL. */
export async function startCassandra(
  plan: CassandraPlan,
  {
    host,
    guard,
    tell,
  }: { readonly host: Host; readonly guard: Guard; readonly tell?: (line: string) => void },
): Promise<RunningCassandra> {
  const runnable = await provide(cassandraDistribution, host, tell);
  const conf = join(plan.folder, "conf");
  await mkdir(conf, { recursive: true });
  await mkdir(join(plan.folder, "tmp"), { recursive: true });
  await writeFile(join(conf, "cassandra.yaml"), cassandraYaml(plan));
  await writeFile(join(conf, "cassandra-rackdc.properties"), `dc=${plan.dataCenter}\nrack=rack1\n`);
  await writeFile(join(conf, "logback.xml"), logbackXml);
  const process = startEngineProcess(
    {
      ...withCoarseTimers({
        command: join(runnable.javaHome, "bin", "java"),
        args: [
          ...jvmOptions(plan),
          "-cp",
          [conf, join(runnable.folder, "*")].join(delimiter),
          "org.apache.cassandra.service.CassandraDaemon",
        ],
      }),
      env: host.inherited,
      cwd: plan.folder,
      logFile: join(plan.folder, "cassandra.log"),
    },
    guard,
  );
  try {
    const isReady = (): Promise<boolean> => answersCql(plan);
    await untilReady(process, { name: `Cassandra at ${plan.address}`, maxMs: startMaxMs, isReady });
  } catch (error) {
    await process.stop(0);
    throw error;
  }
  return { address: plan.address, process };
}

/** Whether it takes connections and answers them. */
export async function answersCql({ address, dataCenter }: CassandraPlan): Promise<boolean> {
  const client = createCqlClient({ address, dataCenter });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.shutdown();
  }
}

/** Creates a client whose requests this node coordinates. */
export function createCqlClient({
  address,
  dataCenter,
}: Pick<CassandraPlan, "address" | "dataCenter">): Client {
  return new Client({
    contactPoints: [`${address}:${cqlPort}`],
    localDataCenter: dataCenter,
    policies: {
      loadBalancing: new policies.loadBalancing.WhiteListPolicy(
        new policies.loadBalancing.RoundRobinPolicy(),
        [`${address}:${cqlPort}`],
      ),
    },
    socketOptions: { connectTimeout: 1_000, readTimeout: 5_000 },
  });
}

/**
 * The whole configuration; anything not named keeps Cassandra's own default. The commit log is synchronous: with the
 * default, a killed node forgets what it acknowledged last, including its Paxos promises, and then no fence holds.
 * A write occupies its thread until it is synced, so one sync covers as many writes as there are threads.
 *
 * Errors of files do not end the node's service: when the commit log is full, its thread flushes the tables of the oldest part, and fails
 * where a test drops their keyspace meanwhile. By default the node then stops listening for good.
 */
export function cassandraYaml(plan: CassandraPlan): string {
  const data = (name: string): string => JSON.stringify(join(plan.folder, name));
  return `cluster_name: svc
num_tokens: ${tokensPerNode}
initial_token: ${JSON.stringify(tokensOf(plan).join(","))}
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: GossipingPropertyFileSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: ${JSON.stringify(plan.seeds.join(","))}
listen_address: ${plan.address}
rpc_address: ${plan.address}
native_transport_port: ${cqlPort}
storage_port: ${storagePort}

data_file_directories: [${data("data")}]
commitlog_directory: ${data("commitlog")}
saved_caches_directory: ${data("saved_caches")}
hints_directory: ${data("hints")}
commitlog_sync: batch
disk_failure_policy: ignore
commit_failure_policy: ignore
commitlog_total_space: 256MiB
auto_snapshot: false

paxos_variant: v2
batch_size_warn_threshold: 256KiB
batch_size_fail_threshold: 1024KiB
read_request_timeout: 20000ms
range_request_timeout: 20000ms
write_request_timeout: 20000ms
cas_contention_timeout: 5000ms
request_timeout: 20000ms

concurrent_reads: 8
concurrent_writes: 64
concurrent_counter_writes: 2
concurrent_compactors: 1
memtable_heap_space: 64MiB
memtable_offheap_space: 64MiB
file_cache_size: 32MiB
networking_cache_size: 32MiB
key_cache_size: 8MiB
counter_cache_size: 0MiB
internode_compression: none
`;
}

/** Sixteen tokens, placed so that every node owns the same share of the ring. */
export function tokensOf({ address, ring }: Pick<CassandraPlan, "address" | "ring">): readonly string[] {
  const place = ring.indexOf(address);
  if (place < 0) throw new Error(`${address} is not of the ring ${ring.join(", ")}`);
  const count = BigInt(ring.length * tokensPerNode);
  return Array.from({ length: tokensPerNode }, (_, index) => {
    const slot = BigInt(index * ring.length + place);
    return String((slot * (1n << 64n)) / count - (1n << 63n));
  });
}

const logbackXml = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level [%thread] %date{ISO8601} %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT" /></root>
</configuration>
`;

/** Packages that Cassandra accesses, opened as in its own start scripts for Java 17. */
const exportedPackages = `java.base/jdk.internal.misc java.base/java.lang.ref
  java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry
  java.rmi/sun.rmi.server java.sql/java.sql jdk.attach/sun.tools.attach
  jdk.compiler/com.sun.tools.javac.file jdk.unsupported/sun.misc`.split(/\s+/);
const openedPackages =
  `java.base/java.io java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect
  java.base/java.util java.base/jdk.internal.loader java.base/jdk.internal.math
  java.base/jdk.internal.module java.base/jdk.internal.ref java.base/jdk.internal.reflect
  java.base/jdk.internal.util.jar java.base/sun.nio.ch jdk.compiler/com.sun.tools.javac
  jdk.management/com.sun.management.internal`.split(/\s+/);

/** What Cassandra's programs access. */
export const cassandraPackages: readonly string[] = [
  ...exportedPackages.map((name) => `--add-exports=${name}=ALL-UNNAMED`),
  ...openedPackages.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
];

function jvmOptions({ address, folder, heapMb }: CassandraPlan): readonly string[] {
  return [
    `-Xms${heapMb}m`,
    `-Xmx${heapMb}m`,
    "-Xss512k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+PerfDisableSharedMem",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djava.net.preferIPv4Stack=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=unpooled",
    ...cassandraPackages,
    `-Djava.io.tmpdir=${join(folder, "tmp")}`,
    `-Djna.tmpdir=${join(folder, "tmp")}`,
    `-Dcassandra.storagedir=${folder}`,
    `-Dcassandra.logdir=${folder}`,
    `-Dcassandra.config=file://${join(folder, "conf", "cassandra.yaml")}`,
    "-Dlogback.configurationFile=logback.xml",
    `-Dcom.sun.management.jmxremote.port=${jmxPort}`,
    `-Dcom.sun.management.jmxremote.rmi.port=${jmxPort}`,
    `-Dcom.sun.management.jmxremote.host=${address}`,
    `-Djava.rmi.server.hostname=${address}`,
    "-Dcom.sun.management.jmxremote.authenticate=false",
    "-Dcom.sun.management.jmxremote.ssl=false",
    // The nodes of a profile know each other from their configuration: there is nothing to wait for.
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.ring_delay_ms=2000",
    "-Dcassandra.consistent.rangemovement=false",
    "-Dcassandra.superuser_setup_delay_ms=0",
    // Otherwise it closes its output, and with it the log, once it has started.
    "-Dcassandra-foreground=yes",
  ];
}

// Short waits that may take slightly longer. Cassandra's idle workers poll for work every ten microseconds: where few cores
// serve several engines, most of the processor time is spent on switching to them and back. With coarser timers (timer
// slack, Linux, prctl(2)) a push of many records takes a third less time.

/** Nanoseconds by which a wait may exceed the requested time; Linux's own default is 50,000. */
const slackNs = 500_000;

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** The same command, as the same process, with coarse timers where the system supports them. */
export function withCoarseTimers({ command, args }: Command): Command {
  const script = `{ echo ${slackNs} > /proc/self/timerslack_ns; } 2> /dev/null; exec "$0" "$@"`;
  return { command: "/bin/sh", args: ["-c", script, command, ...args] };
}

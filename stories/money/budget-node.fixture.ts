// In a child process: a standalone node with its default limits, which measures its memory use and how long its deciding thread
// is blocked at a stretch. The same thread keeps a lease, as a cluster node's does, with a store that always answers, so
// the lease is lost only if the thread is blocked for too long. For tests.

import { createMembership, type Membership } from "../../cluster/membership.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { nodeTimers } from "../../node/keeping/node-timers.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import { issueGrant, type SandboxGrant } from "../../service/register/sandbox-grant.ts";
import { MemoryCluster } from "../../storage/memory/cluster-store.ts";

declare module "../../bench/child.ts" {
  interface Modules {
    readonly "../stories/money/budget-node.fixture.ts": typeof import("./budget-node.fixture.ts");
  }
}

export interface NodeUrls {
  readonly base_url: string;
  readonly business_url: string;
  readonly verify_url: string;
  readonly ops_url: string;
}

/** The peak values since the last `reset`. */
export interface Measured {
  readonly rssBytes: number;
  /** The memory of buffers, outside the heap. */
  readonly bufferBytes: number;
  /** The CPU time that the deciding thread used between two checks of its timers. */
  readonly stallMs: number;
  /** How often the lease was lost. */
  readonly leaseLosses: number;
}

const lookMs = 2;

let node: RunningNode | null = null;
let most: Measured = { rssBytes: 0, bufferBytes: 0, stallMs: 0, leaseLosses: 0 };
let lease: Membership | null = null;
let leaseLosses = 0;

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Samples memory occasionally and the time often. */
function watch(): void {
  let lastMs = cpuMs();
  let looks = 0;
  setInterval(() => {
    const nowMs = cpuMs();
    looks += 1;
    const memory = looks % 10 === 0 ? process.memoryUsage() : null;
    most = {
      rssBytes: Math.max(most.rssBytes, memory?.rss ?? 0),
      bufferBytes: Math.max(most.bufferBytes, memory?.arrayBuffers ?? 0),
      stallMs: Math.max(most.stallMs, nowMs - lastMs),
      leaseLosses: countLosses(),
    };
    lastMs = cpuMs();
  }, lookMs);
}

/** A query detects the loss of the lease (cluster/membership.ts, N2). */
function countLosses(): number {
  lease?.holdsLease();
  return leaseLosses;
}

async function keepLease(): Promise<void> {
  const region = "eu-west1";
  let incarnations = 0;
  lease = createMembership({
    store: new MemoryCluster([region], Date.now).handle(region),
    clock: { now: Date.now },
    monotonic: { nowMs: () => performance.now() },
    timers: nodeTimers,
    region,
    regions: [region],
    address: "127.0.0.1:7390",
    protocol: { min: 1, max: 1 },
    schema: { known: 1, read: async () => 1 },
    newIncarnation: () => {
      incarnations += 1;
      return `n.${incarnations}`;
    },
    life: {
      begin: async () => {},
      halt: () => {
        leaseLosses += 1;
      },
    },
  });
  await lease.join();
}

export async function open({ home }: { readonly home: string }): Promise<NodeUrls> {
  process.env["SVC_SAMPLES"] = "no";
  node = await startNode({ home, portBase: 0, environment: "sandbox", logLevel: "error" });
  await keepLease();
  watch();
  return node.urls as NodeUrls;
}

/** A grant for a key of a new party. */
export function grant(asked: {
  readonly role: SandboxGrant["role"];
  readonly uuid: string;
  readonly publicJwk: PublicJwk;
}) {
  const signer = node?.services.keys.grant ?? null;
  if (signer === null) throw new Error("a sandbox has a grant key");
  const kind = asked.role === "integration" ? "business" : "ai_company";
  const party = { uuid: asked.uuid, kind, legal_name: `Test ${kind}`, country: "GB" } as const;
  return issueGrant(
    { v: 1, environment: "sandbox", party, role: asked.role, public_key: asked.publicJwk, mandate_id: null },
    signer,
  );
}

export function reset(): Measured {
  globalThis.gc?.();
  const { rss, arrayBuffers } = process.memoryUsage();
  leaseLosses = 0;
  most = { rssBytes: rss, bufferBytes: arrayBuffers, stallMs: 0, leaseLosses };
  return most;
}

export const measured = (): Measured => most;

export const pid = (): number => process.pid;

export async function close(): Promise<void> {
  lease?.stop();
  await node?.[Symbol.asyncDispose]();
}

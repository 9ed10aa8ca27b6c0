// Child process: a node alone with its limits as they are unless set, which measures what it holds and how long its deciding
// thread is busy at a stretch. For tests.

import { answerParent } from "../bench/answer-parent.ts";
import type { PublicJwk } from "../protocol/jwk.ts";
import { issueGrant, type SandboxGrant } from "../service/sandbox-grant.ts";
import { type RunningNode, startNode } from "./start.ts";

export interface NodeUrls {
  readonly base_url: string;
  readonly business_url: string;
  readonly verify_url: string;
  readonly ops_url: string;
}

/** What was most since the last `reset`. */
export interface Measured {
  readonly rssBytes: number;
  /** Memory of buffers, outside the heap. */
  readonly bufferBytes: number;
  /** CPU time that the deciding thread used between two looks at its timers. */
  readonly stallMs: number;
}

const lookMs = 2;

let node: RunningNode | null = null;
let most = { rssBytes: 0, bufferBytes: 0, stallMs: 0 };

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Looks at memory now and then, at the time often. */
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
    };
    lastMs = cpuMs();
  }, lookMs);
}

async function open({ home }: { readonly home: string }): Promise<NodeUrls> {
  process.env["SVC_SAMPLES"] = "no";
  node = await startNode({ home, portBase: 0, environment: "sandbox", logLevel: "error" });
  watch();
  return node.urls as NodeUrls;
}

/** A grant for a key of a new party. */
function grant(asked: {
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

function reset(): Measured {
  globalThis.gc?.();
  const { rss, arrayBuffers } = process.memoryUsage();
  most = { rssBytes: rss, bufferBytes: arrayBuffers, stallMs: 0 };
  return most;
}

answerParent({ open, grant, reset, measured: () => most }, async () => node?.[Symbol.asyncDispose]());

// A whole node with its own businesses to attack over HTTP, stopped and restarted on the same home. For tests.

import { randomInt } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BusinessProtocol } from "../../actors/messages/business.ts";
import type { CommandOf, ReplyOf } from "../../actors/messages/protocol.ts";
import type { PushReport } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { freshNonce, type ReceivedAnswer, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import { publishBody } from "../../client/batch.ts";
import { parseSigningKey, type SigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { ConfigError } from "../../node/configuration/config-error.ts";
import { createHostedSealer, type Sealer } from "../../node/sandbox/sealer.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { type Mandate, mandatePayload } from "../../protocol/mandate.ts";
import { openBusiness, seal, type TestBusiness } from "../publishing/publishing.fixture.ts";

/** A node that runs now. */
export interface StartedNode {
  readonly running: RunningNode;
}

export interface AttackNode extends StartedNode {
  running: RunningNode;
  /** Stops the node and starts it on the same home and ports; `between` runs while the node is down. */
  restart(between?: () => void): Promise<void>;
  close(): Promise<void>;
}

const attemptsMax = 20;

/** A node on ports that a restart reuses; without the samples, whose filling costs more than most tests, unless they are asked for. */
export async function openAttackNode(
  platform: Parameters<typeof startNode>[1] = {},
  { logLevel = "error", samples = false }: { readonly logLevel?: string; readonly samples?: boolean } = {},
): Promise<AttackNode> {
  const home = await mkdtemp(join(tmpdir(), "svc-attack-"));
  let portBase = 0;
  const start = async (): Promise<RunningNode> => {
    const running = await startNode({ home, portBase, logLevel, samples }, platform);
    await running.seeded;
    return running;
  };
  const first = async (attempt: number): Promise<RunningNode> => {
    portBase = 20_000 + 5 * randomInt(2_000);
    try {
      return await start();
    } catch (error) {
      if (error instanceof ConfigError && attempt < attemptsMax) return first(attempt + 1);
      throw error;
    }
  };
  const node: AttackNode = {
    running: await first(1),
    restart: async (between) => {
      await node.running[Symbol.asyncDispose]();
      between?.();
      node.running = await start();
    },
    close: async () => {
      await node.running[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
  return node;
}

/** All that it logged: it is in files once a node has stopped, so this one is restarted. */
export async function logOf(node: AttackNode): Promise<string> {
  await node.restart();
  const { home } = node.running.config;
  const names = (await readdir(home)).filter((name) => /\.log(?:\.|$)/.test(name));
  return (await Promise.all(names.map((name) => readFile(join(home, name), "utf8")))).join("\n");
}

let businesses = 0;

/** A business for which nobody else publishes, with a key and its sandbox mandate. */
export function newBusiness(node: StartedNode): Promise<TestBusiness> {
  businesses += 1;
  const uuid = `00000000-0000-4000-8000-${String(businesses).padStart(12, "0")}`;
  return openBusiness(node.running.services, uuid);
}

/** A further key of the same business, with its own mandate. */
export async function successorOf(node: AttackNode, business: TestBusiness): Promise<TestBusiness> {
  return openBusiness(node.running.services, business.party.uuid);
}

/** Seals a mandate for the business's key; it replaces the others of the key unless it is given `beside` them. */
export async function giveMandate(
  node: AttackNode,
  business: TestBusiness,
  changes: {
    readonly scope?: Partial<Mandate["scope"]>;
    readonly fromMs?: number;
    readonly untilMs?: number;
    readonly beside?: true;
  },
  /** Who seals it; the key that the service holds for the business unless it is said. */
  sealer?: Pick<Sealer, "seal">,
): Promise<string> {
  const { parties, hostedSigner } = node.running.services;
  businesses += 1;
  const nowMs = Date.now();
  const mandate_id = `mdt_test_${businesses}`;
  const payload = mandatePayload({
    v: 1,
    mandate_id,
    business_uuid: business.party.uuid,
    key_id: business.key.key_id,
    scope: {
      record_types: ["products"],
      countries: ["US", "GB", "DE"],
      directions: ["publish"],
      caps: { records_per_hour: 1_000_000, bytes_per_day: 1_000_000_000 },
      source_ip_allow_list: null,
      ...changes.scope,
    },
    valid_from: formatTimestamp(changes.fromMs ?? nowMs),
    valid_until: formatTimestamp(changes.untilMs ?? nowMs + 86_400_000),
  });
  const by = sealer ?? createHostedSealer(await hostedSigner(business.party.uuid));
  const { mandates: others } = await parties.facts(business.party.uuid, business.key.key_id);
  await parties.acceptMandate(await by.seal(payloadTypes["mandate.v1"], payload));
  for (const other of changes.beside === true ? [] : others.filter(({ revoked_at }) => revoked_at === null))
    await parties.revokeMandate({
      uuid: business.party.uuid,
      mandate_id: other.mandate_id,
      revoked_at: formatTimestamp(nowMs),
    });
  return mandate_id;
}

export function tellBusiness<T extends keyof BusinessProtocol>(
  node: AttackNode,
  business: TestBusiness,
  command: CommandOf<BusinessProtocol, T>,
): Promise<ReplyOf<BusinessProtocol, T>> {
  return node.running.services.actors.ask(businessRef(business.party.uuid), command);
}

/** The push once it is complete, held or failed. */
export async function awaitPush(
  node: AttackNode,
  business: TestBusiness,
  pushId: string,
): Promise<PushReport> {
  const push = pushRef(business.party.uuid, pushId);
  for (;;) {
    const { actors } = node.running.services;
    const report = await actors.ask(push, { type: "push.await" }, { timeoutMs: 60_000 });
    if (report === null) throw new Error(`${pushId} was never accepted`);
    // A push that is still processing here is settled and awaits only the confirmation of the index.
    if (report.state !== "processing") return report;
  }
}

export async function newSigningKey(algorithm: "Ed25519" | "ES256" = "Ed25519"): Promise<SigningKey> {
  const parsed = await parseSigningKey(generatePrivateJwk(algorithm));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
}

export function publishOver(
  node: StartedNode,
  business: Pick<TestBusiness, "signingKey">,
  body: Uint8Array | string,
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  return send(
    node.running.urls.business_url,
    { key: business.signingKey, grant: "" },
    {
      path: "/v1/publish/products",
      body,
      tag: "svc-push",
      ...changes,
      headers: { "idempotency-key": freshNonce(), "svc-sandbox-key": null, ...changes.headers },
    },
  );
}

export function readOver(
  node: AttackNode,
  business: Pick<TestBusiness, "signingKey">,
  path: string,
  changes: Pick<SentRequest, "created"> = {},
): Promise<ReceivedAnswer> {
  const caller = { key: business.signingKey, grant: "" };
  const headers = { "svc-sandbox-key": null };
  return send(node.running.urls.business_url, caller, {
    path,
    tag: "svc-business-read",
    headers,
    ...changes,
  });
}

/** The exact body bytes of a sealed batch. */
export async function batchBody(
  business: TestBusiness,
  records: readonly Uint8Array[],
  changes: Parameters<typeof seal>[2] = {},
): Promise<{ readonly body: Uint8Array; readonly pushId: string }> {
  const batch = await seal(business, records, changes);
  return { body: publishBody(batch.batch_seal, records), pushId: batch.push_id };
}

export interface ReceivedOutcome {
  readonly outcome: string;
  readonly version: number | null;
  readonly record_id: string | null;
  readonly errors: readonly { readonly code: string; readonly pointer: string }[];
}

export function outcomesOf(answer: ReceivedAnswer): readonly ReceivedOutcome[] {
  return answer.json["results"] as readonly ReceivedOutcome[];
}

// A node without HTTP whose sandbox is seeded, interrupted and seeded again. For tests.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { Fetch } from "../../client/sender.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import type { Signer } from "../../crypto/port.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import type { Caller } from "../../service/answer.ts";
import { publishBatch } from "../../service/publishing/publish.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { readPush } from "../../service/publishing/push-status.ts";
import { sealContext } from "../../service/publishing/seal-context.ts";
import type { Parties } from "../../service/register/parties.ts";
import { registerInForce } from "../../stories/verification/register-in-force.fixture.ts";
import { adPublishingOf } from "../composition/publishing-surface.ts";
import { type NodeServices, openNodeServices } from "../composition/services.ts";
import { loadConfig } from "../configuration/config.ts";
import { sampleBusinesses } from "./businesses.ts";
import { type SeedDeps, type SeedOutcome, seedSandbox } from "./seed.ts";

export class Killed extends Error {}

const urls = {
  base_url: "http://127.0.0.1:7300",
  business_url: "http://127.0.0.1:7301",
  verify_url: "http://127.0.0.1:7302",
  mcp_url: "http://127.0.0.1:7303",
  ops_url: "http://127.0.0.1:7304",
  portal_url: "http://localhost:7305",
};

/** The business surface without HTTP: the key of the catalogue's pusher is treated as authenticated. */
function surfaceOf(
  services: NodeServices,
  pusher: () => { readonly uuid: string; readonly keyId: string },
): Fetch {
  return async (url, { method, headers, body }) => {
    const { pathname, searchParams } = new URL(url);
    const caller = await callerOf(services, pusher());
    const outcome =
      method === "POST"
        ? await publishBatch(services, {
            caller,
            collection: "products",
            idempotencyKey: headers["idempotency-key"] ?? null,
            contentDigest: headers["content-digest"] ?? "",
            body: body instanceof Uint8Array ? body : new Uint8Array(),
            sourceIp: "127.0.0.1",
          })
        : pathname === "/v1/seal-context"
          ? await sealContext(services, { caller })
          : await readPush(services.actors, {
              caller,
              pushId: pathname.split("/").at(-1) ?? "",
              outcome: searchParams.get("outcome"),
              cursor: searchParams.get("cursor"),
            });
    if (outcome.kind === "problem") return Response.json(outcome.problem, { status: outcome.problem.status });
    return new Response(String(outcome.body), { status: outcome.status });
  };
}

async function callerOf(
  services: NodeServices,
  { uuid, keyId }: { readonly uuid: string; readonly keyId: string },
): Promise<Caller> {
  const { party } = await services.parties.facts(uuid, keyId);
  const entry = await services.registerStore.get("key", keyId);
  if (party === null || entry === null) throw new Error("The pusher is not registered.");
  return {
    key: JSON.parse(entry.body),
    party,
    nonce: "",
    expiresMs: 0,
    requestHash: "",
    tag: "svc-push",
  } as Caller;
}

export interface World {
  readonly home: string;
  readonly services: NodeServices;
  /** The number of seeding effects that are under way. */
  underWay(): number;
  /** `change` may provide its own effects. */
  seed(stepsLeft?: number, change?: (deps: SeedDeps) => Partial<SeedDeps>): Promise<SeedOutcome>;
  close(): Promise<void>;
}

export const opened: World[] = [];
const homes: string[] = [];
afterEach(async () => {
  for (const world of opened.splice(0)) await world.close();
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true });
});

export async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "svc-seed-"));
  homes.push(home);
  return home;
}

export async function openWorld(home: string, laterMs = 0): Promise<World> {
  const services = await openNodeServices(
    loadConfig({ home, environment: "sandbox", region: "local-test1" }, {}),
    () => {},
    { clock: { now: () => Date.now() + laterMs } },
  );
  await services.actors.start();
  const keyStore = await FileKeyStore.open(join(home, "keys"));
  let underWay = 0;
  const seed: World["seed"] = async (stepsLeft = Number.POSITIVE_INFINITY, change = () => ({})) => {
    let left = stepsLeft;
    /** Kills the process before an effect, or after it and before anybody knows. */
    const around = async <T>(effect: () => Promise<T>): Promise<T> => {
      left -= 1;
      if (left < 0) throw new Killed();
      underWay += 1;
      const result = await effect().finally(() => {
        underWay -= 1;
      });
      left -= 1;
      if (left < 0) throw new Killed();
      return result;
    };
    const pusher = async () =>
      thumbprintOf(await keyStore.loadOrCreate("sample-diamond-merchant-1", "Ed25519"));
    const keyId = await pusher();
    const surface = surfaceOf(services, () => ({ uuid: sampleBusinesses[0]?.uuid ?? "", keyId }));
    const disturbed = (parties: Parties): Parties => ({
      ...parties,
      registerKey: (key) => around(() => parties.registerKey(key)),
      acceptMandate: (envelope) => around(() => parties.acceptMandate(envelope)),
      revokeKey: (request) => around(() => parties.revokeKey(request)),
      revokeMandate: (request) => around(() => parties.revokeMandate(request)),
      issueCertificate: (request) => around(() => parties.issueCertificate(request)),
      acceptPolicy: (request) => around(() => parties.acceptPolicy(request)),
    });
    const deps: SeedDeps = {
      ...services,
      home,
      urls,
      keyStore,
      grantKey: services.keys.grant as Signer,
      parties: disturbed(services.parties),
      publishRecord: (request) => around(() => publishRecord(services, request)),
      publishAd: (call) => around(() => adPublishingOf(services).publishAd(call)),
      images: services.imageStore,
      adCurrency: services.config.ads.currency,
      fetch: (url, init) => around(() => surface(url, init)),
    };
    return await seedSandbox({ ...deps, ...change(deps) });
  };
  const world = {
    home,
    services,
    underWay: () => underWay,
    seed,
    close: async () => await services[Symbol.asyncDispose](),
  };
  opened.push(world);
  return world;
}

export function thumbprintOf(jwk: Readonly<Record<string, unknown>>): string {
  const { d: _private, ...publicJwk } = jwk;
  return thumbprint(publicJwk as Parameters<typeof thumbprint>[0]);
}

export async function counts(services: NodeServices): Promise<Readonly<Record<string, number>>> {
  await registerInForce(services);
  const entries = await Promise.all(
    collectionNames.map(async (name) => [name, await services.index.count(name)] as const),
  );
  return Object.fromEntries(entries);
}

/** Every row that a search can find, with its generation. */
export async function generations(services: NodeServices): Promise<readonly number[]> {
  const found: number[] = [];
  for (const collection of collectionNames) {
    for (const country of ["US", "GB", "CA", "DE", "IE"]) {
      const hits = await services.index.search({
        collection,
        country,
        clauses: [],
        sort: [{ field: "published_at", direction: "desc" }],
        limit: 50,
        excludeBusinesses: [],
      });
      for (const { record_id } of hits)
        found.push((await services.records.readServed(record_id))?.version.generation ?? 0);
    }
  }
  return found;
}

/** Of the businesses for trying refusals, three have a record that stands: the revoked one's does not. */
export const complete = { products: 675 + 6 + 3, business_files: 4, events: 6, jobs: 7, updates: 6 };

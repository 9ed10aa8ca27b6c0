import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Fetch } from "../../client/sender.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Signer } from "../../crypto/port.ts";
import { collectionNames, formatTimestamp } from "../../protocol/identifiers.ts";
import { thumbprint } from "../../protocol/jwk.ts";
import type { Caller } from "../../service/caller.ts";
import type { Parties } from "../../service/parties.ts";
import { publishBatch } from "../../service/publish.ts";
import { publishRecord } from "../../service/publish-record.ts";
import { readPush } from "../../service/push-status.ts";
import { parseGrant } from "../../service/sandbox-grant.ts";
import { sealContext } from "../../service/seal-context.ts";
import { loadConfig } from "../config.ts";
import { type NodeServices, openNodeServices } from "../services.ts";
import { sampleBusinesses } from "./businesses.ts";
import type { Sandbox } from "./sandbox-file.ts";
import { type SeedDeps, type SeedOutcome, seedSandbox } from "./seed.ts";
import { trialBusinesses, trialCompanies } from "./trials.ts";

class Killed extends Error {}

const urls = {
  base_url: "http://127.0.0.1:7300",
  business_url: "http://127.0.0.1:7301",
  verify_url: "http://127.0.0.1:7302",
  mcp_url: "http://127.0.0.1:7303",
  ops_url: "http://127.0.0.1:7304",
};

/** The business surface without HTTP: the key of the catalogue's pusher is taken as authenticated. */
function surfaceOf(
  services: NodeServices,
  pusher: () => { readonly uuid: string; readonly keyId: string },
): Fetch {
  return async (url, { method, headers, body }) => {
    const { pathname } = new URL(url);
    const caller = await callerOf(services, pusher());
    const outcome =
      method === "POST"
        ? await publishBatch(
            { ...services, crypto: nativeCrypto },
            {
              caller,
              collection: "products",
              idempotencyKey: headers["idempotency-key"] ?? null,
              contentDigest: headers["content-digest"] ?? "",
              body: body ?? new Uint8Array(),
              sourceIp: "127.0.0.1",
            },
          )
        : pathname === "/v1/seal-context"
          ? await sealContext(services, { caller })
          : await readPush(services.actors, {
              caller,
              pushId: pathname.split("/").at(-1) ?? "",
              outcome: null,
              cursor: null,
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

interface World {
  readonly home: string;
  readonly services: NodeServices;
  /** How many effects of fillings are under way. */
  underWay(): number;
  /** `change` may give effects of its own. */
  seed(stepsLeft?: number, change?: (deps: SeedDeps) => Partial<SeedDeps>): Promise<SeedOutcome>;
  close(): Promise<void>;
}

const opened: World[] = [];
const homes: string[] = [];
afterEach(async () => {
  for (const world of opened.splice(0)) await world.close();
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true });
});

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "svc-seed-"));
  homes.push(home);
  return home;
}

async function openWorld(home: string): Promise<World> {
  const services = await openNodeServices(
    loadConfig({ home, environment: "sandbox", region: "local-test1" }, {}),
  );
  await services.actors.start();
  const keyStore = await FileKeyStore.open(join(home, "keys"));
  let underWay = 0;
  const seed: World["seed"] = async (stepsLeft = Number.POSITIVE_INFINITY, change = () => ({})) => {
    let left = stepsLeft;
    /** The process ends before an effect, or after it and before anybody knows. */
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
      keysValidFromMs: 0,
      grantKey: services.keys.grant as Signer,
      parties: disturbed(services.parties),
      partiesAt: (clock) => disturbed(services.partiesAt(clock)),
      publishRecord: (request) =>
        around(() =>
          publishRecord({ ...services, crypto: nativeCrypto, passkeys: services.anchors.passkeys }, request),
        ),
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

function thumbprintOf(jwk: Readonly<Record<string, unknown>>): string {
  const { d: _private, ...publicJwk } = jwk;
  return thumbprint(publicJwk as Parameters<typeof thumbprint>[0]);
}

async function counts(services: NodeServices): Promise<Readonly<Record<string, number>>> {
  const entries = await Promise.all(
    collectionNames.map(async (name) => [name, await services.index.count(name)] as const),
  );
  return Object.fromEntries(entries);
}

/** Every row that a search can find, with its generation. */
async function generations(services: NodeServices): Promise<readonly number[]> {
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

const complete = { products: 675 + 6 + 4, business_files: 4, events: 6, jobs: 7, updates: 6 };

describe("a new sandbox", () => {
  it("is filled, and written down as promised", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    const { sandbox, exampleRecordId } = await world.seed();
    expect(await counts(world.services)).toEqual(complete);
    expect(JSON.parse(await readFile(join(home, "sandbox.json"), "utf8"))).toEqual(sandbox);
    expect(Object.keys(sandbox)).toEqual([
      "environment",
      "base_url",
      "business_url",
      "verify_url",
      "mcp_url",
      "ops_url",
      "anchors",
      "businesses",
      "ai_companies",
    ]);
    expect((await world.services.records.readServed(exampleRecordId))?.head.live).toBe(true);
    expectKeys(sandbox, world.services);
  });

  it("is filled by whoever goes on after a crash, and nothing is published twice", async () => {
    for (const steps of [3, 11, 20, 33, 60, 85, 110, 140, 170, 200]) {
      const home = await newHome();
      const first = await openWorld(home);
      await expect(first.seed(steps)).rejects.toThrow();
      await opened.pop()?.close();
      const second = await openWorld(home);
      await second.seed();
      expect(await counts(second.services)).toEqual(complete);
      expect(new Set(await generations(second.services))).toEqual(new Set([1]));
      await opened.pop()?.close();
    }
  });

  it("has ended when it fails, so that it is begun again at once", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    for (const steps of [11, 33, 60]) {
      await expect(world.seed(steps)).rejects.toThrow(Killed);
      expect(world.underWay()).toBe(0);
    }
    await world.seed();
    expect(await counts(world.services)).toEqual(complete);
    expect(new Set(await generations(world.services))).toEqual(new Set([1]));
  });

  it("waits for no push of a filling that has failed", async () => {
    const world = await openWorld(await newHome());
    const isAsked = Promise.withResolvers<void>();
    const failure = new Error("away");
    const seeding = world.seed(undefined, ({ fetch }) => ({
      // The catalogue's push never ends.
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        if (!url.includes("/v1/pushes/") || answer.status !== 200) return answer;
        isAsked.resolve();
        const status = JSON.parse(Buffer.from(await answer.arrayBuffer()).toString());
        return Response.json({ ...status, state: "processing", stalled: false });
      },
      publishRecord: async () => {
        await isAsked.promise;
        throw failure;
      },
    }));
    await expect(seeding).rejects.toBe(failure);
  });

  it("stays as it is when it is started again", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    const first = await world.seed();
    const again = await world.seed();
    expect(again).toEqual(first);
    expect(await counts(world.services)).toEqual(complete);
    expect(new Set(await generations(world.services))).toEqual(new Set([1]));
  });
});

function expectKeys(sandbox: Sandbox, services: NodeServices): void {
  const grantKey = (services.keys.grant as Signer).publicJwk;
  const keys = [
    ...sandbox.businesses.flatMap((each) => each.integration_keys),
    ...sandbox.ai_companies.flatMap((each) => each.keys),
  ];
  for (const { key_id: keyId, grant, private_jwk } of keys) {
    expect(thumbprintOf(private_jwk)).toBe(keyId);
    expect(parseGrant(grant, { keyId, grantKey, crypto: nativeCrypto })).toMatchObject({ ok: true });
  }
  expect(keys).toHaveLength(5 + 18 + 4 + 5);
  expect(new Set(keys.map(({ key_id }) => key_id)).size).toBe(keys.length);
}

describe("the samples that are refused", () => {
  it("are as their notes say, also when they are registered again", async () => {
    const world = await openWorld(await newHome());
    await world.seed();
    await rm(join(world.home, "sandbox-trials.json"));
    const { sandbox } = await world.seed();
    const [trials] = trialBusinesses;
    const entry = sandbox.businesses.find(({ business_uuid: uuid }) => uuid === trials?.uuid);
    const fates = await Promise.all(
      (entry?.integration_keys ?? []).map(async ({ key_id: keyId }) => {
        const { key, mandates } = await world.services.parties.facts(trials?.uuid ?? "", keyId);
        const now = formatTimestamp(Date.now());
        const inForce = mandates.filter((each) => each.revoked_at === null && each.valid_until > now);
        return `${key} ${inForce.length}/${mandates.length}`;
      }),
    );
    expect(fates).toEqual([
      ...[
        "live 1/1",
        "live 1/1",
        "unknown 0/0",
        "unknown 0/0",
        "live 1/1",
        "live 1/1",
        "live 1/1",
        "live 1/1",
      ],
      ...["live 1/1", "revoked 1/1", "revoked 1/1", "live 0/0", "live 0/1", "live 0/1", "live 0/0"],
    ]);
    const statuses = await Promise.all(
      [...trialBusinesses, ...trialCompanies].map(
        async ({ uuid }) => (await world.services.parties.facts(uuid, "")).certificate?.status,
      ),
    );
    expect(statuses).toEqual(["active", "revoked", "closed", "withdrawn", "active", "withdrawn"]);
  });

  it("are in force since an hour before the first start, their AI policies too", async () => {
    const world = await openWorld(await newHome());
    const startedAt = Date.now();
    await world.seed();
    for (const { uuid } of [...sampleBusinesses, ...trialBusinesses]) {
      const { policy } = await world.services.parties.facts(uuid, "");
      expect(startedAt - Date.parse(policy.live_from ?? "")).toBeGreaterThan(3_500_000);
    }
  });

  it("get a note each", async () => {
    const world = await openWorld(await newHome());
    const { sandbox } = await world.seed();
    const notes = [
      ...sandbox.businesses.flatMap((each) => [each, ...each.integration_keys, ...each.mandates]),
      ...sandbox.ai_companies.flatMap((each) => [each, ...each.keys]),
    ].map(({ note }) => note);
    for (const note of notes) expect(note).toMatch(/^.{10,}\.$/);
  });
});

describe("a sandbox of an earlier release", () => {
  /** What an earlier release left: it had no samples that are refused, and everything was in force since its first start. */
  async function earlier(world: World): Promise<void> {
    const state = { v: 1, first_started_at: formatTimestamp(Date.now() - 1_000), sealing_at: null };
    const journal = { ...state, is_complete: false, example_record_id: null };
    await writeFile(join(world.home, "sandbox-seed.json"), JSON.stringify(journal));
  }

  it("is filled, and stays as it is when it is started again", async () => {
    const world = await openWorld(await newHome());
    await earlier(world);
    const first = await world.seed();
    expect(await counts(world.services)).toEqual(complete);
    expect(await world.seed()).toEqual(first);
  });
});

describe("two nodes that fill one sandbox at once", () => {
  it("agree on it, and each is filled", async () => {
    const world = await openWorld(await newHome());
    const other = await newHome();
    const [one, two] = await Promise.all([world.seed(), world.seed(undefined, () => ({ home: other }))]);
    expect(two.sandbox).toEqual(one.sandbox);
    expect(await counts(world.services)).toEqual(complete);
  });
});

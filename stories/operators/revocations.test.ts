// What operators revoke at a running node with the program: it is refused afterwards, accounted for, and visible later.

import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { issueGrant, type SandboxGrant } from "../../service/register/sandbox-grant.ts";
import { openBusiness, product, type TestBusiness } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  giveMandate,
  newBusiness,
  newSigningKey,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";
import { type Run, runRevoke } from "./revocations.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode({}, { samples: true });
});
afterAll(() => node.close());

const answered = ["--by", "Ada at the desk", "--reason", "Found in a public repository."];
const patienceMs = 10_000;
let seq = 0;

const svc = (words: readonly string[], reply: string | null = null): Promise<Run> =>
  runRevoke(words, { home: node.running.config.home, reply });

async function publishOne(business: TestBusiness): Promise<unknown> {
  seq += 1;
  const { body } = await batchBody(business, [product("one")], { seq });
  const answer = await publishOver(node, business, body);
  return answer.json["code"] ?? answer.status;
}

async function ops(path: string): Promise<Record<string, unknown>> {
  return (await (await contractFetch(`${node.running.urls.ops_url}${path}`)).json()) as Record<
    string,
    unknown
  >;
}

async function auditLines(): Promise<readonly Record<string, unknown>[]> {
  const text = await readFile(join(node.running.config.home, "audit.log"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("an operator revokes a key", () => {
  it("with a stated moment: it is refused at once, told of in every register, and answered for", async () => {
    const business = await newBusiness(node);
    expect(await publishOne(business)).toBe(200);
    const { key_id } = business.key;
    const from = formatTimestamp(Date.now() - 60_000);
    const words = ["key", key_id, "--compromised-from", from, ...answered];
    const run = await svc([...words, "--yes"]);
    expect(run).toMatchObject({ code: 0, said: expect.stringContaining("Diamonds Ltd") });
    expect(run.printed).toMatch(/^Done: in force since 20/);
    expect(await publishOne(business)).toBe("key_unknown");
    // Nothing queries the register here: it follows on its own.
    const untilMs = Date.now() + patienceMs;
    const { register } = node.running.services;
    while ((await register.key(key_id))?.compromised_from !== from && Date.now() < untilMs) await delay(50);
    expect(await register.key(key_id)).toMatchObject({ compromised_from: from });

    const again = await svc([...words, "--yes", "--json"]);
    const { changed, since, key } = JSON.parse(again.printed) as Record<string, unknown>;
    expect({ changed, since, key }).toMatchObject({
      changed: false,
      since: /since (\S+)\./.exec(run.printed)?.[1],
      key: { key_id, party_uuid: business.party.uuid, compromised_from: from, revoked_at: since },
    });
    // An earlier moment adds to what was known, a later one does not.
    const earlier = formatTimestamp(Date.now() - 120_000);
    const more = await svc(["key", key_id, "--compromised-from", earlier, ...answered, "--yes", "--json"]);
    expect(JSON.parse(more.printed)).toMatchObject({
      changed: true,
      since,
      key: { compromised_from: earlier },
    });
  });

  it("who and why stay with the party's actor, where operators look, across snapshots and restarts", async () => {
    const business = await newBusiness(node);
    const { key_id } = business.key;
    await svc(["key", key_id, ...answered, "--yes"]);
    const act = { by: "Ada at the desk", reason: "Found in a public repository." };
    const { uuid } = business.party;
    const inspected = await ops(`/ops/actors/business/${uuid}`);
    expect(inspected["lastEvents"]).toContainEqual(
      expect.objectContaining({ type: "register.changed", keys: [`key/${key_id}`], act }),
    );
    const kept = { ...act, act: "key.revoke", entry: `key/${key_id}` };
    expect((await ops(`/ops/acts/${uuid}`))["acts"]).toMatchObject([kept]);
    for (let change = 0; change < 300; change += 1)
      await node.running.services.parties.setBlocked({ uuid, group: "g", blocked: change % 2 === 0 });
    await node.restart();
    const later = await ops(`/ops/actors/business/${uuid}`);
    expect(JSON.stringify(later["lastEvents"])).not.toContain("Ada");
    expect((await ops(`/ops/acts/${uuid}`))["acts"]).toMatchObject([kept]);
    expect(await publishOne(business)).toBe("key_unknown");
  });

  it("of an AI company: its searches are refused within seconds", async () => {
    const { keys, config } = node.running.services;
    const sandbox = JSON.parse(await readFile(join(config.home, "sandbox.json"), "utf8"));
    const signer = await newSigningKey();
    const party = { uuid: "00000000-0000-4000-8000-0000000000c1", kind: "ai_company" } as const;
    const grant = await issueGrant(
      {
        v: 1,
        environment: "sandbox",
        role: "retrieval",
        public_key: signer.publicJwk,
        mandate_id: null,
        party: { ...party, legal_name: "Answers Ltd", country: "GB" },
      },
      keys.grant ?? fail(),
    );
    const caller: TestCaller = { key: signer, grant };
    const search = (): Promise<ReceivedAnswer> =>
      send(sandbox.base_url, caller, {
        path: "/v1/search",
        body: JSON.stringify({ collection: "products", q: "*", country: "GB" }),
        tag: "svc-retrieval",
      });
    const before = await search();
    expect(before.json["code"]).not.toBe("key_unknown");
    expect((await svc(["key", signer.keyId, ...answered, "--yes"])).code).toBe(0);
    const untilMs = Date.now() + patienceMs;
    let code: unknown;
    while (code !== "key_unknown" && Date.now() < untilMs) code = (await search()).json["code"];
    expect(code).toBe("key_unknown");
  });
});

function fail(): never {
  throw new Error("A sandbox has a grant key.");
}

it("an operator revokes a mandate, and the others of the key stay", async () => {
  const business = await newBusiness(node);
  const mandateId = await giveMandate(node, business, { beside: true });
  const words = ["mandate", business.party.uuid, mandateId, ...answered, "--yes", "--json"];
  const first = JSON.parse((await svc(words)).printed) as Record<string, unknown>;
  expect(first).toMatchObject({
    changed: true,
    mandate: { mandate_id: mandateId, revoked_at: first["since"] },
  });
  expect(JSON.parse((await svc(words)).printed)).toEqual({ ...first, changed: false });
  expect(await publishOne(business)).toBe(200);
  const sandboxMandate = `mdt_${business.key.key_id}`;
  await svc(["mandate", business.party.uuid, sandboxMandate, ...answered, "--yes"]);
  expect(await publishOne(business)).toBe("mandate_missing");
  expect((await ops(`/ops/acts/${business.party.uuid}`))["acts"]).toMatchObject([
    { act: "mandate.revoke", entry: `mandate/${mandateId}` },
    { act: "mandate.revoke", entry: `mandate/${sandboxMandate}` },
  ]);
});

describe("an operator ends a certificate", () => {
  const end = (uuid: string, ...more: readonly string[]) =>
    svc(["certificate", uuid, ...more, ...answered, "--yes", "--json"]);
  const statusOf = async (uuid: string): Promise<unknown> => {
    const answer = await send(node.running.urls.verify_url, null, { path: `/v1/certificates/${uuid}` });
    return answer.json["status"];
  };

  it.each(["revoked", "closed", "withdrawn"])(
    "%s: nothing more is published, and everybody reads it",
    async (status) => {
      const business = await newBusiness(node);
      const { uuid } = business.party;
      const run = await end(uuid, "--status", status, "--status-reason", "approval_reversed");
      expect(JSON.parse(run.printed)).toMatchObject({
        changed: true,
        certificate: { uuid, status, status_reason: "approval_reversed" },
      });
      expect(await publishOne(business)).toBe("business_not_verified");
      const untilMs = Date.now() + patienceMs;
      while ((await statusOf(uuid)) !== status && Date.now() < untilMs) await delay(50);
      expect(await statusOf(uuid)).toBe(status);
      const again = await end(uuid, "--status", status, "--status-reason", "approval_reversed");
      expect(JSON.parse(again.printed)).toEqual({ ...JSON.parse(run.printed), changed: false });
    },
  );

  it("from an earlier day, and never to say less than that it was revoked", async () => {
    const { uuid } = (await newBusiness(node)).party;
    const revoked = ["--status", "revoked", "--status-reason", "fraud"];
    await end(uuid, ...revoked);
    const run = await end(uuid, ...revoked, "--effective-from", "2026-01-02T03:04:00+01:00");
    const from = "2026-01-02T02:04:00.000Z";
    expect(JSON.parse(run.printed)).toMatchObject({ changed: true, since: from });
    expect(JSON.parse((await end(uuid, ...revoked)).printed)).toMatchObject({ changed: false, since: from });
    expect(await end(uuid, "--status", "closed", "--status-reason", "ended")).toMatchObject({
      code: 3,
      said: expect.stringContaining("The certificate is already revoked"),
    });
  });

  it("for a graver reason once it has ended, from the same moment, never for a lesser one or from a later one", async () => {
    const { uuid } = (await newBusiness(node)).party;
    const [since, later] = ["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"];
    await end(uuid, "--status", "closed", "--status-reason", "ended", "--effective-from", since);
    const withdrawn = await end(uuid, "--status", "withdrawn", "--status-reason", "approval_reversed");
    expect(JSON.parse(withdrawn.printed)).toMatchObject({ changed: true, since });
    const closed = await end(uuid, "--status", "closed", "--status-reason", "ended");
    expect([closed.code, closed.said]).toEqual([3, expect.stringContaining("is already withdrawn")]);
    const revoked = ["--status", "revoked", "--status-reason", "fraud"];
    const refused = await end(uuid, ...revoked, "--effective-from", later);
    expect([refused.code, refused.said]).toEqual([3, expect.stringContaining(`has ended from ${since} on`)]);
    expect(JSON.parse((await end(uuid, ...revoked)).printed)).toMatchObject({ changed: true, since });
  });

  it("that two operators end at once: the issuances stay one history", async () => {
    const { uuid } = (await newBusiness(node)).party;
    const runs = await Promise.all(
      ["closed", "revoked", "withdrawn", "revoked", "closed"].map(async (status) => ({
        status,
        ...(await end(uuid, "--status", status, "--status-reason", "fraud")),
      })),
    );
    const done = runs.filter(({ code }) => code === 0).map(({ status }) => status);
    for (const { code, said } of runs) if (code !== 0) expect(said).toContain("state_changed");
    const acts = (await ops(`/ops/acts/${uuid}`))["acts"] as readonly object[];
    const { register } = node.running.services;
    // The first one was not issued by a named operator.
    const issued = acts.length + 1;
    await expect
      .poll(async () => (await register.certificates(uuid)).length, { timeout: patienceMs })
      .toBe(issued);
    const certificates = await register.certificates(uuid);
    const previous = certificates.map(({ envelope }) => {
      const { payload } = JSON.parse(envelope) as { readonly payload: string };
      return (JSON.parse(Buffer.from(payload, "base64").toString()) as { previous: unknown }).previous;
    });
    expect(new Set(previous).size).toBe(certificates.length);
    expect(done).toContain(certificates[0]?.status);
  });
});

describe("an operator revokes a sandbox grant", () => {
  const grantFor = async (uuid: string) => {
    const key = await newSigningKey();
    const grant: SandboxGrant = {
      v: 1,
      environment: "sandbox",
      role: "integration",
      public_key: key.publicJwk,
      mandate_id: null,
      party: { uuid, kind: "business", legal_name: "Granted Ltd", country: "GB" },
    };
    return { key, grant: await issueGrant(grant, node.running.services.keys.grant ?? fail()) };
  };
  const context = (caller: TestCaller): Promise<ReceivedAnswer> =>
    send(node.running.urls.business_url, caller, { path: "/v1/seal-context", tag: "svc-business-read" });

  it("that was used, and one that was not: neither opens anything afterwards", async () => {
    const [used, unused] = [
      await grantFor("00000000-0000-4000-8000-0000000000b1"),
      await grantFor("00000000-0000-4000-8000-0000000000b2"),
    ];
    expect((await context(used)).status).toBe(200);
    for (const each of [used, unused]) {
      const run = await svc(["grant", each.grant, ...answered, "--yes"]);
      expect(run).toMatchObject({ code: 0, said: expect.stringContaining("Granted Ltd") });
      expect(run.said).toContain("integration key");
    }
    await registerInForce(node.running.services);
    for (const each of [used, unused])
      expect((await context(each)).json).toMatchObject({ code: "key_unknown", status: 401 });
    expect(
      JSON.parse((await svc(["grant", unused.grant, ...answered, "--yes", "--json"])).printed),
    ).toMatchObject({
      changed: false,
    });
  });

  it("of another sandbox: there is no such thing", async () => {
    const { grant } = await grantFor("00000000-0000-4000-8000-0000000000b3");
    const forged = `${grant.slice(0, -4)}AAAA`;
    expect((await svc(["grant", forged, ...answered, "--yes"])).said).toMatch(
      /not signed by this sandbox.*404/,
    );
    expect((await svc(["grant", "nonsense", ...answered, "--yes"])).code).toBe(2);
  });
});

describe("svc revoke", () => {
  it("shows what it is and asks first; anything but yes changes nothing", async () => {
    const business = await newBusiness(node);
    const words = ["key", business.key.key_id, ...answered];
    for (const reply of ["", "y", "YES", "no"]) {
      const run = await svc(words, reply);
      expect(run).toMatchObject({ code: 1, printed: "" });
      expect(run.said).toMatch(/legal_name: Diamonds Ltd[\s\S]*refused for ever[\s\S]*Nothing was changed/);
    }
    expect(await svc(words, null)).toMatchObject({ code: 2, said: expect.stringContaining("--yes") });
    expect(await publishOne(business)).toBe(200);
    expect(await svc(words, "yes")).toMatchObject({ code: 0 });
    expect(await publishOne(business)).toBe("key_unknown");
  });

  it.each([
    [["key", "k".repeat(43)], /No key with this key_id.*404/],
    [["key", "nonsense"], /No key with this key_id.*404/],
    [["mandate", "00000000-0000-4000-8000-00000000dead", "mdt"], /no mandate.*404/],
    [["mandate", "nobody", "mdt"], /no mandate.*404/],
    [
      ["certificate", "00000000-0000-4000-8000-00000000dead", "--status", "closed", "--status-reason", "x"],
      /No certificate.*404/,
    ],
  ])("says that there is no %j", async (words, said) => {
    const run = await svc([...words, ...answered, "--yes"]);
    expect(run).toMatchObject({ code: 3, said: expect.stringMatching(said) });
    // Asking about a party that nobody opened does not create it.
    const parties = await node.running.services.actorStore.listActors(
      "business",
      "00000000-0000-4000-8000-00000000deac",
      1,
    );
    expect(parties).not.toContain("00000000-0000-4000-8000-00000000dead");
  });

  it("says what is missing before it asks a node", async () => {
    const of = async (...words: string[]) => (await svc(words)).said;
    expect(await of()).toContain("What to revoke is missing");
    expect(await of("node", "x", ...answered)).toContain('"node" cannot be revoked');
    expect(await of("key", ...answered)).toContain("svc revoke key KEY_ID");
    expect(await of("key", "k", "--by", "Ada")).toContain("--reason is missing");
    expect(await of("key", "k", "--reason", "why")).toContain("--by is missing");
    expect(await of("mandate", "u", "m", "--status", "closed", ...answered)).toContain(
      "--status does not apply",
    );
    expect(await of("key", "k", "--compromised-from", "yesterday", ...answered)).toContain(
      "--compromised-from",
    );
    expect(await of("certificate", "u", "--status", "gone", ...answered)).toContain("--status is");
    expect(await of("key", "k", "--ops-url", "127.0.0.1", ...answered)).toContain("not an address");
  });

  it("reaches a node elsewhere by address and token, and is refused with another", async () => {
    const business = await newBusiness(node);
    const { home } = node.running.config;
    const words = ["key", business.key.key_id, ...answered, "--yes", "--ops-url", node.running.urls.ops_url];
    const other = join(home, "other-token");
    await writeFile(other, "x".repeat(40));
    expect((await svc([...words, "--token-file", other])).said).toContain("token_invalid");
    expect(await publishOne(business)).toBe(200);
    expect((await svc([...words, "--token-file", join(home, "ops-token")])).code).toBe(0);
    expect(await publishOne(business)).toBe("key_unknown");
    expect((await stat(join(home, "ops-url"))).mode & 0o077).toBe(0);
  });
});

it("the audit log of the home has every act and refusal, by whom and what became of it, and no secret", async () => {
  const business = await newBusiness(node);
  await svc(["key", business.key.key_id, ...answered, "--yes"]);
  const [asked, acted] = (await auditLines()).slice(-2);
  const act = {
    audit: true,
    region: "local-node1",
    act: "POST /ops/keys/:key_id/revoke",
    from: "127.0.0.1",
    by: "Ada at the desk",
    reason: "Found in a public repository.",
    params: { key_id: business.key.key_id },
  };
  expect([asked, acted]).toMatchObject([
    { ...act, msg: "ops.asked" },
    { ...act, msg: "ops.acted", status: 200, outcome: { changed: true } },
  ]);
  await contractFetch(`${node.running.urls.ops_url}/ops/grants/revoke`, { method: "POST", body: "{}" });
  expect((await auditLines()).at(-1)).toMatchObject({ msg: "ops.refused", status: 401 });
  const { home } = node.running.config;
  expect((await stat(join(home, "audit.log"))).mode & 0o077).toBe(0);
  const all = await readFile(join(home, "audit.log"), "utf8");
  expect(all).toContain('"msg":"keys.in_force"');
  expect(all).not.toContain((await readFile(join(home, "ops-token"), "utf8")).trim());
  expect(all).not.toContain("svc_sbxk1");
});

it("a moment in the future, or none, is refused by the node itself", async () => {
  const business = await openBusiness(node.running.services, "00000000-0000-4000-8000-0000000000f1");
  const future = formatTimestamp(Date.now() + 3_600_000);
  const run = await svc(["key", business.key.key_id, "--compromised-from", future, ...answered, "--yes"]);
  expect(run).toMatchObject({ code: 3, said: expect.stringContaining("is in the future") });
  const token = (await readFile(join(node.running.config.home, "ops-token"), "utf8")).trim();
  const answer = await contractFetch(`${node.running.urls.ops_url}/ops/keys/${business.key.key_id}/revoke`, {
    method: "POST",
    headers: { authorization: signedIn(token), "content-type": "application/json" },
    body: JSON.stringify({ reason: "b", compromised_from: "2026-02-30T00:00:00.000Z" }),
  });
  expect(await answer.json()).toMatchObject({ code: "request_invalid", detail: /is not a moment/ });
  expect(await publishOne(business)).toBe(200);
});

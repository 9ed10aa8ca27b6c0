// What operators take out of serving at a running node with the program, and where everybody sees it: nothing serves it, its page says
// so, its business reads why, and the audit log has who did it. And whom they do not let in any more.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActorRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { newCaller, productSearch, send } from "../../api/surfaces.fixture.ts";
import type { Command } from "../../cli/command.ts";
import { opsAudit } from "../../cli/ops/lists.ts";
import { opsTakedown } from "../../cli/ops/takedown.ts";
import { publicReadsOf } from "../../node/composition/public-reads.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { product, type TestBusiness } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
  readOver,
} from "../retrieval/attack.fixture.ts";
import { runRevoke } from "./revocations.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const answered = ["--by", "Ada at the desk", "--reason", "Found in a public repository."];
const patienceMs = 10_000;
let seq = 0;

async function publishOne(business: TestBusiness): Promise<unknown> {
  seq += 1;
  const { body } = await batchBody(business, [product("one")], { seq });
  const answer = await publishOver(node, business, body);
  return answer.json["code"] ?? answer.status;
}

async function ops(path: string): Promise<Record<string, unknown>> {
  const answer = await contractFetch(`${node.running.urls.ops_url}${path}`);
  return (await answer.json()) as Record<string, unknown>;
}

describe("an operator takes down", () => {
  const serves = async (business: TestBusiness, recordId: string) => {
    const { records, index } = node.running.services;
    const { uuid } = business.party;
    // The actor's work is done once its outbox is empty; nothing else is waited for.
    const untilMs = Date.now() + patienceMs;
    const report = async () => await ops(`/ops/actors/business/${uuid}`);
    while (((await report())["outbox"] as readonly unknown[]).length > 0 && Date.now() < untilMs)
      await delay(20);
    return {
      found: await index.isFindable("products", recordId),
      served: (await records.readServed(recordId)) !== null,
    };
  };
  const statement = ["--statement", "Article 6 of the terms"];

  it("a record, and undoes it: no search and no fetch has it, its page says so, and its business reads why", async () => {
    const business = await newBusiness(node);
    expect(await publishOne(business)).toBe(200);
    const { recordIdOf, register } = node.running.services;
    const id = recordIdOf(business.party.uuid, "products", "one");
    expect(await serves(business, id)).toEqual({ found: true, served: true });
    const takedown = (words: readonly string[], reply: string | null = null) =>
      runRevoke(words, { home: node.running.config.home, reply, command: opsTakedown });
    expect(await takedown([id])).toMatchObject({ code: 1, printed: expect.stringContaining("never") });
    expect(await takedown([id, "--impose", ...answered])).toMatchObject({ code: 2 });
    expect(await takedown([id, "--impose", ...statement, ...answered], "no")).toMatchObject({ code: 1 });
    expect(await serves(business, id)).toEqual({ found: true, served: true });
    const run = await takedown([id, "--impose", ...statement, ...answered, "--yes"]);
    expect(run).toMatchObject({ code: 0, printed: expect.stringMatching(/^Done\. svc_.*Article 6/) });
    expect(await serves(business, id)).toEqual({ found: false, served: false });
    expect((await takedown([id, "--impose", ...statement, ...answered, "--yes"])).printed).toBe(
      "It was so before.\n",
    );
    await register.refresh();
    expect((await takedown([])).printed).toContain(id);
    const origin = hashOf(product("one"));
    const page = async (more = "") => {
      const { verify_url } = node.running.urls;
      return (await contractFetch(`${verify_url}/v1/verify/${id}?origin=${origin}${more}`)).json();
    };
    expect(await page()).toMatchObject({ status: "taken_down", valid: true, removal: null });
    const takenDownAt = new Date().toISOString();
    // Published again, it stays out; what was replaced meanwhile is superseded.
    seq += 1;
    const { body } = await batchBody(business, [product("one", { on_sale: true })], { seq });
    expect((await publishOver(node, business, body)).status).toBe(200);
    expect(await serves(business, id)).toEqual({ found: false, served: false });
    expect(await page()).toMatchObject({ status: "superseded" });
    // Nobody knows by the store alone how long a version was served that ended before the takedown or in it.
    expect((await page(`&served_at=${takenDownAt}`)).checks).toMatchObject({ served_at: "unknown" });
    const own = await readOver(node, business, "/v1/takedowns");
    expect(own.json).toEqual({
      takedowns: [
        {
          record_id: id,
          statement_of_reasons: "Article 6 of the terms",
          lifted_at: null,
          taken_down_at: expect.any(String) as string,
        },
      ],
    });
    const lifted = await takedown([id, "--lift", ...answered, "--yes"]);
    expect(lifted).toMatchObject({ code: 0, printed: expect.stringContaining("was lifted at") });
    expect(await serves(business, id)).toEqual({ found: true, served: true });
    expect(await takedown([id])).toMatchObject({ code: 1 });
    const lines = await readFile(join(node.running.config.home, "notices.jsonl"), "utf8");
    const notices = lines
      .split("\n")
      .flatMap((line) => (line.includes(id) ? [JSON.parse(line) as object] : []));
    const told = { business_uuid: business.party.uuid, record_id: id, status_url: "/v1/takedowns" };
    expect(notices).toMatchObject([
      { ...told, state: "taken_down", statement_of_reasons: "Article 6 of the terms" },
      { ...told, state: "lifted", statement_of_reasons: "Article 6 of the terms" },
    ]);
    const { acts } = (await ops(`/ops/acts/${business.party.uuid}`)) as {
      acts: { act: string; by: string }[];
    };
    expect(acts.map(({ act, by }) => `${act} ${by}`)).toEqual([
      "takedown.impose Ada at the desk",
      "takedown.lift Ada at the desk",
    ]);
  });

  it("with an entry of the audit log, which the API, a page and the program show newest first", async () => {
    const business = await newBusiness(node);
    const { uuid } = business.party;
    const run = (words: readonly string[], command: Command) =>
      runRevoke(words, { home: node.running.config.home, reply: null, command });
    await run([uuid, "--impose", ...statement, ...answered, "--yes"], opsTakedown);
    const shown = await ops("/ops/audit");
    const [acted, asked] = shown["entries"] as readonly { event: string; detail: Record<string, unknown> }[];
    const detail = {
      by: "Ada at the desk",
      act: "POST /ops/takedowns/:subject/impose",
      params: { subject: uuid },
    };
    expect([acted, asked]).toMatchObject([
      { event: "ops.acted", detail: { ...detail, status: 200, outcome: { changed: true } } },
      { event: "ops.asked", detail },
    ]);
    const printed = (await run(["-n", "1"], opsAudit)).printed;
    expect(printed).toMatch(/^AT[^\n]*\n20[^\n]* ops\.acted[^\n]*Ada at the desk/);
    const page = await fetch(`${node.running.urls.ops_url}/ui/audit`);
    expect(await page.text()).toContain(`POST /ops/takedowns/${uuid}/impose`);
    const takedowns = await (await fetch(`${node.running.urls.ops_url}/ui/takedowns`)).text();
    expect(takedowns).toMatch(/<h1>Takedowns.*undo its takedown/s);
    const refused = await contractFetch(`${node.running.urls.ops_url}/ops/audit?before=yesterday`);
    expect(refused.status).toBe(400);
  });

  it("at once where a region knows of it, although its index and its store still have the rows", async () => {
    const { services, urls } = node.running;
    const { register, registerStore, keys, recordIdOf } = services;
    const company = await newCaller(keys.grant, "retrieval", "10000000-0000-4000-8000-000000000103");
    const business = await newBusiness(node);
    expect(await publishOne(business)).toBe(200);
    const { uuid } = business.party;
    const id = recordIdOf(uuid, "products", "one");
    const search = { path: "/v1/products/search", body: JSON.stringify(productSearch) };
    const seen = async () => {
      await register.refresh();
      const found = (await send(urls.base_url, company, search)).json["rows"] as readonly {
        record_id: string;
      }[];
      const { status } = await send(urls.base_url, company, { path: `/v1/records/${id}` });
      return { found: found.some(({ record_id }) => record_id === id), status };
    };
    let change = 1_000_000;
    // The register is ahead of the rows, as it is while a large business leaves the indexes.
    const tell = (record_id: string | null, lifted_at: string | null) => {
      change += 1;
      const facts = {
        business_uuid: uuid,
        record_id,
        statement_of_reasons: "",
        taken_down_at: "",
        lifted_at,
      };
      const entry = { table: "takedown", partition: uuid, key: record_id ?? uuid, change } as const;
      return registerStore.put([{ ...entry, body: JSON.stringify(facts) }]);
    };
    expect(await seen()).toEqual({ found: true, status: 200 });
    for (const subject of [id, null]) {
      await tell(subject, null);
      expect(await seen()).toEqual({ found: false, status: 404 });
      expect(await serves(business, id)).toEqual({ found: true, served: true });
      await tell(subject, "2026-01-01T00:00:00.000Z");
      expect(await seen()).toEqual({ found: true, status: 200 });
    }
  });

  it.each(["a record", "a business"])(
    "%s, and its page says what the actor says, whoever has not heard of it",
    async (what) => {
      const { register, registerStore, records, recordIdOf } = node.running.services;
      const business = await newBusiness(node);
      expect(await publishOne(business)).toBe(200);
      const { uuid } = business.party;
      const id = recordIdOf(uuid, "products", "one");
      const subject = what === "a record" ? id : uuid;
      const takedown = (words: readonly string[]) =>
        runRevoke([subject, ...words, ...answered, "--yes"], {
          home: node.running.config.home,
          reply: null,
          command: opsTakedown,
        });
      const path = `/v1/verify/${id}?origin=${hashOf(product("one"))}`;
      const page = async (more = "") =>
        (await contractFetch(`${node.running.urls.verify_url}${path}${more}`)).json();
      let change = 2_000_000;
      /** The register says this from now on. */
      const say = async (lifted_at: string | null) => {
        change += 1;
        const entry = { table: "takedown", partition: uuid, key: subject, change } as const;
        const facts = { business_uuid: uuid, record_id: subject === uuid ? null : subject, lifted_at };
        const body = { ...facts, statement_of_reasons: "", taken_down_at: "2026-01-01T00:00:00.000Z" };
        await registerStore.put([{ ...entry, body: JSON.stringify(body) }]);
        await register.refresh();
        expect(register.takenDown.has(uuid, id)).toBe(lifted_at === null);
      };
      const before = new Date().toISOString();
      expect((await takedown(["--impose", ...statement])).code).toBe(0);
      expect(await serves(business, id)).toMatchObject({ served: false });
      await say("2026-01-02T00:00:00.000Z");
      const down = { status: "taken_down", removal: null, valid: true, checks: { served_at: "within" } };
      expect(await page(`&served_at=${before}`)).toMatchObject(down);
      expect((await takedown(["--lift"])).code).toBe(0);
      expect(await serves(business, id)).toMatchObject({ served: true });
      await say(null);
      expect(await page()).toMatchObject({ status: "current", removal: null, valid: true });
      await say("2026-01-02T00:00:00.000Z");
      const head = await records.readHead(id);
      if (head === null) throw new Error("The record has no head.");
      await records.putHeads([{ ...head, live: false, change: head.change + 1 }]);
      expect(await page()).toMatchObject({ status: "current", removal: null, valid: true });
      // The lift reaches the records of a business one page after another.
      const { actors } = node.running.services;
      const ask = async (to: ActorRef<"business">, command: { readonly type: string }) => {
        const reply = await actors.ask(to, rubbish(command));
        return command.type === "record.read" ? { head: { ...head, unserved: true } } : reply;
      };
      const services = { ...node.running.services, actors: rubbish({ ask }) };
      const { verifyPage } = publicReadsOf(services, node.running.urls.verify_url);
      const asked = { recordId: id, origin: hashOf(product("one")), cert: null, servedAt: null };
      expect(await verifyPage.find(asked)).toMatchObject({ status: "taken_down" });
    },
  );

  it("everything of a business, also what it publishes meanwhile; what does not exist is refused", async () => {
    const business = await newBusiness(node);
    expect(await publishOne(business)).toBe(200);
    const { recordIdOf } = node.running.services;
    const { uuid } = business.party;
    const takedown = (words: readonly string[]) =>
      runRevoke([...words, ...answered, "--yes"], {
        home: node.running.config.home,
        reply: null,
        command: opsTakedown,
      });
    expect((await takedown([uuid, "--impose", ...statement])).code).toBe(0);
    seq += 1;
    const { body } = await batchBody(business, [product("two")], { seq });
    expect((await publishOver(node, business, body)).status).toBe(200);
    const ids = ["one", "two"].map((own) => recordIdOf(uuid, "products", own));
    for (const id of ids) expect(await serves(business, id)).toEqual({ found: false, served: false });
    expect((await readOver(node, business, "/v1/catalogue")).json["entries"]).toEqual([]);
    expect((await takedown([uuid, "--lift"])).code).toBe(0);
    for (const id of ids) expect(await serves(business, id)).toEqual({ found: true, served: true });
    const nobody = "90000000-0000-4000-8000-000000000009";
    expect(await takedown([nobody, "--impose", ...statement])).toMatchObject({ code: 3 });
    expect(await takedown([`svc_${"a".repeat(26)}`, "--lift"])).toMatchObject({ code: 3 });
  });
});

describe("an operator ends a certificate", () => {
  const svc = (words: readonly string[]) => runRevoke(words, { home: node.running.config.home, reply: null });
  const end = (uuid: string, ...more: readonly string[]) =>
    svc(["certificate", uuid, ...more, ...answered, "--yes", "--json"]);

  it("of an AI company: its keys end with it, unless they are kept", async () => {
    const search = { path: "/v1/products/search", body: JSON.stringify(productSearch) };
    const { urls, services } = node.running;
    const ended = ["--status", "withdrawn", "--status-reason", "fraud"];
    for (const [last, words] of [
      ["1", []],
      ["2", ["--keep-keys"]],
    ] as const) {
      const uuid = `10000000-0000-4000-8000-00000000010${last}`;
      const company = await newCaller(services.keys.grant, "retrieval", uuid);
      expect((await send(urls.base_url, company, search)).status).toBe(200);
      await services.register.refresh();
      const run = await end(uuid, ...ended, ...words);
      const keys = words.length === 0 ? [company.key.keyId] : [];
      expect(JSON.parse(run.printed)).toMatchObject({ changed: true, keys_ended: keys });
      await services.register.refresh();
      const { code } = (await send(urls.base_url, company, search)).json;
      expect(code).toBe(words.length === 0 ? "key_unknown" : undefined);
    }
    const refused = await svc(["key", "k", "--keep-keys", ...answered, "--yes"]);
    expect(refused).toMatchObject({ code: 2, said: expect.stringContaining("--keep-keys does not apply") });
  });
});

describe("an act that is delivered once more after its opposite", () => {
  const statement_of_reasons = "Article 6 of the terms";
  type Act = readonly [last: string, members: object];
  const cases: readonly (readonly [path: string, one: Act, other: Act])[] = [
    ["blocks/BUSINESS", ["block", { group: "COMPANY" }], ["unblock", { group: "COMPANY" }]],
    ["brands/BUSINESS", ["confirm", { name: "Fellside" }], ["unconfirm", { name: "Fellside" }]],
    ["takedowns/BUSINESS", ["impose", { statement_of_reasons }], ["lift", {}]],
    ["groups/COMPANY", ["join", { group: "one" }], ["join", { group: "other" }]],
  ];

  it.each(cases)("changes nothing: %s %j", async (named, one, other) => {
    const { running } = node;
    const business = (await newBusiness(node)).party.uuid;
    const company = randomUUID();
    const caller = await newCaller(running.services.keys.grant, "retrieval", company);
    expect((await send(running.urls.base_url, caller, { path: "/v1/terms" })).status).toBe(200);
    await running.services.register.refresh();
    const fill = (text: string) => text.replace("BUSINESS", business).replace("COMPANY", company);
    const path = `/ops/${fill(named)}`;
    const token = (await readFile(join(running.config.home, "ops-token"), "utf8")).trim();
    const headers = { authorization: signedIn(token), "content-type": "application/json" };
    const state = async () => Object.values(await ops(path))[0] as { readonly change: number };
    const sent = async ([last, members]: Act, expected: number) => {
      const body = fill(JSON.stringify({ ...members, expected, reason: "A test." }));
      const init = { method: "POST", headers, body };
      const answer = await contractFetch(`${running.urls.ops_url}${path}/${last}`, init);
      const { changed, code } = (await answer.json()) as Record<string, unknown>;
      return [answer.status, changed ?? code];
    };
    const first = (await state()).change;
    expect(await sent(one, first)).toEqual([200, true]);
    expect(await sent(one, first)).toEqual([200, false]);
    const second = (await state()).change;
    expect(await sent(other, second)).toEqual([200, true]);
    const ended = await state();
    expect(await sent(one, first)).toEqual([409, "state_changed"]);
    expect(await state()).toEqual(ended);
    expect(await sent(one, ended.change)).toEqual([200, true]);
    const again = await state();
    expect(await sent(other, second)).toEqual([409, "state_changed"]);
    expect(await state()).toEqual(again);
  });
});

// The notices of a node: each finished queued push once, across restarts and while the mail server is away.

import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { afterEach, expect, it } from "vitest";
import { businessRef, personRef, pushRef } from "../../actors/messages/refs.ts";
import type { PushNotice } from "../../actors/messages/serving.ts";
import {
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";

let node: PublishingNode | null = null;
let server: SMTPServer | null = null;
afterEach(async () => {
  await node?.close();
  node = null;
  await stop();
});

async function stop(): Promise<void> {
  await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())));
  server = null;
}

const priced = (id: string, amount: string): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

const catalogue = (count: number, amount = "10.00") =>
  Array.from({ length: count }, (_, index) => priced(`item-${index}`, amount));

async function lines(home: string): Promise<readonly PushNotice[]> {
  const text = await readFile(join(home, "notices.jsonl"), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as PushNotice);
}

const states = async (home: string) => (await lines(home)).map(({ state }) => state);

async function finished(business: TestBusiness, pushId: string): Promise<void> {
  const push = pushRef(business.party.uuid, pushId);
  await node?.services.actors.ask(push, { type: "push.await" }, { timeoutMs: 30_000 });
}

/** Collects the Message-IDs of what it takes. */
async function listen(port: number, taken: string[]): Promise<number> {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    closeTimeout: 100,
    onData: (stream, _session, done) => {
      let text = "";
      stream.on("data", (part: Buffer) => {
        text += part.toString();
      });
      stream.on("end", () => {
        taken.push(/^Message-ID:\s+<(.*)@/m.exec(text)?.[1] ?? "");
        done();
      });
    },
  });
  const opened = server;
  await new Promise<void>((resolve) => opened.listen(port, "127.0.0.1", resolve));
  return (opened.server.address() as AddressInfo).port;
}

it("of queued pushes are one line each: complete, held, failed; and none of small batches", async () => {
  node = await openPublishingNode();
  const { services, home } = node;
  const business = await openBusiness(services);
  const { uuid } = business.party;
  await sealAndPublish(services, business, [product("small")], { seq: 1 });
  await sealAndPublish(services, business, catalogue(60), { seq: 2 });
  await expect.poll(() => states(home)).toEqual(["complete"]);
  const held = await sealAndPublish(services, business, catalogue(60, "99.00"), { seq: 3 });
  expect(held.kind).toBe("answer");
  await expect.poll(() => states(home)).toEqual(["complete", "held"]);
  const [, notice] = await lines(home);
  const { push_id } = notice as PushNotice;
  expect(notice).toMatchObject({ records: 60, held_reasons: expect.arrayContaining(["price_jump"]) });
  await services.actors.ask(businessRef(uuid), { type: "push.cancel", push_id });
  await expect.poll(() => states(home)).toEqual(["complete", "held", "failed"]);
  await node.restart();
  await finished(business, push_id);
  expect(await states(home)).toEqual(["complete", "held", "failed"]);
  expect(new Set((await lines(home)).map(({ notice_id }) => notice_id)).size).toBe(3);
});

it("that no mail server takes are mailed once it is there, after a restart as well, and once", async () => {
  const taken: string[] = [];
  const port = await listen(0, taken);
  await stop();
  const env: Record<string, string> = {
    SVC_SMTP_URL: `smtp://127.0.0.1:${port}`,
    SVC_NOTICE_FROM: "notices@svc.example",
    SVC_NOTICE_RECIPIENTS: join("/tmp", `svc-recipients-${process.pid}-${port}.json`),
  };
  node = await openPublishingNode(env);
  const business = await openBusiness(node.services);
  await writeFile(
    env["SVC_NOTICE_RECIPIENTS"] ?? "",
    JSON.stringify({ [business.party.uuid]: ["o@shop.example"] }),
  );
  await sealAndPublish(node.services, business, catalogue(60), { seq: 1 });
  await expect.poll(() => states(node?.home ?? "")).toEqual(["complete"]);
  const [{ push_id } = { push_id: "" }] = await lines(node.home);
  const waiting = async () => {
    const report = await node?.services.actors.inspect(pushRef(business.party.uuid, push_id));
    return report?.outbox.map(({ lastError }) => lastError?.slice(0, 26));
  };
  await expect.poll(waiting, { timeout: 10_000 }).toEqual(["The notice was not mailed:"]);
  await listen(port, taken);
  await node.restart();
  await expect.poll(() => taken, { timeout: 20_000 }).toHaveLength(1);
  const [notice] = await lines(node.home);
  expect(taken).toEqual([notice?.notice_id]);
  // A node that ends between the server's answer and its own commit would send it again.
  await expect.poll(() => node?.services.actors.stats().outboxPending).toBe(0);
  await node.restart();
  await sealAndPublish(node.services, business, catalogue(60), { seq: 2 });
  await expect.poll(() => taken, { timeout: 20_000 }).toHaveLength(2);
  expect(new Set(taken).size).toBe(2);
  expect(await states(node.home)).toEqual(["complete", "complete"]);
});

it("of people are mailed once to the address that each confirmed, also where the server was away and the node was restarted", async () => {
  const taken: string[] = [];
  const port = await listen(0, taken);
  await stop();
  const env = { SVC_SMTP_URL: `smtp://127.0.0.1:${port}`, SVC_NOTICE_FROM: "notices@svc.example" };
  node = await openPublishingNode(env);
  const { uuid } = (await openBusiness(node.services)).party;
  const { actors } = node.services;
  const [ada, bob] = ["10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000002"];
  const until_ms = Date.now() + 60_000;
  const by = { credential_id: "c", counter: 0, network: null, session: "s" };
  const passkey = { credential_id: "c", public_key: "p", name: "phone", counter: 0 };
  const session = { session: "s", ends_at_ms: until_ms };
  const address = "ada@shop.example";
  await actors.ask(personRef(ada), { type: "person.join", name: "Ada", passkey, session, network: null });
  const challenge = { nonce: "n", until_ms };
  await actors.ask(personRef(ada), { type: "mail.give", by: { ...by, challenge }, address });
  await actors.ask(personRef(ada), { type: "mail.confirm", session: "s", address, network: null });
  const act = { by: "Olga", reason: "Seen." };
  for (const person_id of [ada, bob])
    await actors.ask(businessRef(uuid), { type: "member.set", person_id, role: "owner", act });
  const waiting = async () => {
    const report = await node?.services.actors.inspect(personRef(ada));
    return report?.outbox.map(({ lastError }) => lastError?.slice(0, 26));
  };
  await expect.poll(waiting, { timeout: 10_000 }).toEqual(["The notice was not mailed:"]);
  await listen(port, taken);
  await node.restart();
  await expect.poll(() => taken, { timeout: 20_000 }).toHaveLength(1);
  await expect.poll(() => node?.services.actors.stats().outboxPending).toBe(0);
  await node.restart();
  const viewer = { type: "member.set", person_id: bob, role: "viewer", act } as const;
  await node.services.actors.ask(businessRef(uuid), viewer);
  await expect.poll(() => new Set(taken).size, { timeout: 20_000 }).toBe(2);
  expect(taken).toHaveLength(2);
});

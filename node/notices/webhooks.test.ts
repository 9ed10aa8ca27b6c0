// The webhooks of a node: what was owed when it stopped is delivered after its restart, and once.

import { afterEach, expect, it } from "vitest";
import { businessRef, webhookRef } from "../../actors/messages/refs.ts";
import { domainChallenge } from "../../protocol/keys/certificate.ts";
import {
  openBusiness,
  openPublishingNode,
  type PublishingNode,
} from "../../stories/publishing/publishing.fixture.ts";
import { publishAlone } from "../../stories/publishing/removal.fixture.ts";
import { createDomainProbe } from "../domains/domain-probe.ts";
import { type DomainServers, startDomainServers } from "../domains/domain-servers.fixture.ts";
import { type Received, receiving } from "./webhook-receiver.fixture.ts";

const domain = "harrier.example";
const [person_id, endpoint_id] = ["10000000-0000-4000-8000-000000000001", "whk_0000000000000001"];
let node: PublishingNode | null = null;
let servers: DomainServers | null = null;
afterEach(async () => {
  await node?.close();
  await servers?.[Symbol.asyncDispose]();
  [node, servers] = [null, null];
});

it("a delivery that failed is tried again after a restart, under the same id, until it is taken", async () => {
  let [movedMs, status] = [0, 503];
  const received: Received[] = [];
  servers = await startDomainServers([domain]);
  servers.dns.a.set(domain, ["127.0.0.1"]);
  servers.answer = receiving(received, (_request, response) => void response.writeHead(status).end());
  node = await openPublishingNode(
    { SVC_DOMAIN_CHECKS: "yes" },
    {
      clock: { now: () => Date.now() + movedMs },
      domainProbe: createDomainProbe(servers.options),
      webhookResolving: servers.options,
    },
  );
  const business = await openBusiness(node.services);
  const { uuid } = business.party;
  servers.txt(domain, [domainChallenge(uuid, domain)]);
  await publishAlone(node.services, business, "business_files");
  const ref = businessRef(uuid);
  const act = { by: "Olga", reason: "Seen." };
  await node.services.actors.ask(ref, { type: "member.set", person_id, role: "owner", act });
  const set = { type: "webhook.set", person_id, endpoint_id, url: `https://${domain}/in` } as const;
  await expect
    .poll(() => node?.services.actors.ask(ref, { ...set, kinds: ["push.held"] }))
    .toMatchObject({ status: "done" });
  const facts = { kind: "push.held", push_id: `bat_${"0".repeat(24)}`, records: 1 } as const;
  const give = { type: "notice.give", notice_id: "n", facts } as const;
  await node.services.actors.ask(ref, give);
  const read = () => node?.services.actors.ask(webhookRef(uuid, endpoint_id), { type: "deliveries.read" });
  await expect.poll(read).toMatchObject({ waiting: 1, deliveries: [{ state: "waiting", attempts: 1 }] });
  movedMs += 61_000;
  status = 200;
  await node.restart();
  await expect
    .poll(read, { timeout: 20_000 })
    .toMatchObject({ waiting: 0, deliveries: [{ state: "delivered", attempts: 2 }] });
  // Given again, it is no news.
  await node.services.actors.ask(ref, give);
  movedMs += 61_000;
  await node.restart();
  await expect.poll(() => node?.services.actors.stats().outboxPending).toBe(0);
  expect([received.length, new Set(received.map(({ body }) => body.id)).size]).toEqual([2, 1]);
});

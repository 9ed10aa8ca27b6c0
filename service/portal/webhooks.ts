// The webhooks of a business, as those who bind it set and see them.

import { bindingRoles } from "../../actors/messages/members.ts";
import type { RegisterReply } from "../../actors/messages/protocol.ts";
import { businessRef, webhookRef } from "../../actors/messages/refs.ts";
import {
  type EndpointReport,
  endpointsMax,
  isHostOf,
  type OwnEndpoint,
  type OwnEndpoints,
} from "../../actors/messages/webhooks.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { toHex } from "../../protocol/bytes.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { Owner, OwnerRefusal } from "./owner.ts";
import type { People, SignedIn } from "./people.ts";

export { endpointsMax, isHostOf };

export interface WebhookDeps extends Actors, Pick<Platform, "clock" | "crypto"> {
  readonly owner: Pick<Owner, "may">;
  readonly people: Pick<People, "keep">;
  /** Null where nothing is called. */
  readonly webhooks: object | null;
}

export interface ShownEndpoint extends OwnEndpoint {
  readonly report: EndpointReport;
}

export interface ShownEndpoints extends OwnEndpoints {
  readonly endpoints: readonly ShownEndpoint[];
}

export interface OwnWebhooks {
  /** Whether this service calls anybody. */
  readonly areCalled: boolean;
  /** Null for somebody who does not bind the party. */
  read(who: SignedIn, uuid: string): Promise<ShownEndpoints | null>;
  newId(): string;
  set(
    who: SignedIn,
    asked: Pick<OwnEndpoint, "endpoint_id" | "url" | "kinds"> & { readonly uuid: string },
  ): Promise<Result<void, OwnerRefusal>>;
  remove(who: SignedIn, asked: Named): Promise<Result<void, OwnerRefusal>>;
  /** Kept once a minute. */
  test(
    who: SignedIn,
    asked: Named & { readonly network: string | null },
  ): Promise<Result<void, OwnerRefusal>>;
}

interface Named {
  readonly uuid: string;
  readonly endpoint_id: string;
}

const minuteMs = 60_000;

/** Endpoints for who binds the business; the business's actor decides. Its methods throw {@link StoreError}. */
export function createOwnWebhooks(deps: WebhookDeps): OwnWebhooks {
  const { actors, crypto, owner, people, clock } = deps;
  const asBinding = async (
    who: SignedIn,
    uuid: string,
    ask: () => Promise<RegisterReply>,
  ): Promise<Result<void, OwnerRefusal>> => {
    const allowed = await owner.may(who, uuid, bindingRoles);
    if (!allowed.ok) return allowed;
    const reply = await ask();
    if (reply.status === "done") return ok(undefined);
    return refuse(reply.code === "role_too_low" ? reply.code : "not_accepted", reply.detail);
  };
  return {
    areCalled: deps.webhooks !== null,
    read: async ({ person_id }, uuid) => {
      const own = await actors.ask(businessRef(uuid), { type: "webhooks.read", person_id });
      if (own === null) return null;
      const endpoints = await Promise.all(
        own.endpoints.map(async (endpoint) => {
          const { endpoint_id } = endpoint;
          const report = await actors.ask(webhookRef(uuid, endpoint_id), { type: "deliveries.read" });
          return { ...endpoint, report };
        }),
      );
      return { ...own, endpoints };
    },
    newId: () => `whk_${toHex(crypto.randomBytes(8))}`,
    set: (who, { uuid, endpoint_id, url, kinds }) => {
      const { person_id } = who;
      const command = { type: "webhook.set", person_id, endpoint_id, url, kinds } as const;
      return asBinding(who, uuid, () => actors.ask(businessRef(uuid), command));
    },
    remove: (who, { uuid, endpoint_id }) => {
      const { person_id } = who;
      const command = { type: "webhook.remove", person_id, endpoint_id } as const;
      return asBinding(who, uuid, () => actors.ask(businessRef(uuid), command));
    },
    test: async (who, { uuid, endpoint_id, network }) => {
      const { person_id } = who;
      const tested = await asBinding(who, uuid, () =>
        actors.ask(businessRef(uuid), { type: "webhook.test", person_id, endpoint_id }),
      );
      if (!tested.ok) return tested;
      const source = `test of ${endpoint_id} ${Math.floor(clock.now() / minuteMs)}`;
      const kept = await people.keep(who, { act: "webhook.test", subject: endpoint_id, source, network });
      return kept.ok ? ok(undefined) : refuse("session_ended", kept.detail);
    },
  };
}

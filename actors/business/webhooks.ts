// The endpoints of a business, which are told of its notices by ids alone.
//   WB1. An endpoint is told of the kinds that were chosen for it, in the commit that made the notice true, by a message to an actor of its
//        own (actors/webhook): what becomes of it there delays nothing here.
//   WB2. An endpoint is made, changed and tested by who binds the business, at a host of a domain that the business controls then. Whether it
//        still does is asked for each attempt.
//   WB3. No id that is told names a person or a network.

import type { BusinessEvent } from "../../machines/business.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { NoticeFacts, PersonNotice } from "../messages/notices.ts";
import type { CommandOf, Commands, RegisterReply, ReplyOf } from "../messages/protocol.ts";
import { webhookRef } from "../messages/refs.ts";
import {
  type BusinessEndpoint,
  type Delivery,
  endpointsMax,
  isHostOf,
  type NoticeIds,
  type WebhooksProtocol,
} from "../messages/webhooks.ts";
import { type Decision, type Effect, tell } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { confirmedDomains, selectDomains } from "./domains.ts";
import { type BusinessView, done, isBinding, refusal, selectPeople } from "./rows.ts";

type Asked<T extends keyof WebhooksProtocol> = CommandOf<WebhooksProtocol, T>;
type Decided = Decision<RegisterReply, BusinessEvent>;

interface Endpoint extends BusinessEndpoint {
  readonly tested_at_ms: number | null;
}

/** By its id. */
const endpoints = defineJsonTable<Endpoint>("webhooks", 101);
const testEveryMs = 60_000;

/** All endpoints. */
export function selectEndpoints(): RowSelection {
  // One more than there are, so that the page shows that there is no other.
  return endpoints.selectPage(endpointsMax + 1);
}

/** The rows that a command about endpoints is decided by. */
export function selectForWebhooks(
  command: Exclude<Commands<WebhooksProtocol>, { type: "webhook.fail" }>,
  uuid: string,
): readonly RowSelection[] {
  return [selectEndpoints(), ...selectDomains(uuid), ...("person_id" in command ? [selectPeople()] : [])];
}

/** What tells the endpoints of these notices (WB1). */
export function toEndpoints(fresh: readonly PersonNotice[], view: BusinessView): readonly Effect[] {
  return endpoints.readAll(view).flatMap(({ k2, value: { kinds, off_at_ms } }) =>
    fresh.flatMap((notice) => {
      const { notice_id, at_ms } = notice;
      const kind = kinds.find((each) => each === notice.kind);
      if (off_at_ms !== null || kind === undefined) return [];
      return [owe(k2, { id: idOf(view.id, notice_id), kind, ids: idsIn(notice), at_ms }, view)];
    }),
  );
}

function owe(endpointId: string, delivery: Delivery, view: BusinessView): Effect {
  return tell(webhookRef(view.id, endpointId), { type: "delivery.owe", delivery });
}

/** A hash: the ids of notices have in them what a business chose. Nobody needs a secret to try ids, so what can be guessed is in none. */
function idOf(uuid: string, noticeId: string): string {
  const hash = hashOf(utf8(`svc/webhook/1\n${uuid}\n${noticeId}`));
  return `whd_${hash.slice("sha256:".length, "sha256:".length + 32)}`;
}

/** See WB3. */
function idsIn(facts: NoticeFacts): NoticeIds {
  switch (facts.kind) {
    case "push.ended":
    case "push.held":
      return { push_id: facts.push_id };
    case "mandate.ends":
      return { mandate_id: facts.mandate_id, key_id: facts.key_id };
    case "key.network":
    case "sealer.added":
      return { key_id: facts.key_id };
    case "takedown":
      return { record_id: facts.record_id };
    case "webhook.off":
      return { endpoint_id: facts.endpoint_id };
    case "certificate.ends":
    case "role.changed":
    case "owner.recovery":
      return {};
  }
}

/** Makes or changes an endpoint, and switches it on (WB2). Refused with `role_too_low`, `too_many_endpoints` or `domain_unconfirmed`. */
export function setWebhook(command: Asked<"webhook.set">, view: BusinessView): Decided {
  const { endpoint_id, url, kinds } = command;
  const known = endpoints.read(view, endpoint_id);
  if (!isBinding(command.person_id, view)) return roleTooLow;
  if (known === undefined && endpoints.readAll(view).length >= endpointsMax)
    return { reply: refusal("too_many_endpoints", `A business has at most ${endpointsMax} endpoints.`) };
  if (!isConfirmed(url, view)) return unconfirmed(url);
  const made_at_ms = known?.made_at_ms ?? view.nowMs;
  const tested_at_ms = known?.tested_at_ms ?? null;
  const next = { url, kinds, made_at_ms, off_at_ms: null, tested_at_ms };
  return { reply: changed, puts: [endpoints.write(endpoint_id, next)] };
}

/** Removes an endpoint and ends its actor; one that is not there is no fault. Refused with `role_too_low`. */
export function removeWebhook(command: Asked<"webhook.remove">, view: BusinessView): Decided {
  const { endpoint_id } = command;
  if (!isBinding(command.person_id, view)) return roleTooLow;
  if (endpoints.read(view, endpoint_id) === undefined) return { reply: done };
  return {
    reply: changed,
    deletes: [endpoints.key(endpoint_id)],
    effects: [tell(webhookRef(view.id, endpoint_id), { type: "webhook.end" })],
  };
}

/** Sends a test to an endpoint, once a minute. Refused with `role_too_low`, `endpoint_unknown`, `tested_before` or `domain_unconfirmed`. */
export function testWebhook(command: Asked<"webhook.test">, view: BusinessView): Decided {
  const { endpoint_id } = command;
  const known = endpoints.read(view, endpoint_id);
  if (!isBinding(command.person_id, view)) return roleTooLow;
  if (known === undefined || known.off_at_ms !== null)
    return { reply: refusal("endpoint_unknown", "The endpoint is gone, or switched off.") };
  if (!isConfirmed(known.url, view)) return unconfirmed(known.url);
  const at_ms = view.nowMs;
  if (known.tested_at_ms !== null && at_ms - known.tested_at_ms < testEveryMs)
    return { reply: refusal("tested_before", "A test was sent within the last minute.") };
  const id = idOf(view.id, `${endpoint_id}.test.${at_ms}`);
  return {
    reply: changed,
    puts: [endpoints.write(endpoint_id, { ...known, tested_at_ms: at_ms })],
    effects: [owe(endpoint_id, { id, kind: "test", ids: { endpoint_id }, at_ms }, view)],
  };
}

/** All endpoints, the oldest first; null for somebody who does not bind the business. */
export function readWebhooks(
  command: Asked<"webhooks.read">,
  view: BusinessView,
): ReplyOf<WebhooksProtocol, "webhooks.read"> {
  if (!isBinding(command.person_id, view)) return null;
  const own = endpoints.readAll(view).toSorted((a, b) => a.value.made_at_ms - b.value.made_at_ms);
  return {
    endpoints: own.map(({ k2: endpoint_id, value: { url, kinds, made_at_ms, off_at_ms } }) => ({
      endpoint_id,
      url,
      kinds,
      made_at_ms,
      off_at_ms,
      is_confirmed: isConfirmed(url, view),
    })),
    domains: confirmedDomains(view),
  };
}

/** Where an endpoint is told now, and whether the business still controls that domain; null for one that is gone or off. */
export function webhookTarget(
  { endpoint_id }: Asked<"webhook.target">,
  view: BusinessView,
): ReplyOf<WebhooksProtocol, "webhook.target"> {
  const known = endpoints.read(view, endpoint_id);
  if (known === undefined || known.off_at_ms !== null) return null;
  return { url: known.url, is_confirmed: isConfirmed(known.url, view) };
}

/** What an endpoint that failed for too long adds: it is off, and a notice says so. Null if it is off already, or gone. */
export function switchOff({ endpoint_id, since_ms }: Asked<"webhook.fail">, view: BusinessView) {
  const known = endpoints.read(view, endpoint_id);
  if (known === undefined || known.off_at_ms !== null) return null;
  const since = formatTimestamp(since_ms);
  const facts = { kind: "webhook.off", endpoint_id, host: hostOf(known.url), since } as const;
  return {
    put: endpoints.write(endpoint_id, { ...known, off_at_ms: view.nowMs }),
    given: { notice_id: `${endpoint_id}.off.${since_ms}`, facts },
  };
}

const changed: RegisterReply = { status: "done", changed: true };
const roleTooLow: Decision<RegisterReply, never> = {
  reply: refusal("role_too_low", "Webhooks are for owners and admins."),
};

function unconfirmed(url: string): Decided {
  const detail = `Control of a domain of ${hostOf(url)} is not confirmed.`;
  return { reply: refusal("domain_unconfirmed", detail) };
}

function isConfirmed(url: string, view: BusinessView): boolean {
  return isHostOf(hostOf(url), confirmedDomains(view));
}

/** Of an address that has neither a user nor a port. */
function hostOf(url: string): string {
  return /^https:\/\/([^/]*)\//.exec(url)?.[1] ?? "";
}

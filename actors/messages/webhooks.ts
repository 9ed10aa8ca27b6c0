// Webhooks: addresses of a business that are told of notices by ids alone. Which there are is the business's (commands of its actor); what
// waits for one and what became of it is kept by the actor of that endpoint, so that none delays another.

import type { ChosenKind } from "./notices.ts";
import type { DoneReply, RegisterReply } from "./protocol.ts";

/** A few systems of a business, such as one that runs and one that is tried. */
export const endpointsMax = 3;

/** What a test is, which is no notice. */
export type DeliveredKind = ChosenKind | "test";

/** What a notice is about, as far as receivers are told: nothing that names a person or a network, and nothing of a record. */
export interface NoticeIds {
  readonly push_id?: string;
  readonly mandate_id?: string;
  readonly key_id?: string;
  /** Null for everything of the business. */
  readonly record_id?: string | null;
  readonly endpoint_id?: string;
}

/** One delivery: what its body says besides the business. */
export interface Delivery {
  /** The same in each attempt, and for each endpoint that is told of the same. */
  readonly id: string;
  readonly kind: DeliveredKind;
  readonly ids: NoticeIds;
  readonly at_ms: number;
}

/** Why an attempt came to nothing. */
export const callFailures = [
  "status",
  "redirect",
  "no_address",
  "private_address",
  "tls",
  "slow",
  "unreachable",
  "domain_unconfirmed",
] as const;
export type CallFailure = (typeof callFailures)[number];

/** What became of an attempt: the status of an answer, if there was one. */
export interface CallOutcome {
  readonly failure: CallFailure | null;
  readonly status: number | null;
}

/** A delivery that was tried at least once. */
export interface TriedDelivery extends Omit<Delivery, "ids"> {
  readonly attempts: number;
  readonly state: "delivered" | "waiting" | "given_up";
  /** Of the last attempt. */
  readonly outcome: CallOutcome;
  readonly tried_at_ms: number;
}

export interface EndpointReport {
  /** Deliveries that wait for their first or a further attempt. */
  readonly waiting: number;
  /** Since when every attempt failed; null if the last one did not, or none was made. */
  readonly failing_since_ms: number | null;
  /** The newest, by when they were decided. */
  readonly deliveries: readonly TriedDelivery[];
}

/** The commands of the actor of one endpoint. */
export interface WebhookProtocol {
  /** From its business. Repeatable by the delivery's id. */
  "delivery.owe"(command: { readonly delivery: Delivery }): DoneReply;
  /** From its business: the endpoint is no more, and everything of it is forgotten. */
  "webhook.end"(command: object): DoneReply;
  /** Read-only: what is to be tried now; told to its own activity. */
  "deliveries.due"(command: object): { readonly due: readonly Delivery[] };
  /** What became of it; an outcome of null is for what is to go nowhere any more. */
  "deliveries.tried"(command: {
    readonly tried: readonly { readonly id: string; readonly outcome: CallOutcome | null }[];
  }): DoneReply;
  /** Read-only. */
  "deliveries.read"(command: object): EndpointReport;
}

/** An address of a business, and of what it is told. */
export interface BusinessEndpoint {
  /** By HTTPS, at the host of a domain or below, without port, user, query and fragment. */
  readonly url: string;
  readonly kinds: readonly ChosenKind[];
  readonly made_at_ms: number;
  /** When it was switched off, because it failed for too long; null while it is told. */
  readonly off_at_ms: number | null;
}

export interface OwnEndpoint extends BusinessEndpoint {
  readonly endpoint_id: string;
  /** Whether control of a domain that its host is, or is below, is confirmed now. */
  readonly is_confirmed: boolean;
}

export interface OwnEndpoints {
  /** In the order in which they were made. */
  readonly endpoints: readonly OwnEndpoint[];
  /** The domains that are confirmed now, in order: an endpoint is at one of them, or below. */
  readonly domains: readonly string[];
}

/** Whether the host is one of these domains, or below one. */
export function isHostOf(host: string, domains: readonly string[]): boolean {
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

/** The commands of a business's actor that concern its endpoints; the person has to bind the business. */
export interface WebhooksProtocol {
  /** Sets what the endpoint is told of, or makes it; one that was switched off is on again. Repeatable. */
  "webhook.set"(command: {
    readonly person_id: string;
    readonly endpoint_id: string;
    readonly url: string;
    readonly kinds: readonly ChosenKind[];
  }): RegisterReply;
  "webhook.remove"(command: { readonly person_id: string; readonly endpoint_id: string }): RegisterReply;
  /** Has a test delivered, at most one a minute. */
  "webhook.test"(command: { readonly person_id: string; readonly endpoint_id: string }): RegisterReply;
  /** Read-only; null for somebody who does not bind the business. */
  "webhooks.read"(command: { readonly person_id: string }): OwnEndpoints | null;
  /** Read-only: where the endpoint's deliveries go now; null for one that is gone or switched off. */
  "webhook.target"(command: { readonly endpoint_id: string }): {
    readonly url: string;
    readonly is_confirmed: boolean;
  } | null;
  /** From the endpoint's actor: it failed for too long. It is switched off, and owners and admins are told. Repeatable. */
  "webhook.fail"(command: { readonly endpoint_id: string; readonly since_ms: number }): DoneReply;
}

// What the actor of a webhook does outside its journal: it calls the endpoint.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { WebhookBody } from "../../protocol/wire/webhook.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { businessRef, partsOf } from "../messages/refs.ts";
import type { CallOutcome, Delivery, WebhookProtocol } from "../messages/webhooks.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

/** A port: signed calls to the endpoints of businesses. */
export interface WebhookCaller {
  /** One attempt, in bounded time. It rejects for faults of this side alone. */
  call(asked: {
    /** The name of the endpoint's actor, for the log. */
    readonly actor: string;
    readonly url: string;
    readonly body: WebhookBody;
  }): Promise<CallOutcome>;
}

type Tried = CommandOf<WebhookProtocol, "deliveries.tried">;

/** Without a caller nothing is called, and no domain is confirmed. */
export function webhookActivities({
  webhooks,
}: {
  readonly webhooks: WebhookCaller | null;
}): Record<string, Activity> {
  return {
    callEndpoint: async (_params: unknown, { actor, ask }: ActivityContext<"webhook">): Promise<Tried> => {
      const { party, own } = partsOf(actor.id);
      const { due } = await ask(actor, { type: "deliveries.due" });
      // Asked for each attempt: an endpoint that was removed, or whose domain was lost, gets nothing that was decided before.
      const target = await ask(businessRef(party), { type: "webhook.target", endpoint_id: own });
      const tried = due.map(async (delivery) => {
        const { id } = delivery;
        if (target === null) return { id, outcome: null };
        if (!target.is_confirmed || webhooks === null) return { id, outcome: unconfirmed };
        return {
          id,
          outcome: await webhooks.call({
            actor: `webhook/${actor.id}`,
            url: target.url,
            body: bodyOf(delivery, party),
          }),
        };
      });
      return { type: "deliveries.tried", tried: await Promise.all(tried) };
    },
  };
}

const unconfirmed: CallOutcome = { failure: "domain_unconfirmed", status: null };

function bodyOf({ id, kind, ids, at_ms }: Delivery, business_uuid: string): WebhookBody {
  return { v: 1, id, kind, business_uuid, ...ids, at: formatTimestamp(at_ms) };
}

// Held pushes, by the journals of their businesses: nothing of one is published before it was confirmed, a hold is settled
// once, and only if what the push was sealed with is still in force.

import type { HeldReason } from "../../actors/messages/business.ts";
import type { PushFacts } from "../../actors/messages/push.ts";
import type { RecordVersion } from "../../storage/record-store.ts";

/** Events of the journals of businesses and pushes that determine what becomes of holds. */
type HoldEvent =
  | { readonly type: "push.admitted"; readonly push_id: string; readonly held: boolean }
  | { readonly type: "hold.settled"; readonly push_id: string; readonly confirmed: boolean }
  | { readonly type: "push.finished" | "push.cancelled"; readonly push_id: string }
  | { readonly type: "key.revoked"; readonly key_id: string }
  | { readonly type: "policy.accepted"; readonly policy: { readonly version: number } }
  | ({ readonly type: "push.accepted"; readonly facts: PushFacts } & MayHold)
  | ({ readonly type: "push.prepared" } & MayHold);

interface MayHold {
  readonly held_reasons: readonly HeldReason[];
  readonly at_ms: number;
}

type Hold = "held" | "confirmed" | "ended";

export class Holds {
  /** By the id of the push's actor, which begins with its business. */
  readonly #holds = new Map<string, Hold>();
  readonly #facts = new Map<string, PushFacts>();
  readonly #heldSinceMs = new Map<string, number>();
  readonly #revoked = new Set<string>();
  readonly #policies = new Map<string, number>();
  readonly #violate: (invariant: string, detail: string) => void;

  constructor(violate: (invariant: string, detail: string) => void) {
    this.#violate = violate;
  }

  /** An event of the actor with this id. */
  happened(id: string, event: { readonly type: string }): void {
    const known = event as HoldEvent;
    switch (known.type) {
      case "push.accepted":
        this.#facts.set(id, known.facts);
        this.#mayHold(id, known);
        break;
      case "push.prepared":
        this.#mayHold(id, known);
        break;
      case "push.admitted":
        if (known.held) this.#holds.set(`${id}.${known.push_id}`, "held");
        break;
      case "key.revoked":
        this.#revoked.add(`${id} ${known.key_id}`);
        break;
      case "policy.accepted":
        this.#policies.set(id, known.policy.version);
        break;
      case "hold.settled":
        this.#settled(id, known);
        break;
      case "push.finished":
      case "push.cancelled":
        this.#end(`${id}.${known.push_id}`);
        break;
      default:
    }
  }

  /** When the push was held, by its owner's clock. */
  heldSinceMs(id: string): number | undefined {
    return this.#heldSinceMs.get(id);
  }

  #mayHold(id: string, { held_reasons, at_ms }: MayHold): void {
    if (held_reasons.length > 0) this.#heldSinceMs.set(id, at_ms);
  }

  #settled(uuid: string, { push_id, confirmed }: Extract<HoldEvent, { type: "hold.settled" }>): void {
    const id = `${uuid}.${push_id}`;
    if (this.#holds.has(id) && this.#holds.get(id) !== "held")
      this.#violate("hold-settled-once", `the hold of ${id} was settled again`);
    this.#holds.set(id, confirmed ? "confirmed" : "ended");
    const facts = this.#facts.get(id);
    if (!confirmed || facts === undefined) return;
    if (this.#revoked.has(`${uuid} ${facts.key_id}`))
      this.#violate("hold-is-judged", `${id} was confirmed although its key is revoked`);
    const policy = this.#policies.get(uuid) ?? facts.ai_policy_version;
    if (policy !== facts.ai_policy_version)
      this.#violate(
        "hold-is-judged",
        `${id} names AI policy ${facts.ai_policy_version} and was confirmed under ${policy}`,
      );
  }

  #end(id: string): void {
    if (this.#holds.get(id) === "held") this.#holds.set(id, "ended");
  }

  wroteVersion({ business_uuid, seal_id, record_id }: RecordVersion): void {
    const hold = this.#holds.get(`${business_uuid}.${seal_id}`);
    if (hold === undefined || hold === "confirmed") return;
    this.#violate(
      "held-publishes-nothing",
      `${record_id} was published by ${seal_id}, whose hold is ${hold}`,
    );
  }
}

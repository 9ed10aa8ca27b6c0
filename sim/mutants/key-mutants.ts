// Mutants of keys and mandates: what has ended or was revoked still counts, a revocation says something else than was stated, or a
// key ends because another one begins.

import type { KeyFacts, PublishingFacts } from "../../actors/messages/business.ts";
import type { ActorView, Decision, Message } from "../../actors/system/definition.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";
import { keysChangeIn } from "../workload/key-changes.ts";
import {
  bound,
  commanding,
  deciding,
  forgetting,
  type Mutant,
  mutant,
  redeciding,
  type Vary,
  withMembers,
} from "./mutant.ts";

/** The issuances of a business's certificate (actors/business/standing.ts). */
const issuanceRows = 24;

/** Keys end, and mandates change, only in some worlds. */
const whereKeysChange = { canShow: keysChangeIn, seedsMax: 1_500 };

/** A business that answers the question of who may publish in another way. */
function facing(said: (facts: PublishingFacts) => PublishingFacts): Vary {
  return redeciding("business", "publishing.facts", (decision) => ({
    ...decision,
    reply: said(decision.reply as PublishingFacts),
  }));
}

/** A business that notes another moment of a compromise. */
function revoking(from: (stated: string | null) => string | null): Vary {
  return commanding("business", "key.revoke", (command) => {
    const { compromised_from } = command as Message & { readonly compromised_from: string | null };
    return withMembers(command, { compromised_from: from(compromised_from) });
  });
}

export const keyMutants: readonly Mutant[] = [
  mutant(
    "mandateRevocationIsIgnored",
    "a key publishes under a revoked mandate",
    facing((facts) => ({
      ...facts,
      mandates: facts.mandates.map((mandate) => ({ ...mandate, revoked_at: null })),
    })),
    whereKeysChange,
  ),
  mutant(
    "mandateNeverEnds",
    "a key publishes under a mandate that has ended, what it sealed before",
    facing((facts) => ({
      ...facts,
      mandates: facts.mandates.map((mandate) => ({ ...mandate, valid_until: "9999-12-31T23:59:59.999Z" })),
    })),
    whereKeysChange,
  ),
  mutant(
    "firstMandateCounts",
    "a further mandate does not count",
    facing((facts) => ({ ...facts, mandates: facts.mandates.slice(-1) })),
    whereKeysChange,
  ),
  mutant(
    "keyNeverEnds",
    "a key that has ended still publishes",
    (changed) => ({
      register: (store) => {
        const endless = <T extends RegisterEntry | null>(entry: T): T => {
          if (entry?.table !== "key") return entry;
          const facts = JSON.parse(entry.body) as KeyFacts;
          if (facts.valid_until === null) return entry;
          changed();
          return { ...entry, body: JSON.stringify({ ...facts, valid_until: null }) };
        };
        return {
          ...bound(store),
          get: async (table, key) => endless(await store.get(table, key)),
          follow: () => {
            const feed = store.follow();
            return {
              next: async (limit) => {
                const { entries, more } = await feed.next(limit);
                return { entries: entries.map(endless), more };
              },
            };
          },
        };
      },
    }),
    whereKeysChange,
  ),
  mutant(
    "momentIsForgotten",
    "a revocation does not say from which moment the key was in other hands",
    revoking(() => null),
    whereKeysChange,
  ),
  mutant(
    "momentReachesBack",
    "a revocation takes back what was sealed before the stated moment",
    revoking((stated) => (stated === null ? null : `2020${stated.slice(4)}`)),
    whereKeysChange,
  ),
  mutant(
    "fallenStaysServed",
    "records whose seal does not stand any more stay served",
    deciding("business", (truly, command, view) =>
      command.type === "records.fall" ? { reply: { status: "done" } } : truly(command, view),
    ),
    whereKeysChange,
  ),
  mutant(
    "fallenPushGoesOn",
    "a push whose seal does not stand any more is published to its end",
    forgetting("business", "chunk.assign", [issuanceRows]),
    whereKeysChange,
  ),
  mutant(
    "fallIsNotTold",
    "regions are not told of records that fell",
    redeciding("business", "records.fall", (decision) => ({ ...decision, effects: [] })),
    whereKeysChange,
  ),
  mutant(
    "revocationTakesAccepted",
    "what was accepted before a revocation is not published",
    (changed) => {
      const revoked = new Set<string>();
      return deciding("business", (truly, command, view): Decision<unknown> => {
        const decision = truly(command, view);
        if (command.type === "key.revoke" && decision.events?.some(({ type }) => type === "key.revoked"))
          revoked.add(view.id);
        if (command.type !== "chunk.assign" || !revoked.has(view.id)) return decision;
        return { reply: { ...Object(decision.reply), cancelled: true, assignments: [] } };
      })(changed);
    },
    { seedsMax: 1_500 },
  ),
  mutant(
    "successorRetiresOthers",
    "a key ends when the next one is registered",
    (changed) => {
      const newest = new Map<string, Set<string>>();
      const known = (view: ActorView): Set<string> => {
        const keys = newest.get(view.id) ?? new Set();
        newest.set(view.id, keys);
        return keys;
      };
      return deciding("business", (truly, command, view) => {
        const decision = truly(command, view);
        if (command.type === "mandate.accept") {
          const { mandate } = command as Message & { readonly mandate: { readonly key_id: string } };
          known(view).delete(mandate.key_id);
          known(view).add(mandate.key_id);
        }
        if (command.type !== "publishing.facts") return decision;
        const { key_id } = command as Message & { readonly key_id: string };
        const facts = decision.reply as PublishingFacts;
        const isOlder = known(view).has(key_id) && [...known(view)].at(-1) !== key_id;
        return isOlder ? { ...decision, reply: { ...facts, key: "revoked" } } : decision;
      })(changed);
    },
    whereKeysChange,
  ),
];

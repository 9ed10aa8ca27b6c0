// Mutants of the actors' decisions, each with one guard removed.

import { admissions, answers, type HeadRow, heads } from "../../actors/business/rows.ts";
import type { BusinessCommand } from "../../actors/messages/business.ts";
import type { IntegrationKeyProtocol } from "../../actors/messages/integration-key.ts";
import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { ActorView } from "../../actors/system/definition.ts";
import { storeWith } from "../../storage/actor-store.ts";
import {
  commanding,
  deciding,
  forgetting,
  hidingRows,
  type Mutant,
  mutant,
  redeciding,
  viewing,
  withMembers,
} from "./mutant.ts";

/** Keyed rows of an integration key, by its own numbering. */
const key = { idempotency: 17, charged: 18 } as const;

function isNonceRow(kind: string, rt: number): boolean {
  return kind === "integration-key" && rt >= 20;
}

const keys: readonly Mutant[] = [
  mutant(
    "nonceIsNotClaimed",
    "a nonce is free and stays so",
    redeciding("integration-key", "nonce.claim", ({ claims: _, ...decision }) => decision),
  ),
  mutant("nonceOnlyInMemory", "a nonce is claimed and not stored", (changed) => ({
    actorStore: (given) =>
      storeWith(given, {
        commit: (commit) => {
          const puts = commit.puts.filter((row) => !isNonceRow(commit.ref.kind, row.rt));
          if (puts.length < commit.puts.length) changed();
          return given.commit({ ...commit, puts });
        },
      }),
  })),
  mutant(
    "seqIsNotChecked",
    "a used seq is charged again",
    deciding("integration-key", (truly, command, view) => {
      if (command.type === "seq.check") {
        const decision = truly(command, view);
        const { status } = decision.reply as { status: string };
        return status === "seq_not_increasing" ? { reply: { status: "accepted" } } : decision;
      }
      if (command.type !== "push.charge") return truly(command, view);
      return truly(
        withMembers(command, { seq: Number.MAX_SAFE_INTEGER - 1_000_000 + (view.nowMs % 1_000_000) }),
        view,
      );
    }),
  ),
  mutant(
    "chargeIsNotRemembered",
    "a charged push is charged again",
    deciding("integration-key", (truly, command, view) =>
      truly(
        command,
        hidingRows(view, (rt) => rt === key.charged),
      ),
    ),
  ),
  mutant(
    "capsAreNotChecked",
    "caps refuse nothing",
    deciding("integration-key", (truly, command, view) => {
      const caps = { records_per_hour: 1e12, bytes_per_day: 1e12 };
      if (command.type === "seq.check") {
        const { charge } = command as CommandOf<IntegrationKeyProtocol, "seq.check">;
        return truly(withMembers(command, { charge: { ...charge, caps } }), view);
      }
      return truly("caps" in command ? withMembers(command, { caps }) : command, view);
    }),
  ),
  mutant(
    "batchOvershootsTheHour",
    "a batch is let in whole where the cap has room for one record",
    deciding("integration-key", (truly, command, view) => {
      if (command.type === "push.charge") {
        const decision = truly(withMembers(command, { records: 1 }), view);
        const { records } = command as CommandOf<IntegrationKeyProtocol, "push.charge">;
        return { ...decision, events: (decision.events ?? []).map((each) => withMembers(each, { records })) };
      }
      if (command.type !== "seq.check") return truly(command, view);
      const { charge } = command as CommandOf<IntegrationKeyProtocol, "seq.check">;
      return truly(withMembers(command, { charge: { ...charge, records: 1 } }), view);
    }),
  ),
  mutant(
    "answersAreNotKept",
    "an idempotent answer is forgotten",
    deciding("integration-key", (truly, command, view) => {
      if (command.type !== "idempotency.settle") return truly(command, view);
      const { scope } = command as CommandOf<IntegrationKeyProtocol, "idempotency.settle">;
      return { reply: { status: "done" }, deletes: [{ rt: key.idempotency, k: 0, k2: scope }] };
    }),
  ),
  mutant(
    "claimForgetsItsRequest",
    "another request is begun under an Idempotency-Key that is in use",
    deciding("integration-key", (truly, command, view) => {
      const decision = truly(command, view);
      if ((decision.reply as { status?: string } | undefined)?.status !== "conflict") return decision;
      return truly(
        command,
        hidingRows(view, (rt) => rt === key.idempotency),
      );
    }),
  ),
];

type AssignCommand = Extract<BusinessCommand, { type: "chunk.assign" }>;

const businesses: readonly Mutant[] = [
  mutant(
    "chunkAnswerIsForgotten",
    "a chunk asked again gets new generations",
    forgetting("business", "chunk.assign", [answers.rt]),
  ),
  mutant(
    "supersededIsNotChecked",
    "an earlier push is applied over a later change",
    assigning((view, { number }) =>
      withHeads(view, (head) => (head.number > number ? { ...head, number: number - 1 } : head)),
    ),
  ),
  mutant(
    "admissionIsForgotten",
    "a push admitted again gets another number",
    forgetting("business", "push.admit", [admissions.rt]),
  ),
  mutant(
    "generationRestarts",
    "a record that was removed begins at generation 1 again",
    assigning((view) => withHeads(view, (head) => (head.live ? head : undefined))),
  ),
  mutant(
    "revocationIsIgnored",
    "a revoked key still publishes",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      // The key's own actor is not informed either: it would charge nothing.
      if (command.type === "key.revoke")
        return { ...decision, events: decision.events?.filter(({ type }) => type !== "key.revoked") ?? [] };
      if (command.type !== "publishing.facts") return decision;
      const facts = decision.reply as { key: string };
      return { ...decision, reply: facts.key === "revoked" ? { ...facts, key: "live" } : facts };
    }),
    { seedsMax: 1_500 },
  ),
];

const pushes: readonly Mutant[] = [
  mutant(
    "unindexedIsForgotten",
    "a region that could not be told is not told again",
    commanding("push", "chunk.settle", (command) => withMembers(command, { unindexed: [] })),
  ),
  mutant(
    "answerWaitsForIndexes",
    "a caller waits until every index has confirmed",
    deciding("push", (truly, command, view) =>
      command.type === "push.await" && view.snapshot.matches("indexing")
        ? { wait: true }
        : truly(command, view),
    ),
  ),
  mutant(
    "acceptedTwice",
    "a known push is accepted again",
    redeciding("push", "push.accept", (decision) => {
      const reply = decision.reply as { status?: string } | undefined;
      return reply?.status === "known" ? { ...decision, reply: { ...reply, status: "accepted" } } : decision;
    }),
  ),
];

export const actorMutants: readonly Mutant[] = [...keys, ...businesses, ...pushes];

/** A business that assigns generations by what `seen` shows of its rows. */
function assigning(seen: (view: ActorView, command: AssignCommand) => ActorView) {
  return deciding("business", (truly, command, view) =>
    truly(command, command.type === "chunk.assign" ? seen(view, command as AssignCommand) : view),
  );
}

/** The view with changed heads of records; a head that becomes undefined was never kept. */
function withHeads(view: ActorView, changed: (head: HeadRow) => HeadRow | undefined): ActorView {
  return viewing(view, (row) => {
    const known = row.rt === heads.rt ? heads.decode(row.body, row) : undefined;
    if (known === undefined) return row;
    const head = changed(known);
    return head && heads.write(row.k2, head);
  });
}

// What people do in the business portal: settle holds, seal the next AI policy, block a group and unblock it, revoke a key,
// change keys and mandates, and register a key that every business of the world wants. Each request is retried until it is answered, so that what is
// recorded as done is done.

import type { RegisterCommand } from "../../actors/messages/business.ts";
import type { RegisterReply } from "../../actors/messages/protocol.ts";
import type { PushCommand } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { type HoldDecision, holdDecisionPayload } from "../../protocol/withdrawal.ts";
import type { Outcome } from "../../service/answer.ts";
import { decideHold } from "../../service/publishing/decide-hold.ts";
import { RegisterRefused } from "../../service/register/parties.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import { sealedByPerson } from "../crypto/sim-passkey.ts";
import type { Random } from "../kernel/random.ts";
import { statusOf } from "../world/serve.ts";
import { acceptPolicy, registerKey, type SimBusiness } from "../world/setup.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import { answerOf, type Journal } from "./journal.ts";
import { changeKeys, keysInUse } from "./key-changes.ts";

const attemptsMax = 60;
/** How often an operator takes something of the business down, or undoes it, where its people would do something. */
const takedownChance = 0.12;

export class PortalAgent {
  readonly #world: World;
  readonly #journal: Journal;
  readonly #business: SimBusiness;
  readonly #groups: readonly string[];
  readonly #name: string;
  readonly #watchesHolds: boolean;
  readonly #contested: SimSigner;
  readonly #draws: Random;
  /** Randomness of the current step. */
  #random: Random;
  #isStopped = false;

  constructor(
    world: World,
    given: {
      readonly name: string;
      /** Whether somebody takes care of held records most of the time. */
      readonly watchesHolds: boolean;
      readonly business: SimBusiness;
      readonly groups: readonly string[];
      /** The key that the portals of all businesses register. */
      readonly contested: SimSigner;
      readonly random: Random;
      readonly journal: Journal;
    },
  ) {
    this.#world = world;
    this.#journal = given.journal;
    this.#business = given.business;
    this.#groups = given.groups;
    this.#name = given.name;
    this.#watchesHolds = given.watchesHolds;
    this.#contested = given.contested;
    this.#draws = given.random;
    this.#random = given.random;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    const steps = this.#watchesHolds ? this.#random.between(6, 14) : this.#random.between(1, 5);
    for (let step = 0; step < steps && !this.#isStopped; step += 1) {
      this.#random = this.#draws.fork(`step ${step}`);
      await this.#pause(this.#random.skewed(50, this.#watchesHolds ? 2_000 : 5_000));
      if (!this.#world.takes(`${this.#name}#${step + 1}`)) continue;
      if (this.#draws.fork(`takedown ${step}`).chance(takedownChance)) {
        await this.#takeDown();
        continue;
      }
      const hold = this.#watchesHolds ? 20 : 4;
      const keys = this.#business.successor === null ? 0 : 6;
      const what = this.#random.weighted({ hold, policy: 2, block: 2, revoke: 2, contest: 2, keys });
      if (what === "hold") await this.settleHolds();
      else if (what === "policy") await this.#sealPolicy();
      else if (what === "block") await this.#block();
      else if (what === "contest") await this.#contest();
      else if (what === "keys") await this.#changeKeys();
      else await this.#revoke();
    }
  }

  /** Confirms or rejects what is held. */
  async settleHolds(): Promise<void> {
    for (const batch of this.#journal.batches.values()) {
      if (batch.business !== this.#business) continue;
      const status: PushCommand = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 };
      const report = await this.#once((node) =>
        node.system.ask(pushRef(this.#business.uuid, batch.pushId), status),
      );
      if (report?.state === "held") await this.#takeCareOf(batch.pushId);
    }
  }

  /** Nobody may decide in time; and what the push was sealed with may be taken back or replaced before somebody does. */
  async #takeCareOf(pushId: string): Promise<void> {
    if (this.#world.parts.holdMs !== undefined && this.#random.chance(0.3)) return;
    const meanwhile = this.#random.weighted({ nothing: 70, revoke: 15, policy: 15 });
    if (meanwhile === "revoke") await this.#revoke();
    if (meanwhile === "policy") await this.#sealPolicy();
    await this.#settleHold(pushId, this.#random.chance(0.6) ? "confirm" : "reject");
  }

  /** Two people may decide, the second perhaps otherwise than the first. */
  async #settleHold(pushId: string, decision: HoldDecision["decision"]): Promise<void> {
    const other = decision === "confirm" ? "reject" : "confirm";
    const second = this.#random.weighted({ nobody: 6, same: 2, other: 3 });
    for (const each of second === "nobody" ? [decision] : [decision, second === "same" ? decision : other]) {
      const outcome = await this.#insist((node) => this.#decideHold(node, pushId, each));
      if (outcome === null || statusOf(outcome) !== 200) continue;
      this.#world.observed.mark("hold.settled");
      this.#journal.noteDecision(this.#world.observed, pushId, each);
    }
  }

  /** Sealed again for each attempt, because a decision is accepted only within minutes. */
  #decideHold(node: SimNode, push_id: string, decision: HoldDecision["decision"]): Promise<Outcome> {
    const { uuid, owner } = this.#business;
    const { crypto, kernel } = this.#world.parts;
    const at = formatTimestamp(kernel.now());
    const payload = holdDecisionPayload({ v: 1, business_uuid: uuid, push_id, decision, at });
    return decideHold(node.publishing, {
      caller: { party: { uuid } },
      pushId: push_id,
      decision: sealedByPerson(crypto, owner, payloadTypes["hold-decision.v1"], payload),
    });
  }

  async #sealPolicy(): Promise<void> {
    const { uuid, certId, owner } = this.#business;
    const version = this.#journal.policyVersion(this.#business) + 1;
    // Sealed again for each attempt, because a seal is accepted only within minutes.
    const done = await this.#insist(async (node) => {
      await acceptPolicy(this.#world.parts, node, { uuid, certId, owner, version });
      return true;
    });
    if (done === null) return;
    this.#journal.notePolicy(this.#business, version);
    this.#world.observed.mark("policy.sealed");
  }

  /** An operator takes a record of the business or all of it out of serving, or undoes that. */
  async #takeDown(): Promise<void> {
    const { uuid } = this.#business;
    const batches = [...this.#journal.batches.values()].filter(({ business }) => business.uuid === uuid);
    const leaves = batches.length === 0 ? [] : this.#random.pick(batches).leaves;
    const record_id =
      leaves.length === 0 || this.#random.chance(0.4) ? null : this.#random.pick(leaves).recordId;
    const known = this.#journal.takedowns.get(record_id ?? uuid) ?? {
      isDown: false,
      sinceMs: 0,
      mayReturn: false,
    };
    this.#journal.takedowns.set(record_id ?? uuid, known);
    known.sinceMs = Number.POSITIVE_INFINITY;
    const act = { by: "an operator", reason: "a complaint" };
    const reply = await this.#ask(
      known.isDown
        ? { type: "takedown.lift", record_id, act }
        : { type: "takedown.impose", record_id, statement_of_reasons: "the terms", act },
    );
    if (reply === null) return;
    // A record that is not published cannot be taken down.
    if (reply.status !== "done" || known.isDown) known.mayReturn = true;
    if (reply.status === "done") known.isDown = !known.isDown;
    known.sinceMs = this.#world.parts.kernel.now();
    if (reply.status === "done")
      this.#world.observed.mark(known.isDown ? "takedown.imposed" : "takedown.lifted");
  }

  async #block(): Promise<void> {
    const group = this.#random.pick(this.#groups);
    const isBlocked = this.#journal.isBlocked(this.#business.uuid, group);
    this.#journal.noteBlocking(this.#business.uuid, group);
    const reply = await this.#ask({ type: isBlocked ? "group.unblock" : "group.block", group });
    if (reply?.status !== "done") return;
    this.#journal.noteBlocked(this.#business.uuid, group, !isBlocked, this.#world.parts.kernel.now());
    this.#world.observed.mark(isBlocked ? "group.unblocked" : "group.blocked");
  }

  /** Revokes a key, but only of a business that has another one. */
  async #revoke(): Promise<void> {
    const { keys, successor } = this.#business;
    const isRotated = keysInUse({ journal: this.#journal, business: this.#business }).length > keys.length;
    const key = isRotated ? this.#random.pick(keys) : keys.at(-1);
    if (keys.length < (isRotated ? 1 : 2) || key === undefined) return;
    if (this.#journal.revocations.has(key.keyId)) return;
    const { kernel } = this.#world.parts;
    const revoked_at = formatTimestamp(kernel.now());
    // Where keys change, some were in other hands for a while, and some are only retired.
    const isStolen = successor !== null && this.#random.chance(0.5);
    const compromised_from = isStolen ? formatTimestamp(kernel.now() - this.#random.between(0, 8_000)) : null;
    const revocation = {
      askedAt: kernel.events,
      doneAt: Number.POSITIVE_INFINITY,
      doneMs: Number.POSITIVE_INFINITY,
      revokedAt: revoked_at,
      compromisedFrom: compromised_from,
    };
    this.#journal.revocations.set(key.keyId, revocation);
    const reply = await this.#ask({ type: "key.revoke", key_id: key.keyId, revoked_at, compromised_from });
    if (reply?.status !== "done") return;
    revocation.doneAt = kernel.events;
    revocation.doneMs = kernel.now();
    this.#world.observed.mark(isStolen ? "key.revoked_from" : "key.revoked");
    await this.#journal.revoked(key.keyId);
  }

  /** A business that is informed that the key is registered keeps it permanently. */
  async #contest(): Promise<void> {
    const { uuid } = this.#business;
    const key = this.#contested;
    const told = await this.#insist((node) =>
      registerKey(this.#world.parts, node, { uuid, key }).then(
        () => "registered",
        (error: unknown) => {
          if (error instanceof RegisterRefused) return error.code;
          throw error;
        },
      ),
    );
    if (told === "registered") this.#journal.noteOwner(this.#world.observed, key.keyId, uuid);
    if (told !== null) this.#world.observed.mark(`key.${told}`);
  }

  #changeKeys(): Promise<void> {
    return changeKeys({
      world: this.#world,
      journal: this.#journal,
      business: this.#business,
      random: this.#random,
      insist: (ask) => this.#insist(ask),
    });
  }

  #ask(command: RegisterCommand): Promise<RegisterReply | null> {
    const ref = businessRef(this.#business.uuid);
    return this.#insist((node) => node.actors.ask(ref, command));
  }

  async #insist<T>(ask: (node: SimNode) => Promise<T>): Promise<T | null> {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const reply = await this.#once(ask);
      if (reply !== null) return reply;
      await this.#pause(this.#random.between(100, 900));
    }
    return null;
  }

  async #once<T>(ask: (node: SimNode) => Promise<T>): Promise<T | null> {
    const node = this.#world.nodeOf(this.#random.pick(this.#world.parts.regions), this.#random);
    return node === null || node.life.isAsleep ? null : answerOf(this.#world, node.life, ask(node));
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.parts.kernel.after(ms, "portal waits", resolve));
  }
}

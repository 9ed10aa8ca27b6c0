// Who enters what an AI company paid in: each entry under an id of its own, again until it is answered, and sometimes twice at
// once or once more although it was answered.

import type { EnterReply, LedgerEntry } from "../../actors/messages/ledger.ts";
import { ledgerRef } from "../../actors/messages/refs.ts";
import type { Random } from "../kernel/random.ts";
import { currency } from "../world/money.ts";
import type { World } from "../world/world.ts";
import { answerOf } from "./journal.ts";

/** Maximum number of searches or fetches that one payment is enough for. */
const answersMax = 40;
const againMs = 300;
/** An entry is sent again until it was answered, which takes no longer than this many attempts once faults have stopped. */
const attemptsMax = 500;

export class PaymentAgent {
  /** What was entered, by id. */
  readonly entries: LedgerEntry[] = [];
  readonly company: string;
  readonly #world: World;
  readonly #name: string;
  readonly #draws: Random;
  #payments = 0;

  constructor(
    world: World,
    given: { readonly name: string; readonly company: string; readonly random: Random },
  ) {
    this.#world = world;
    this.#name = given.name;
    this.company = given.company;
    this.#draws = given.random;
  }

  /** Pays at most `payments` times, with pauses of at most `pauseMaxMs`. */
  async run(payments: number, pauseMaxMs: number): Promise<void> {
    for (let each = 0; each < payments; each += 1) {
      this.#payments += 1;
      const random = this.#draws.fork(`payment ${this.#payments}`);
      await this.#pause(random.skewed(1, pauseMaxMs));
      if (this.#world.takes(`${this.#name}#${this.#payments}`)) await this.#pay(random);
    }
  }

  async #pay(random: Random): Promise<void> {
    const { money, regions } = this.#world.parts;
    if (money === null) return;
    const entry: LedgerEntry = {
      entry_id: `${this.#name}-${this.#payments}`,
      kind: "top_up",
      currency,
      by: "ops",
      reason: "paid",
      amount: random.between(1, answersMax * Math.max(money.price.fetch, money.price.search)),
    };
    this.entries.push(entry);
    const region = random.pick(regions);
    const isRepeated = random.chance(0.3);
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const copies = random.chance(0.3) ? 2 : 1;
      const asked = Array.from({ length: copies }, () => this.#enter(entry, region, random));
      const replies = await Promise.all(asked);
      for (const reply of replies) this.#judge(entry, reply);
      if (replies.some((reply) => reply !== null) && !(isRepeated && attempt === 1)) return;
      await this.#pause(againMs);
    }
    this.#world.observed.violate("liveness", `the entry ${entry.entry_id} was never answered`);
  }

  async #enter(entry: LedgerEntry, region: string, random: Random): Promise<EnterReply | null> {
    const node = this.#world.nodeOf(region, random);
    if (node === null) return null;
    const command = { type: "money.enter", ...entry } as const;
    return answerOf(this.#world, node.life, node.system.ask(ledgerRef(this.company), command));
  }

  #judge({ entry_id, amount }: LedgerEntry, reply: EnterReply | null): void {
    const { observed, parts } = this.#world;
    if (reply === null) return;
    parts.kernel.tell(`${this.#name} entered ${amount}: ${reply.status}`);
    observed.mark(`money.${reply.status}`);
    if (reply.status !== "entered")
      observed.violate(
        "charged-once",
        `the entry ${entry_id} of ${this.company} was refused: ${reply.status}`,
      );
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.parts.kernel.after(ms, "payer waits", resolve));
  }
}

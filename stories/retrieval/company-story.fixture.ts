// The story of an AI company from its first payment to its last statement, while nodes are killed. For tests.

import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import { createSvcClient, type SvcClient } from "../../client/service-client.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import type { Sealer } from "../../node/sandbox/sealer.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import {
  advertise,
  judgeCampaigns,
  spendBudget,
  subjects,
  untilServed,
} from "../ads/company-advertiser.fixture.ts";
import { type Settled, settleBooks } from "../money/company-books.fixture.ts";
import type { AiCompany } from "./ai-company.fixture.ts";

export interface CompanyStory {
  readonly company: AiCompany;
  readonly advertiser: { readonly key: SigningKey; readonly owner: Sealer; readonly brand: string };
  readonly random: () => number;
  /** The nodes that are killed while the company works, one after another, by the addresses at which it asks them. */
  readonly victims: readonly string[];
  /** Kills a victim and starts it again. */
  readonly disturb: (victim: number) => Promise<void>;
  /** Where time can be moved: lets everything happen that is due minutes later. */
  readonly later?: () => Promise<void>;
}

/** Requests that are under way at once. */
const askersAtOnce = 4;
/** Several payments are spent in these. */
const roundsMin = 40;
const settleMaxMs = 150_000;
const pauseMs = 100;
/** About what a search takes. */
const requestMs = 20;

export async function tellCompanyStory(story: CompanyStory): Promise<Settled> {
  const { company, random, victims } = story;
  const { books, options } = company;
  const [door] = options.doors();
  if (door === undefined) throw new Error("The company knows no door.");
  const { baseUrl, businessUrl, verifyUrl } = door;
  const urls = { baseUrl, businessUrl, verifyUrl };
  const publisher = createSvcClient({ key: story.advertiser.key, ...urls });
  await untilKnown(company, publisher);
  const advertising = await advertise(publisher, story.advertiser);
  const [many, few] = advertising.campaigns;
  if (many === undefined || few === undefined) throw new Error("There are two campaigns.");
  await untilServed(company, subjects.many, many.ads.length);
  await untilServed(company, subjects.few, few.ads.length);
  await company.pay();
  let [rounds, disturbed] = [0, 0];
  const work = async (): Promise<void> => {
    while (rounds < roundsMin || disturbed < victims.length) {
      rounds += 1;
      await company.round();
    }
  };
  const disturb = async (): Promise<void> => {
    for (const [index, victim] of victims.entries()) {
      const answers = books.answered.size + 8 + Math.floor(random() * 20);
      while (books.answered.size < answers) await wait(5);
      // In the middle of a request, wherever that is: some are charged without an answer.
      while ((books.asked.get(victim) ?? 0) === 0) await turn();
      await wait(random() * requestMs);
      await story.disturb(index);
      disturbed += 1;
    }
  };
  await Promise.all([...Array.from({ length: askersAtOnce }, work), spendBudget(company, few), disturb()]);
  await judgeCampaigns(company, advertising);
  await story.later?.();
  const settled = await settleBooks(company, settleMaxMs);
  tell(company, settled);
  expect(books.exhausted).toBeGreaterThan(0);
  expect(books.paidIn.length).toBeGreaterThan(1);
  expect(books.clicked.size).toBeGreaterThan(roundsMin / 2);
  return settled;
}

/** What was registered reaches every region a moment later. */
async function untilKnown({ client, options }: AiCompany, publisher: SvcClient): Promise<void> {
  const known = async (read: () => Promise<unknown>): Promise<void> => {
    const isKnown = () => read().then(Boolean, () => false);
    await expect.poll(isKnown, { timeout: 60_000, interval: pauseMs }).toBe(true);
  };
  await known(() => publisher.sealContext());
  for (const door of options.doors()) await known(() => client(door).allowance());
}

/** An operator enters a payment at some node, and again until it is answered: it is made once. */
export async function enterPayment(
  {
    company,
    entryId,
    amount,
  }: { readonly company: string; readonly entryId: string; readonly amount: string },
  desks: () => readonly { readonly url: string; readonly token: () => Promise<string> }[],
): Promise<void> {
  const entry = { kind: "top_up", amount, currency: "EUR", reason: "invoice" };
  for (let at = 0; ; at += 1) {
    const desk = desks()[at % desks().length];
    if (desk === undefined) throw new Error("There is no node.");
    const authorization = signedIn((await desk.token()).trim());
    const answer = await fetch(`${desk.url}/ops/ledgers/${company}/entries`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify({ entry_id: entryId, ...entry }),
    }).catch(() => null);
    if (answer?.status === 200) return;
    if (answer !== null) expect(answer.status, await answer.text()).toBe(503);
    await wait(pauseMs);
  }
}

function tell({ books }: AiCompany, { receipts, billable, charged, reserved }: Settled): void {
  const { signed, answered, refused, lost, exhausted, paidIn, rendered, clicked, verified } = books;
  console.log({
    signed: signed.size,
    answered: answered.size,
    refused: refused.size,
    lost,
    exhausted,
    verified,
    clicked: clicked.size,
    receipts: receipts.length,
    billable,
    charged,
    reserved,
    paidIn: paidIn.join("+"),
    rendered: Object.fromEntries([...rendered].map(([campaign, { size }]) => [campaign, size])),
  });
}

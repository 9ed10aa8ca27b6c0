// In the process of a running node (serve.ts): surfaces that the benchmark opens beside the node's own, to compare with them or to show more of them than a node does.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pino } from "pino";
import { ledgerRef } from "../actors/messages/refs.ts";
import { createToolSessions, toolSessionLimits } from "../api/tool-server/tool-sessions.ts";
import { publicReadsOf } from "../node/composition/public-reads.ts";
import { buildSurfaces } from "../node/composition/surfaces.ts";
import { liveTimingDefault } from "../ops/live.ts";
import type { PriceList } from "../protocol/price-list.ts";
import type { VerifyRequest } from "../protocol/wire/verify.ts";
import { bodyText } from "../service/answer.ts";
import { type Allowance, createAllowance } from "../service/money/allowance.ts";
import { running } from "./serve.ts";
import { heldBytes } from "./work.ts";

const host = "127.0.0.1";

const closing = new AsyncDisposableStack();

export const close = () => closing.disposeAsync();

async function openSurface(
  name: keyof ReturnType<typeof buildSurfaces>,
  changed: Partial<Parameters<typeof buildSurfaces>[0]>,
  options: Parameters<typeof buildSurfaces>[2],
  hosts: string[] = [],
): Promise<number> {
  const { services, urls } = running();
  const built = buildSurfaces(
    { ...services, ...changed },
    {
      urls,
      ports: [],
      logger: pino({ level: "silent" }),
      audit: { record: () => {} },
      access: { hosts, token: "", isLoopback: true },
    },
    options,
  );
  closing.defer(async () => void (await Promise.all(Object.values(built).map((each) => each.close()))));
  await built[name].listen({ host, port: 0 });
  return (built[name].server.address() as AddressInfo).port;
}

const search = { products: 1, business_files: 1, events: 1, jobs: 1, updates: 1 };
const prices: PriceList = {
  currency: "EUR",
  versions: [{ version: 1, effective_from: "2026-01-01T00:00:00.000Z", search, fetch: 1 }],
};
/** More than any run spends. */
const money = 1_000_000_000_000;

let paid = 0;

/**
 * Opens two surfaces that differ only in whether an answer is paid for out of a company's prepaid allowance, and returns their
 * ports.
 */
export async function openAllowance(company: string) {
  const { actors, config, clock, elapsedMs, lease } = running().services;
  await actors.ask(ledgerRef(company), {
    type: "money.enter",
    entry_id: "bench",
    kind: "top_up",
    amount: money,
    currency: "EUR",
    by: "bench",
    reason: "bench",
  });
  const holder = () => `${config.region}/${lease() ?? "none"}`;
  const allowance = createAllowance({ actors, prices: () => prices, holder, clock, elapsedMs });
  closing.defer(() => allowance.giveBack("all"));
  const counted: Allowance = {
    ...allowance,
    pay: (payer, priced) => {
      paid += 1;
      return allowance.pay(payer, priced);
    },
  };
  return {
    paid: await openSurface("retrieval", { allowance: counted }, { hosts: null }),
    free: await openSurface("retrieval", { allowance: null }, { hosts: null }),
  };
}

/** How many answers were paid for until now. Throws if the ledger lent nothing for them. */
export async function paidAnswers(company: string): Promise<number> {
  const report = await running().services.actors.ask(ledgerRef(company), { type: "ledger.read" });
  if (paid > 0 && (report?.reserved ?? 0) === 0) throw new Error("the ledger lent nothing");
  return paid;
}

let sessions: ReturnType<typeof createToolSessions> | null = null;

/**
 * Opens the hosted tool server, and a bare HTTP server in the same process that does the same verification and nothing else: it
 * trusts everybody, checks no request, and bounds nothing. Returns their ports.
 */
export async function openTools() {
  const { services, urls } = running();
  // One address opens them all.
  const limits = { ...toolSessionLimits, perAddressMax: Number.POSITIVE_INFINITY };
  sessions = createToolSessions(services.elapsedMs, limits);
  const { verify } = publicReadsOf(services, urls.verify_url);
  const bare = createServer(async (request, response) => {
    const body = await buffer(request);
    const outcome = await verify(JSON.parse(body.toString("utf8")) as VerifyRequest, body);
    const text = Buffer.from(outcome.kind === "answer" ? bodyText(outcome.body) : "");
    const status = outcome.kind === "answer" ? outcome.status : outcome.problem.status;
    response.writeHead(status, { "content-type": "application/json", "content-length": text.length });
    response.end(text);
  });
  closing.defer(() => bare.close().closeAllConnections());
  await new Promise<void>((resolve) => bare.listen(0, host, resolve));
  return {
    tools: await openSurface("tools", {}, { hosts: null, toolSessions: sessions, toolOpenings: null }),
    bare: (bare.address() as AddressInfo).port,
  };
}

/** How many sessions are open, and the bytes in use once what nobody needs has been collected. */
export function heldByTools() {
  return { sessions: sessions?.count ?? 0, bytes: heldBytes() };
}

/**
 * Opens an operators' surface whose views follow far more often than once a second, so that a minute shows what thousands of updates
 * leave behind, and returns its address. Its clock stands still, so that counting seems to take no time and is done for each view.
 */
export async function openQuickSurface(everyMs: number): Promise<string> {
  const hosts: string[] = [];
  const live = { ...liveTimingDefault, everyMs };
  const port = await openSurface("ops", { elapsedMs: () => 0 }, { live }, hosts);
  hosts.push(`${host}:${port}`);
  return `http://${host}:${port}`;
}

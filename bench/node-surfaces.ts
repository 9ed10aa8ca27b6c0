// Surfaces of a running node that the benchmark opens beside its own, to compare with them or to show more of them than a node does.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { ledgerRef } from "../actors/messages/refs.ts";
import { createToolSessions, toolSessionLimits } from "../api/tool-server/tool-sessions.ts";
import { publicReadsOf } from "../node/public-reads.ts";
import type { RunningNode } from "../node/start.ts";
import { buildSurfaces } from "../node/surfaces.ts";
import { liveTimingDefault } from "../ops/live.ts";
import type { PriceList } from "../protocol/price-list.ts";
import type { VerifyRequest } from "../protocol/wire/verify.ts";
import { type Allowance, createAllowance } from "../service/allowance.ts";
import { bodyText } from "../service/answer.ts";
import { heldBytes } from "./answer-parent.ts";

const host = "127.0.0.1";

type BuildParameters = Parameters<typeof buildSurfaces>;

/** Surfaces that log nothing. */
function silentSurfaces(
  { services, urls }: RunningNode,
  changed: Partial<BuildParameters[0]>,
  options: BuildParameters[2],
  hosts: string[] = [],
) {
  const built = buildSurfaces(
    { ...services, ...changed },
    {
      ...{ urls, ports: [], logger: pino({ level: "silent" }), audit: { record: () => {} } },
      access: { hosts, token: "", isLoopback: true },
    },
    options,
  );
  return {
    built,
    /** Starts to listen with one of them, and returns its port. */
    listen: async (name: keyof typeof built): Promise<number> => {
      await built[name].listen({ host, port: 0 });
      return (built[name].server.address() as AddressInfo).port;
    },
    close: async (): Promise<void> => {
      await Promise.all(Object.values(built).map((each) => each.close()));
    },
  };
}

export interface AllowanceSurfaces extends AsyncDisposable {
  /** Ports of the retrieval surface that takes payment, and of the one that does not. */
  readonly ports: { readonly paid: number; readonly free: number };
  /** How many answers were paid for until now. Throws if the ledger lent nothing for them. */
  paid(): Promise<number>;
}

const search = { products: 1, business_files: 1, events: 1, jobs: 1, updates: 1 };
const prices: PriceList = {
  currency: "EUR",
  versions: [{ version: 1, effective_from: "2026-01-01T00:00:00.000Z", search, fetch: 1 }],
};
/** More than any run spends. */
const money = 1_000_000_000_000;

/** Two surfaces that differ only in whether an answer is paid for out of a prepaid allowance. */
export async function openAllowanceSurfaces(node: RunningNode, company: string): Promise<AllowanceSurfaces> {
  const { services } = node;
  const { actors, config, clock, elapsedMs } = services;
  const ledger = ledgerRef(company);
  await actors.ask(ledger, {
    ...{ type: "money.enter", entry_id: "bench", kind: "top_up", amount: money },
    ...{ currency: "EUR", by: "bench", reason: "bench" },
  });
  const holder = () => `${config.region}/${services.lease() ?? "none"}`;
  const allowance = createAllowance({ actors, prices: () => prices, holder, clock, elapsedMs });
  let paid = 0;
  const counted: Allowance = {
    ...allowance,
    pay: (payer, priced) => {
      paid += 1;
      return allowance.pay(payer, priced);
    },
  };
  const [paying, free] = [counted, null].map((each) =>
    silentSurfaces(node, { allowance: each }, { hosts: null }),
  );
  if (paying === undefined || free === undefined) throw new Error("there are two surfaces");
  return {
    ports: { paid: await paying.listen("retrieval"), free: await free.listen("retrieval") },
    paid: async () => {
      const report = await actors.ask(ledger, { type: "ledger.read" });
      if (paid > 0 && (report?.reserved ?? 0) === 0) throw new Error("the ledger lent nothing");
      return paid;
    },
    [Symbol.asyncDispose]: async () => {
      await allowance.giveBack("all");
      await Promise.all([paying.close(), free.close()]);
    },
  };
}

export interface ToolSurfaces extends AsyncDisposable {
  readonly ports: { readonly tools: number; readonly bare: number };
  /** How many sessions are open, and the bytes in use once what nobody needs has been collected. */
  held(): { readonly sessions: number; readonly bytes: number };
}

/**
 * The hosted tool server, and a bare HTTP server in the same process that does the same verification and nothing else: it trusts
 * everybody, checks no request, and bounds nothing.
 */
export async function openToolSurfaces(node: RunningNode): Promise<ToolSurfaces> {
  const { services, urls } = node;
  // One address opens them all.
  const limits = { ...toolSessionLimits, perAddressMax: Number.POSITIVE_INFINITY };
  const sessions = createToolSessions(services.elapsedMs, limits);
  const surfaces = silentSurfaces(node, {}, { hosts: null, toolSessions: sessions, toolOpenings: null });
  const { verify } = publicReadsOf(services, urls.verify_url);
  const bare = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const outcome = await verify(JSON.parse(body.toString("utf8")) as VerifyRequest, body);
    const text = Buffer.from(outcome.kind === "answer" ? bodyText(outcome.body) : "");
    const status = outcome.kind === "answer" ? outcome.status : outcome.problem.status;
    response.writeHead(status, { "content-type": "application/json", "content-length": text.length });
    response.end(text);
  });
  await new Promise<void>((resolve) => bare.listen(0, host, resolve));
  return {
    ports: { tools: await surfaces.listen("tools"), bare: (bare.address() as AddressInfo).port },
    held: () => ({ sessions: sessions.count, bytes: heldBytes() }),
    [Symbol.asyncDispose]: async () => {
      bare.close();
      bare.closeAllConnections();
      await surfaces.close();
    },
  };
}

export interface QuickSurface extends AsyncDisposable {
  readonly url: string;
}

/**
 * An operators' surface whose views follow far more often than once a second, so that a minute shows what thousands of updates
 * leave behind. Its clock stands still, so that counting seems to take no time and is done for each view.
 */
export async function openQuickSurface(node: RunningNode, everyMs: number): Promise<QuickSurface> {
  const hosts: string[] = [];
  const live = { ...liveTimingDefault, everyMs };
  const surfaces = silentSurfaces(node, { elapsedMs: () => 0 }, { live }, hosts);
  const port = await surfaces.listen("ops");
  hosts.push(`${host}:${port}`);
  return { url: `http://${host}:${port}`, [Symbol.asyncDispose]: surfaces.close };
}

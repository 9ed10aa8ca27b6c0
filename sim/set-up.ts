// The parties of a world and their agents, drawn from its seed.

import { Unavailable } from "../std/unavailable.ts";
import type { ServedChecker } from "./checkers/served.ts";
import type { SimSigner } from "./crypto/sim-crypto.ts";
import type { Random } from "./kernel/random.ts";
import { BusinessAgent } from "./workload/business-agent.ts";
import type { BusinessPlan } from "./workload/business-plan.ts";
import { CompanyAgent } from "./workload/company-agent.ts";
import type { Journal } from "./workload/journal.ts";
import { keysChange, mandateNote } from "./workload/key-changes.ts";
import { PaymentAgent } from "./workload/payment-agent.ts";
import { PortalAgent } from "./workload/portal-agent.ts";
import {
  firstMandate,
  type KeyEnds,
  type NewBusiness,
  registerBusiness,
  registerCompany,
  registerNamed,
  resumeBusiness,
  type SimBusiness,
} from "./world/setup.ts";
import type { SimNode } from "./world/sim-node.ts";
import type { World } from "./world/world.ts";

export interface Cast {
  readonly agents: readonly BusinessAgent[];
  readonly companies: readonly CompanyAgent[];
  readonly portals: readonly PortalAgent[];
  /** None where nothing is charged. */
  readonly payers: readonly PaymentAgent[];
}

export async function setUp(world: World, draw: Random, served: ServedChecker, journal: Journal) {
  const { regions } = world.parts;
  const plan = drawPlan(draw.fork("plan"), regions);
  const named = { uuid: draw.fork("named").uuid(), home: draw.fork("named home").pick(regions) };
  world.parts.homes.set(named.uuid, named.home);
  await atNode(world, named.home, (node) => registerNamed(world.parts, node, named.uuid));
  const businesses = await openBusinesses(world, draw, journal);
  const agents = businesses.flatMap((business, index) =>
    keysOf(business).map((key, at) => {
      const random = draw.fork(`business ${index} key ${at}`);
      const given = { business, key, plan: { ...plan, region: random.pick(regions) }, random };
      return new BusinessAgent(world, journal, { name: `business-${index}.${at}`, ...given });
    }),
  );
  const companies: CompanyAgent[] = [];
  for (let index = 0; index < 2; index += 1) {
    const uuid = draw.uuid();
    const home = draw.pick(regions);
    world.parts.homes.set(uuid, home);
    const company = await atNode(world, home, (node) => registerCompany(world.parts, node, uuid));
    const random = draw.fork(`company ${index}`);
    const companyPlan = { steps: draw.between(4, 12), pauseMaxMs: plan.pauseMaxMs, regions };
    const given = { company, plan: companyPlan, random, journal, checker: served };
    companies.push(new CompanyAgent(world, { name: `company-${index}`, ...given }));
  }
  const groups = companies.map((company) => company.uuid);
  const contested = world.parts.crypto.newSigner();
  const portals = businesses.map((business, index) => {
    const given = { watchesHolds: plan.reprices, business, groups, contested, journal };
    return new PortalAgent(world, {
      name: `portal-${index}`,
      ...given,
      random: draw.fork(`portal ${index}`),
    });
  });
  const payers =
    world.parts.money === null
      ? []
      : groups.map((company, index) => {
          const random = world.random.fork(`payer ${index}`);
          return new PaymentAgent(world, { name: `payer-${index}`, company, random });
        });
  // The registers of the other regions follow within their time.
  await pause(world, 2_500);
  return { agents, companies, portals, payers } satisfies Cast;
}

function keysOf({ keys, successor }: SimBusiness): readonly SimSigner[] {
  return successor === null ? keys : [...keys, successor];
}

async function openBusinesses(world: World, draw: Random, journal: Journal): Promise<readonly SimBusiness[]> {
  const { parts } = world;
  const resumable = await resumableParties(world, draw);
  const businesses: SimBusiness[] = [];
  const count = draw.pick([1, 1, 2]);
  for (let index = 0; index < count; index += 1) {
    const uuid = draw.uuid();
    const home = draw.pick(parts.regions);
    const given: Omit<NewBusiness, "uuid"> = {
      keys: draw.pick([1, 1, 2]),
      hasPolicy: draw.chance(0.5),
      ends: drawEnds(world, index),
      caps: {
        records_per_hour: draw.pick([12, 1_000_000, 1_000_000]),
        bytes_per_day: draw.pick([20_000, 1e9, 1e9]),
      },
    };
    const known = resumable[index];
    if (known !== undefined) {
      const its = parts.homes.get(known) ?? home;
      const resume = (node: SimNode) => resumeBusiness(parts, node, { uuid: known, ...given });
      businesses.push(await atNode(world, its, resume));
    } else {
      parts.homes.set(uuid, home);
      const register = (node: SimNode) => registerBusiness(parts, node, { uuid, ...given });
      businesses.push(await atNode(world, home, register));
    }
    for (const [at, key] of businesses.at(-1)?.keys.entries() ?? []) {
      const { keyUntilMs = Infinity, mandateUntilMs } = given.ends?.[at] ?? {};
      const { id, fromMs, untilMs } = firstMandate(parts, key, mandateUntilMs);
      const mandates = [mandateNote(id, fromMs, untilMs, parts.kernel.events)];
      journal.standing.noteRegistered({ keyId: key.keyId, untilMs: keyUntilMs, mandates });
    }
  }
  return businesses;
}

/** In some worlds keys are rotated, and keys and mandates end; then there is a draw for each key that a business may have. */
function drawEnds(world: World, business: number): readonly KeyEnds[] | null {
  if (!keysChange(world.random)) return null;
  const nowMs = world.parts.kernel.now();
  return [0, 1].map((at) => {
    const random = world.random.fork(`ends of key ${business}.${at}`);
    const end = (): number => (random.chance(0.4) ? nowMs + random.between(3_000, 20_000) : Infinity);
    return { keyUntilMs: end(), mandateUntilMs: end() };
  });
}

/** Businesses of a journal that may publish, in an order drawn from the seed; all its parties are settled at home here. */
async function resumableParties(world: World, draw: Random): Promise<readonly string[]> {
  const { before, homes } = world.parts;
  const found: string[] = [];
  for (const uuid of before.parties) {
    const facts = (node: SimNode) => node.parties.facts(uuid, "");
    const { party, certificate } = await atNode(world, homes.get(uuid) ?? "", facts);
    if (party?.kind === "business" && certificate?.status === "active") found.push(uuid);
  }
  const order = draw.fork("resumed");
  return found
    .map((uuid) => ({ uuid, place: order.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ uuid }) => uuid);
}

function drawPlan(draw: Random, regions: readonly string[]): BusinessPlan {
  // A catalogue of twenty or more listings can be held; with few products, changes collide more often.
  const isCatalogue = draw.chance(0.2);
  return {
    steps: draw.between(5, 14),
    reprices: isCatalogue && draw.chance(0.6),
    repeats: !isCatalogue && draw.chance(0.3),
    products: isCatalogue ? 24 : draw.pick([1, 2, 4, 30]),
    batchMax: isCatalogue ? 30 : draw.pick([1, 3, 6]),
    queuedLeaves: draw.chance(0.08) ? draw.pick([51, 60, 205]) : 0,
    pauseMaxMs: draw.pick([100, 800, 3_000]),
    region: regions[0] ?? "",
  };
}

/** What a node of the region answers; a node that is busy with what a journal left unfinished is asked again later. */
async function atNode<T>(world: World, region: string, ask: (node: SimNode) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask(await anyNode(world, region));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
    await pause(world, 100);
  }
}

export async function anyNode(world: World, region: string): Promise<SimNode> {
  for (;;) {
    const node = world.nodeOf(region, world.random);
    if (node !== null && !node.life.isAsleep) return node;
    await pause(world, 100);
  }
}

export function pause(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => world.parts.kernel.after(ms, "scenario waits", resolve));
}

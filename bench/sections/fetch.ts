// Fetches of distinct records against a bare server that does the work that no implementation could skip; and what the allowance
// check adds to a fetch: the same node answers with and without it, in pairs.

import type { OpenContest } from "../against.ts";
import { fetchPlan } from "../catalogue.ts";
import { compareBy, figure, type Measured, middleHalf, sidesText, takeRounds } from "../figures.ts";
import { merchantOf } from "../parties.ts";
import { captureAnswers, cpuText, loadOf, makeRequests, timeLoad } from "../requests.ts";
import { numbersTo, type OpenNode, recordIds, type World } from "../world.ts";

const connections = 64;
const capturedAnswers = 500;
/** Products that are asked for where two nodes are compared, or an allowance. */
const fewProducts = 20_000;

export async function measureFetch(world: World): Promise<readonly Measured[]> {
  await using node = await world.openNode(await world.filledHome());
  return [await measureFetchOf(world, node, numbersTo(world.products))];
}

/** Measures fetches of a node's products, which are given by their numbers. */
export async function measureFetchOf(
  world: World,
  node: OpenNode,
  products: readonly number[],
): Promise<Measured> {
  const count = world.size(7, 1);
  const plans = await fetchPlans(node, products);
  const each = Math.floor(plans.length / (count + 1));
  // The last part of the records warms both up.
  const warming = plans.slice(count * each).slice(0, capturedAnswers);
  await using floor = await world.openBareServer(node, warming);
  const load = loadOf(node, { plans, each, connections });
  const rounds = await takeRounds(count, { ours: load(node), floor: load(floor) }, 1);
  const note =
    "Ed25519 verified on the main thread and signed off it, ours in one thread, the floor on the thread pool (4); the load comes from a process of its own. " +
    `p50 ${sidesText(rounds, ({ p50Ms }) => p50Ms, 1)} ms, p99 ${sidesText(rounds, ({ p99Ms }) => p99Ms, 1)} ms; ${cpuText(rounds)}`;
  const rates = compareBy(rounds, ({ rate }) => rate);
  return figure(`distinct records, ${connections} connections`, "answers/s", rates, { atLeast: 0.7 }, note);
}

async function fetchPlans({ child, sandbox }: OpenNode, products: readonly number[]) {
  return (await recordIds(child, merchantOf(sandbox).uuid, products)).map(fetchPlan);
}

/** The same fetches of the nodes of two checkouts. */
export const contestOfFetches: OpenContest = async ({ present, other, pairs, opening }) => {
  const warmingTurns = 8;
  const each = Math.min(capturedAnswers, Math.floor(fewProducts / (pairs + warmingTurns)));
  const sideOf = async (world: World) => {
    const node = opening.use(await world.openNode(await world.filledHome(fewProducts)));
    const plans = await fetchPlans(node, numbersTo(fewProducts));
    return { node, captured: plans.slice(-each), load: loadOf(node, { plans, each, connections }) };
  };
  const ours = await sideOf(present);
  const theirs = await sideOf(other);
  const floor = opening.use(await present.openBareServer(ours.node, ours.captured));
  // As many of theirs, so that both are equally warm.
  await captureAnswers(theirs.node.baseUrl, theirs.node.caller, theirs.captured);
  return {
    name: `fetch: distinct records, ${connections} connections, ${each} in each turn`,
    warmingTurns,
    present: ours.load(ours.node),
    other: theirs.load(theirs.node),
    floor: ours.load(floor),
  };
};

export async function measureAllowance(world: World): Promise<readonly Measured[]> {
  await using node = await world.openNode(await world.filledHome(fewProducts));
  const { child, sandbox, baseUrl, caller } = node;
  const company = sandbox.ai_companies[0]?.ai_company_uuid ?? "";
  const ports = await child.call("node-surfaces.ts", "openAllowance", company);
  const pairs = world.size(60, 4);
  const each = world.size(500, 200);
  const plans = await fetchPlans(node, numbersTo(fewProducts));
  let next = 0;
  const side = (port: number) => async () => {
    const some = numbersTo(each).flatMap((at) => plans[(next + at) % plans.length] ?? []);
    next += each;
    const server = { child, target: { host: "127.0.0.1", port } };
    return await timeLoad(server, await makeRequests(baseUrl, caller, some), connections);
  };
  const warming = world.size(3, 1);
  const rounds = await takeRounds(pairs, { ours: side(ports.paid), floor: side(ports.free) }, warming);
  const paid = await child.call("node-surfaces.ts", "paidAnswers", company);
  const asked = (pairs + warming) * each;
  if (paid !== asked) throw new Error(`${paid} of ${asked} fetches were paid for`);
  const main = compareBy(rounds, ({ mainMicros }) => mainMicros);
  const note =
    `Elapsed time of a fetch while ${connections} are under way; the floor is the same node without the check. ${pairs} pairs of ${each} fetches; ` +
    `the middle half of the ratios is ${middleHalf(rounds, ({ micros }) => micros)}. Processor time of the main thread ` +
    `${main.ours.toFixed(0)} µs against ${main.floor.toFixed(0)} µs, ratio ${main.ratio.toFixed(3)}.`;
  const elapsed = compareBy(rounds, ({ micros }) => micros);
  const name = `fetch with an allowance, ${connections} connections`;
  return [figure(name, "µs", elapsed, { atMost: 1.05 }, note)];
}

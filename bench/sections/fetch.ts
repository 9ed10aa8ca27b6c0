// Fetches of distinct records against a bare server that does the work that no implementation could skip.

import { ed25519Library } from "../../crypto/ed25519.ts";
import type { OpenContest } from "../against.ts";
import { fetchPlan } from "../catalogue.ts";
import { compareBy, figure, type Measured, sidesText, takeRounds } from "../figures.ts";
import { merchantOf } from "../parties.ts";
import { captureAnswers, cpuText, loadOf } from "../requests.ts";
import { numbersTo, type OpenNode, recordIds, type World } from "../world.ts";

const connections = 64;
const capturedAnswers = 500;
/** Products that are asked for where two nodes are compared. */
const fewProducts = 20_000;

/** With libsodium where this machine has it, and with OpenSSL. */
export async function measureFetch(world: World): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  for (const isOpenssl of ed25519Library().name === "openssl" ? [false] : [false, true]) {
    await using node = await world.openNode(await world.filledHome(), isOpenssl);
    measured.push(await measureFetchOf(world, node, numbersTo(world.products), isOpenssl));
  }
  return measured;
}

/** Measures fetches of a node's products, which are given by their numbers; the floor does without libsodium where the node does. */
export async function measureFetchOf(
  world: World,
  node: OpenNode,
  products: readonly number[],
  isOpenssl = false,
): Promise<Measured> {
  const count = world.size(7, 1);
  const plans = await fetchPlans(node, products);
  const each = Math.floor(plans.length / (count + 1));
  // The last part of the records warms both up.
  const warming = plans.slice(count * each).slice(0, capturedAnswers);
  await using floor = await world.openBareServer(node, warming, isOpenssl);
  const load = loadOf(node, { plans, each, connections });
  const rounds = await takeRounds(count, { ours: load(node), floor: load(floor) }, 1);
  const library = isOpenssl ? "openssl" : ed25519Library().name;
  const place = library === "openssl" ? "on the thread pool (4)" : "there as well";
  const note =
    `Ed25519 by ${library}, verified and signed by ours in two threads, by the floor on the main thread and ${place}; the load comes from a process of its own. ` +
    `p50 ${sidesText(rounds, ({ p50Ms }) => p50Ms, 1)} ms, p99 ${sidesText(rounds, ({ p99Ms }) => p99Ms, 1)} ms; ${cpuText(rounds)}`;
  const rates = compareBy(rounds, ({ rate }) => rate);
  const name = `distinct records, ${connections} connections${isOpenssl ? ", without libsodium" : ""}`;
  return figure(name, "answers/s", rates, { atLeast: 0.75 }, note);
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

// What live updates leave behind: in the heap of the node, and in the pages that follow it.

import { setTimeout as delay } from "node:timers/promises";
import type { Browser } from "playwright-core";
import type { Figure } from "../report.ts";
import { type FollowedPage, followPage, type Held } from "./browser.ts";
import { type FilledNode, touch } from "./filled-node.ts";

/** How often the views follow, and what they show changes. An account takes 5,000 entries a month, which a run must not reach. */
const everyMs = 10;
const stirMs = 20;
const megabyte = 1_000_000;
/** A view has some kilobytes, and so has what would be left of each. Less is the noise of compilers and caches. */
const perUpdateMax = 1_000;
/** The first of them fills what is bounded: caches, compiled code, and rings of recent events. */
const stretches = 4;
const stretchMs = 15_000;
/** So long nothing changes before a reading, so that no page is in the middle of an update. */
const restMs = 1_000;

interface Reading {
  readonly node: number;
  readonly overview: Held;
  readonly actor: Held;
  readonly updates: { readonly overview: number; readonly actor: number };
}

export async function measureGrowth(filled: FilledNode, browser: Browser): Promise<readonly Figure[]> {
  const { world, node, actor } = filled;
  world.say("ops: live updates");
  await touch(filled);
  const url = await node.child.call<string>("openQuickSurface", everyMs);
  await using overview = await followPage(browser, `${url}/ui/`, "counts");
  await using one = await followPage(browser, `${url}/ui/actors/${actor}`, "actor");
  const readings: Reading[] = [];
  for (let stretch = 0; stretch < stretches; stretch += 1) {
    await touch(filled);
    await node.child.call("stirLedgers", stirMs);
    await delay(world.size(stretchMs, 2_000));
    await node.child.call("stopStirring", null);
    await delay(restMs);
    readings.push(await readAll(filled, overview, one));
  }
  return figuresOf(readings);
}

async function readAll({ node }: FilledNode, overview: FollowedPage, actor: FollowedPage): Promise<Reading> {
  return {
    node: await node.child.call<number>("heldBytes", null),
    overview: await overview.held(),
    actor: await actor.held(),
    updates: { overview: overview.updates(), actor: actor.updates() },
  };
}

function figuresOf(readings: readonly Reading[]): readonly Figure[] {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) throw new Error("nothing was read");
  const figure = (name: string, of: (reading: Reading) => number, updates: number, more = ""): Figure => ({
    ...{ section: "ops", name, unit: "B/update", ours: (of(last) - of(first)) / updates },
    ...{ floor: null, ratio: null, goal: { atMost: perUpdateMax } },
    note: `${updates.toLocaleString("en")} updates. Megabytes in use, in the order of the readings: ${readings.map((each) => (of(each) / megabyte).toFixed(2)).join(", ")}.${more}`,
  });
  const sent = (which: keyof Reading["updates"]): number => last.updates[which] - first.updates[which];
  const ofPage = (name: string, which: keyof Reading["updates"]): Figure =>
    figure(
      `growth of the heap of ${name} with live updates`,
      (reading) => reading[which].bytes,
      sent(which),
      ` Nodes of the document: ${readings.map((each) => each[which].nodes).join(", ")}; listeners: ${readings.map((each) => each[which].listeners).join(", ")}.`,
    );
  return [
    figure(
      "growth of the node's heap with live updates",
      ({ node }) => node,
      sent("overview") + sent("actor"),
      " An overview and one actor are open in Chromium, and all changes; what nobody needs is collected before each reading.",
    ),
    ofPage("the overview's page", "overview"),
    ofPage("an actor's page", "actor"),
  ];
}

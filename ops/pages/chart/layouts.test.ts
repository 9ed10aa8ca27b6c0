import { readdirSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import type { AnyStateMachine } from "xstate";
import { adCampaignMachine } from "../../../machines/ad-campaign.ts";
import { type ChartState, chartOf } from "../../../machines/chart.ts";
import { pushMachine } from "../../../machines/push.ts";
import { nodeDefinitions } from "../../../node/composition/node-actors.ts";
import { loadConfig } from "../../../node/configuration/config.ts";
import { part } from "../../../protocol/rubbish.fixture.ts";
import type { MachineChart } from "../../inspection-shapes.ts";
import type { Box, ChartLayout } from "./layout.ts";
import { createLayouts } from "./layouts.ts";

const faults: unknown[] = [];
const layouts = createLayouts((fault) => faults.push(fault));

afterAll(() => expect(faults).toEqual([]));

function machineChart(kind: string, machine: AnyStateMachine): MachineChart {
  const { root, transitions, events } = chartOf(machine);
  const flat = (state: ChartState, parent: string | null): MachineChart["states"] => {
    const { states, ...own } = state;
    return [
      { ...own, parent },
      ...states.flatMap((each) => flat(each, state.path)),
    ] as MachineChart["states"];
  };
  return {
    kind,
    part_of: null,
    version: 1,
    durability: "journal",
    states: flat(root, null),
    transitions,
    events,
  } as MachineChart;
}

/** All kinds that a node runs, as it makes them. */
const definitions = nodeDefinitions(
  part<Parameters<typeof nodeDefinitions>[0]>({
    config: loadConfig({}, {}),
    anchors: part({ log: part({ origin: "svc.test/log" }) }),
  }),
);
const machines = definitions.flatMap(({ kind, machine, parts = {} }) => [
  [kind, machine] as const,
  ...Object.entries(parts),
]);

it("are laid out for the machine of every kind of actor", () => {
  const files = readdirSync(new URL("../../../machines/", import.meta.url))
    .filter((name) => name.endsWith(".ts") && !name.includes(".test.") && name !== "chart.ts")
    .map((name) => name.replace(".ts", ""));
  expect(machines.map(([kind]) => kind).sort()).toEqual(files.sort());
});

it.each(machines)("say by name what each guard and action of %s is", (_kind, machine) => {
  const unnamed = chartOf(machine).transitions.flatMap(({ guard, actions }) =>
    [guard, ...actions].filter((name) => name === "guard" || name === "inline"),
  );
  expect(unnamed).toEqual([]);
});

const isInside = (inner: Box, outer: Box): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

it.each(machines)(
  "CL1: %s: every state is a box in its parent's, beside its siblings, and every transition a line",
  async (kind, machine) => {
    const chart = machineChart(kind, machine);
    const layout = (await layouts(chart)) as ChartLayout;
    const boxes = new Map(layout.states.map((each) => [each.path, each]));
    const page = { x: 0, y: 0, width: layout.width, height: layout.height };
    expect([...boxes.keys()].sort()).toEqual(
      chart.states
        .map(({ path }) => path)
        .filter((path) => path !== "")
        .sort(),
    );
    for (const { path, parent } of chart.states.filter((each) => each.path !== "")) {
      const box = boxes.get(path) ?? page;
      expect(isInside(box, boxes.get(parent ?? "") ?? page), path).toBe(true);
      const siblings = chart.states.filter(
        (each) => each.parent === parent && each.path !== path && each.path !== "",
      );
      for (const each of siblings)
        expect(overlap(box, boxes.get(each.path) ?? page), `${path} ${each.path}`).toBe(false);
    }
    const lines = layout.lines.map(({ from, to }) => `${from}>${to}`).sort();
    const wanted = chart.transitions.flatMap(({ from, to }) =>
      to.map((each) => `${from === "" ? "*" : from}>${each}`),
    );
    expect(lines).toEqual([...new Set(wanted)].sort());
    for (const { points } of layout.lines) expect(points.length).toBeGreaterThanOrEqual(2);
  },
  60_000,
);

it("CL2: what leaves the state as it is stands in its box, and what the whole machine takes is listed", async () => {
  const push = await layouts(machineChart("push", pushMachine));
  expect(push?.states.find(({ path }) => path === "failed")?.takes).toEqual(["chunk.indexed [isUnindexed]"]);
  const campaign = await layouts(machineChart("ad-campaign", adCampaignMachine));
  expect(campaign?.everywhere).toContain("ad.published");
  expect(campaign?.anywhere).not.toBeNull();
}, 60_000);

it("CH1: the same chart is laid out once, and another version again", async () => {
  const chart = machineChart("push", pushMachine);
  expect(await layouts(chart)).toBe(await layouts({ ...chart }));
  expect(await layouts({ ...chart, version: 2 })).not.toBe(await layouts(chart));
}, 60_000);

it("CH2: a chart that cannot be laid out is reported, and answers null", async () => {
  const found: unknown[] = [];
  const chart = machineChart("push", pushMachine);
  const broken = {
    ...chart,
    transitions: [{ ...chart.transitions[0], from: "received", to: ["no.such"] }],
  } as MachineChart;
  expect(await createLayouts((fault) => found.push(fault))(broken)).toBeNull();
  expect(found).toHaveLength(1);
}, 60_000);

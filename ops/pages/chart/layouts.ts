// The layouts of machines, each made once, in a thread of its own.
//   CH1. A layout belongs to the chart itself: another version of a machine is another chart, and is laid out again.
//   CH2. A chart that cannot be laid out is no reason not to show its actor: the page says so instead.

import { Worker } from "node:worker_threads";
import { WorkerCalls } from "../../../std/worker-calls.ts";
import type { MachineChart } from "../../inspection-shapes.ts";
import type { ChartLayout } from "./layout.ts";

export interface LayoutOrder {
  readonly id: number;
  readonly chart: MachineChart;
}

export interface LayoutAnswer {
  readonly id: number;
  readonly layout: ChartLayout | null;
  readonly fault: string | null;
}

/** Null for a chart that could not be laid out (CH2). */
export type Layouts = (chart: MachineChart) => Promise<ChartLayout | null>;

/** More machines than there are kinds of actors. */
const layoutsMax = 64;

export function createLayouts(failed: (detail: unknown) => void): Layouts {
  const calls = new WorkerCalls<LayoutOrder, LayoutAnswer>(
    "layout",
    () => new Worker(new URL("./layout-worker.ts", import.meta.url)),
    { isKept: false },
  );
  const known = new Map<string, Promise<ChartLayout | null>>();
  const make = async (chart: MachineChart): Promise<ChartLayout | null> => {
    try {
      const { layout, fault } = await calls.call((id) => ({ id, chart }));
      if (layout === null) failed(fault);
      return layout;
    } catch (error) {
      failed(error);
      return null;
    }
  };
  return (chart) => {
    const key = JSON.stringify(chart);
    const found = known.get(key) ?? make(chart);
    if (known.size >= layoutsMax) known.clear();
    known.set(key, found);
    return found;
  };
}

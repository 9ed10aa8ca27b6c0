// A node whose work is counted, with a business that may publish everything and an AI company; its paces look at the counted work,
// so that what a test sees does not depend on the machine. SVC_WORK_TABLE=1 prints what each route came to. For tests.

import fc from "fast-check";
import { expect } from "vitest";
import { newCaller, type TestCaller } from "../../api/surfaces.fixture.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { workMsMax } from "../../std/work.ts";
import { type TurnOfWork, WorkMeter } from "../../std/work-meter.fixture.ts";
import { dose } from "../../tools/test-dose.ts";
import { testSeed } from "../../tools/test-seed.ts";
import type { TestBusiness } from "../publishing/publishing.fixture.ts";
import { type AttackNode, giveMandate, newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";

export const seed = testSeed(process.env);
export const numRuns = dose(12);
/** A full dose sends hundreds of megabytes. */
export const patienceMs = 900_000;

export function check<T>(arbitrary: fc.Arbitrary<T>, body: (value: T) => Promise<void>, runs = numRuns) {
  return fc.assert(fc.asyncProperty(arbitrary, body), { seed, numRuns: runs, endOnFailure: true });
}

export interface MeasuredNode extends AsyncDisposable {
  readonly node: AttackNode;
  readonly company: TestCaller;
  readonly publisher: TestBusiness;
  /** Does what a caller does, whose own work is done before, and looks at the work of the node alone. */
  measure<T>(route: string, run: () => Promise<T>): Promise<T>;
}

export async function openMeasuredNode(): Promise<MeasuredNode> {
  const meter = new WorkMeter(setImmediate, () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  });
  const came = new Map<string, { longest: TurnOfWork; dearest: TurnOfWork }>();
  const node = await openAttackNode({ workMs: meter.nowMs });
  const { grant } = node.running.services.keys;
  const company = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-00000000000a");
  return {
    node,
    company,
    publisher: await mandated(node),
    measure: async (route, run) => {
      await new Promise((resolve) => setImmediate(resolve));
      meter.take();
      const result = await run();
      const { longest, dearest } = meter.take();
      const before = came.get(route) ?? { longest, dearest };
      came.set(route, {
        longest: longest.ms > before.longest.ms ? longest : before.longest,
        dearest: dearest.cpuMs > before.dearest.cpuMs ? dearest : before.dearest,
      });
      expect(longest.ms, `${route} did ${JSON.stringify(longest.counts)} at a stretch`).toBeLessThan(
        workMsMax,
      );
      return result;
    },
    [Symbol.asyncDispose]: async () => {
      if (process.env["SVC_WORK_TABLE"] !== undefined) console.log(tableOf(came));
      await node.close();
      meter[Symbol.dispose]();
    },
  };
}

function tableOf(came: ReadonlyMap<string, { longest: TurnOfWork; dearest: TurnOfWork }>): string {
  const line = ({ ms, cpuMs, counts }: TurnOfWork): string =>
    `${ms.toFixed(1)} ms of work in ${cpuMs.toFixed(1)} ms: ${JSON.stringify(counts)}`;
  return [...came]
    .map(([name, { longest, dearest }]) => `${name}\n  ${line(longest)}\n  ${line(dearest)}`)
    .join("\n");
}

async function mandated(node: AttackNode): Promise<TestBusiness> {
  const business = await newBusiness(node);
  const caps = { records_per_hour: 100_000_000, bytes_per_day: 100_000_000_000 };
  const scope = { record_types: collectionNames, countries: [...countries.codes], caps };
  await giveMandate(node, business, { scope });
  return business;
}

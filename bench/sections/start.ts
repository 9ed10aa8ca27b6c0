// Time from the start of the program to its first answer, against Node itself. Reported only.

import { freePorts, surfacePorts } from "../../tools/free-ports.ts";
import { startProcess } from "../../tools/process.ts";
import { sendOne } from "../load.ts";
import type { Figure } from "../report.ts";
import { compare, takeRounds } from "../rounds.ts";
import type { World } from "../world.ts";

const host = "127.0.0.1";
const pollMs = 5;
const patienceMs = 300_000;

export async function measureStart(world: World): Promise<readonly Figure[]> {
  world.say("start");
  const prepared = await world.seededHome();
  const cases = [
    { name: "first answer, prepared home", home: () => prepared },
    { name: "first answer, empty home", home: () => world.path("empty") },
  ];
  const figures: Figure[] = [];
  for (const each of cases) figures.push(await measureStartOf({ ...each, rounds: world.size(5, 1) }));
  return figures;
}

/** Measures starts with a home, which may be a different one each time. */
export async function measureStartOf({ name, home, rounds }: StartCase): Promise<Figure> {
  return {
    section: "start",
    name,
    unit: "ms",
    ...compare(await takeRounds(rounds, { ours: () => firstAnswerMs(home()), floor: bareStartMs })),
    goal: null,
    note: "`svc start` until GET /healthz answers, against `node -e 0` from start to end.",
  };
}

interface StartCase {
  readonly name: string;
  readonly home: () => string;
  readonly rounds: number;
}

async function firstAnswerMs(home: string): Promise<number> {
  const portBase = await freePorts(surfacePorts);
  const startedMs = performance.now();
  const started = startProcess(process.execPath, [
    ...["cli/main.ts", "start", "--home", home, "--port-base", String(portBase)],
  ]);
  try {
    const request = Buffer.from(
      `GET /healthz HTTP/1.1\r\nhost: ${host}:${portBase + 4}\r\nconnection: close\r\n\r\n`,
    );
    while (performance.now() - startedMs < patienceMs) {
      const answer = await sendOne({ host, port: portBase + 4 }, request).catch(() => null);
      if (answer?.status === 200) return performance.now() - startedMs;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    throw new Error("the node did not answer");
  } finally {
    started.signal("SIGTERM");
    await started.ended;
  }
}

async function bareStartMs(): Promise<number> {
  const startedMs = performance.now();
  await startProcess(process.execPath, ["-e", "0"]).ended;
  return performance.now() - startedMs;
}

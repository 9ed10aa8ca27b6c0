// A worker thread that hunts one mutant after another, as mutation-run.ts assigns them.

import { parentPort } from "node:worker_threads";
import { type HuntAnswer, type HuntOrder, hunt } from "./hunt.ts";
import { mutantNamed } from "./list.ts";

const progressMs = 10_000;

const answer = (message: HuntAnswer): void => parentPort?.postMessage(message);

parentPort?.on("message", async ({ name, ...order }: HuntOrder) => {
  let told = Date.now();
  const progress = (seeds: number): void => {
    if (Date.now() - told < progressMs) return;
    told = Date.now();
    answer({ name, underWay: seeds });
  };
  answer({ name, caught: await hunt(mutantNamed(name), { ...order, progress }) });
});

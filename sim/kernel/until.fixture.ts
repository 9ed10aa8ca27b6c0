// Waits for what a simulated port answers. For tests.

import type { Kernel } from "./kernel.ts";

/** Lets the world go on until the promise has settled and `isRipe`; returns or throws what it settled with. */
export async function until<T>(
  kernel: Kernel,
  promise: Promise<T>,
  isRipe: () => boolean = () => true,
): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  await kernel.run(() => isSettled && isRipe());
  return await settled;
}

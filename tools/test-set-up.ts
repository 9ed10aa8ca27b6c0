// Loaded before every test file: properties start with the seed of the run (test-seed.ts), and what the file costs is noted
// for the list of the dearest files, where the run asks for it (test-costs.ts).

import fc from "fast-check";
import { afterAll, expect, vi } from "vitest";
import { noteCost } from "./test-costs.ts";
import { testSeed } from "./test-seed.ts";

fc.configureGlobal({ seed: testSeed(process.env) });
afterAll(() => noteCost(expect.getState().testPath ?? "no file"));

// What a test waits for comes late on a machine without processor time; as in vitest.config.ts for what is polled.
const waitMaxMs = 60_000;
const { waitFor } = vi;
vi.waitFor = (callback, options) => waitFor(callback, options ?? waitMaxMs);

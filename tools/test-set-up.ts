// Loaded before every test file: properties start with the seed of the run, see test-seed.ts.

import fc from "fast-check";
import { testSeed } from "./test-seed.ts";

fc.configureGlobal({ seed: testSeed(process.env) });

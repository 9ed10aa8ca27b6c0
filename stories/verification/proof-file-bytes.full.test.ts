// Every byte of a proof file counts: with any one of them changed, the file is refused.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { telling, unnoticedChanges } from "../../tools/changed-bytes.ts";
import { seededRandom } from "../../tools/seeded-random.ts";
import { testSeed } from "../../tools/test-seed.ts";
import { type AttackNode, openAttackNode } from "../retrieval/attack.fixture.ts";
import { proofsOf, serveRecord } from "./proof-file.fixture.ts";

let node: AttackNode;
let file: Uint8Array;

beforeAll(async () => {
  vi.stubEnv("SVC_LOG_INTERVAL_SECONDS", "0");
  node = await openAttackNode({}, { samples: true });
  vi.unstubAllEnvs();
  file = new TextEncoder().encode(await proofsOf(await serveRecord(node)));
}, 120_000);
afterAll(() => node.close());

it("is refused with any one byte changed", async () => {
  const { anchors } = node.running.services;
  const { verify, sha256 } = nativeCrypto;
  const places = [...telling(file, { spacing: 8, random: seededRandom(testSeed(process.env)) })];
  const found = await unnoticedChanges(
    { anchors, file, places, verify, sha256 },
    () => new Promise((resolve) => setImmediate(resolve)),
  );
  expect(file.length).toBeGreaterThan(10_000);
  expect(places.length).toBeGreaterThan(file.length / 10);
  expect(found).toEqual({ changed: places.length, believed: [] });
}, 600_000);

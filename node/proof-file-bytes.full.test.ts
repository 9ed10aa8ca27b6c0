// Every byte of a proof file counts: with any one of them changed, the file is refused.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { nativeCrypto } from "../crypto/native.ts";
import { unnoticedChanges } from "../tools/changed-bytes.ts";
import { type AttackNode, openAttackNode } from "./attack.fixture.ts";
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
  const all = { anchors, file, first: 0, step: 1, verify, sha256 };
  const found = await unnoticedChanges(all, () => new Promise((resolve) => setImmediate(resolve)));
  expect(file.length).toBeGreaterThan(10_000);
  expect(found).toEqual({ changed: file.length, believed: [] });
}, 1_800_000);

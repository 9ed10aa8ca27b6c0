// The libraries accept what is genuine, as the benchmark gives it to them; without a registry that is skipped by name.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { withoutJudge } from "../../tools/virtual-environment.fixture.ts";
import { verifyBundle, verifyRequests } from "./libraries.ts";
import { installIn } from "./peer.ts";

const packages = await mkdtemp(join(tmpdir(), "svc-peers-"));
afterAll(() => rm(packages, { recursive: true }));
// The servers are optional packages, and large.
const isThere = await installIn(packages, ["--omit=optional"]).then(
  () => true,
  (error: unknown) => withoutJudge(`The peers cannot be installed: ${String(error)}`) ?? false,
);

describe.skipIf(!isThere)("the libraries beside which the benchmark measures", () => {
  it.each(["ours", "http-message-signatures", "http-message-sig"] as const)(
    "verify a signed request: %s",
    async (by) => {
      expect(await verifyRequests({ packages, by, count: 5 })).toHaveProperty("elapsedMs");
    },
  );

  it("verify a bundle whose path is as long as asked for", async () => {
    for (const pathLength of [0, 7])
      expect(await verifyBundle({ packages, recordBytes: 600, pathLength, count: 2 })).toHaveProperty("cpu");
  });
});

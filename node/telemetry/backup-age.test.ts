import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { backupReadings } from "./disk.ts";

it("is that of the newest backup that was noted, or of the home while there is none", async () => {
  const home = await mkdtemp(join(tmpdir(), "svc-backup-"));
  try {
    const nowMs = Date.now();
    const ageAt = async (ms: number) => (await backupReadings(home, ms))[0]?.value;
    expect(await ageAt(nowMs + 90_000_000)).toBeCloseTo(90_000, -1);
    await writeFile(join(home, "last-backup"), "");
    await utimes(join(home, "last-backup"), nowMs / 1_000, nowMs / 1_000 - 3_600);
    expect(await ageAt(nowMs)).toBeCloseTo(3_600, 0);
  } finally {
    await rm(home, { recursive: true });
  }
});

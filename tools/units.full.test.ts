// The systemd units in deploy/, judged by systemd itself.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "./process.ts";

/** What `systemd-analyze security` may say at most, in tenths: a protection that is left out makes it more. */
const exposures: Readonly<Record<string, number>> = { "svc-issuance.service": 6, "svc-node.service": 13 };
const units = Object.keys(exposures);
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!hasSystemd && process.env["CI"] !== undefined) throw new Error("systemd-analyze is not installed");
if (!hasSystemd)
  console.warn("SKIPPED: the systemd units, which systemd-analyze judges and which is not installed");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-units-"));
  for (const unit of units) writeFileSync(join(folder, unit), installedHere(unit));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The unit with this checkout in the place of the installed program. */
function installedHere(unit: string): string {
  return readFileSync(join(root, "deploy", unit), "utf8").replaceAll("/opt/svc/current", root);
}

function analyze(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  return { status, said: `${stdout}${stderr}` };
}

function exposure(path: string, unit: string) {
  const threshold = `--threshold=${exposures[unit]}`;
  return analyze(["security", "--offline=true", threshold, path]);
}

describe.skipIf(!hasSystemd)("the systemd units", () => {
  it("are all of deploy/", () => {
    const found = readdirSync(join(root, "deploy")).filter((name) => name.endsWith(".service"));
    expect(found.sort()).toEqual(units);
  });

  it.each(units)("%s: systemd knows every line", (unit) => {
    expect(analyze(["verify", "--man=no", join(folder, unit)])).toEqual({ status: 0, said: "" });
  });

  it.each(units)("%s exposes no more than it must", (unit) => {
    const { status, said } = exposure(join(folder, unit), unit);
    expect(said).toMatch(/Overall exposure level/);
    expect(status).toBe(0);
  });

  it.each(units)("%s: each protection counts", (unit) => {
    const changed = join(folder, `less-${unit}`);
    for (const line of ["NoNewPrivileges=true", "ProtectSystem=strict", "CapabilityBoundingSet="]) {
      writeFileSync(changed, installedHere(unit).replace(`\n${line}\n`, "\n"));
      expect([line, exposure(changed, unit).status]).not.toEqual([line, 0]);
    }
  });

  it.each(units)("%s starts what is in the program", (unit) => {
    const [, node = "", program = "", ...args] =
      /^ExecStart=(\S+) (\S+) (.*)$/m.exec(installedHere(unit)) ?? [];
    const command = (args[0] ?? "").split(" ");
    const words = command.filter((word, at) => !word.startsWith("-") && !command[at - 1]?.startsWith("-"));
    const help = spawnSync(node, [program, "help", ...words], { encoding: "utf8" });
    expect(help.status).toBe(0);
    for (const option of command.filter((word) => word.startsWith("--")))
      expect(help.stdout).toContain(option);
  });
});

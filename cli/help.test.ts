import { expect, it } from "vitest";
import { programHelp } from "./help.ts";
import { logAudit } from "./log-audit.ts";
import { holdCommands } from "./publishing/hold.ts";
import { search } from "./search.ts";

it("the help of the program names every command, by itself or by its group", () => {
  const commands = [search, logAudit, ...holdCommands];
  const lines = programHelp(commands).join("\n");
  for (const { name } of commands)
    expect(lines).toMatch(new RegExp(`^ {2}${name.replace(/^hold .*/, "hold ")}`, "m"));
  expect(lines).not.toContain("hold confirm ");
  expect(programHelp(commands, "hold").join("\n")).toContain("hold confirm");
});

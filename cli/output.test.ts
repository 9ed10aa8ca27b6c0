import { describe, expect, it } from "vitest";
import { SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import type { PushEvent } from "../client/push-run.ts";
import { JoinRefused } from "../cluster/admission.ts";
import { exitCodes, UsageError } from "./command.ts";
import { failureOf } from "./failure.ts";
import { unknownCommand } from "./help.ts";
import { formatFaults, shownFaults } from "./publishing/push-faults.ts";
import { createPushProgress } from "./publishing/push-progress.ts";
import { createTerminal, cut, formatTable, visible } from "./terminal.ts";

function capture(isTTY: boolean, columns: number) {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  const stream = { isTTY, columns, write };
  return { stream, text: () => text };
}

function terminalOf(isTTY: boolean, plain = false, columns = 60) {
  const [stdout, stderr] = [capture(isTTY, columns), capture(isTTY, columns)];
  return { terminal: createTerminal(stdout.stream, stderr.stream, { plain }), stdout, stderr };
}

const counts = { accepted: 150, updated: 40, rejected: 10, held: 0, pending: 50 };
const events: readonly PushEvent[] = [
  { type: "push.opened", records: 500, batches: 2, settled_batches: 0, settled_records: 0 },
  { type: "batch.sealed", batch: 0, push_id: "bat_1", seq: 1, sealed_again: false },
  { type: "batch.sent", batch: 0, push_id: "bat_1", records: 250 },
  { type: "batch.progress", batch: 0, push_id: "bat_1", settled: 200, records: 250, counts },
  { type: "waiting", seconds: 2, reason: "cannot be reached" },
];

describe("the terminal", () => {
  it("has neither colours nor a status line where nobody watches", () => {
    const { terminal, stdout, stderr } = terminalOf(false);
    terminal.status("50 %");
    terminal.print(terminal.bold(terminal.good("done")));
    expect(stdout.text()).toBe("done\n");
    expect(stderr.text()).toBe("");
  });

  it("clears the status line before it says anything else", () => {
    const { terminal, stderr } = terminalOf(true);
    terminal.status("half");
    terminal.note("said");
    expect(stderr.text()).toBe("\r\u001b[2Khalf\r\u001b[2Ksaid\n");
    terminal.note(terminal.bold("x"));
    expect(stderr.text().endsWith("\u001b[1mx\u001b[22m\n")).toBe(true);
    expect(terminalOf(true, true).terminal.bold("x")).toBe("x");
  });

  it("does not let a served text steer it", () => {
    expect(visible("a\u001b[31mb\u202ec\u0007")).toBe("a [31mb c ");
  });

  it("lets nothing steer it that is not its own, whoever says it", () => {
    const { terminal, stdout, stderr } = terminalOf(true);
    const hostile = "\u001b]0;owned\u0007\u001b[2J\u009b31mx\u001b[1my";
    terminal.print(`${terminal.good("ok")} ${hostile}`);
    terminal.note(hostile);
    terminal.status(hostile);
    expect(stdout.text()).toBe("\u001b[32mok\u001b[39m  ]0;owned  [2J 31mx [1my\n");
    expect(stderr.text().replaceAll("\r\u001b[2K", "|")).toBe(
      " ]0;owned  [2J 31mx [1my\n| ]0;owned  [2J 31mx [1my",
    );
    terminal.print(terminal.bad("a\u001b[32mb"));
    expect(stdout.text().endsWith("\u001b[31ma [32mb\u001b[39m\n")).toBe(true);
  });

  it("has the width of a screen, and no end where its output goes elsewhere", () => {
    expect(terminalOf(true).terminal.columns).toBe(60);
    const { columns } = terminalOf(false).terminal;
    const long = "x".repeat(500);
    expect(formatTable(["A", "B"], [["1", long]], columns)[1]).toBe(`1  ${long}`);
  });

  it("aligns columns and cuts the last one", () => {
    const lines = formatTable(
      ["ID", "NAME"],
      [
        ["1", "é".repeat(40)],
        ["22", "b"],
      ],
      20,
    );
    expect(lines).toEqual(["ID  NAME", `1   ${"é".repeat(15)}…`, "22  b"]);
    expect(cut("abc", 3)).toBe("abc");
  });
});

describe("the progress of a push", () => {
  it("is a bar for somebody who watches", () => {
    const { terminal, stderr } = terminalOf(true, false, 120);
    const times = [0];
    const progress = createPushProgress(terminal, "people", () => times.pop() ?? 2_500);
    for (const event of events) progress(event);
    expect(stderr.text()).toContain(
      "[##########--------------] 200 of 500  190 published, 10 rejected  80/s, 4 s left  batch 1 of 2",
    );
  });

  it("is plain lines otherwise, and NDJSON for a program", () => {
    const plain = terminalOf(false);
    const json = terminalOf(false);
    for (const event of events) createPushProgress(plain.terminal, "people", () => 0)(event);
    const progress = createPushProgress(json.terminal, "json", () => 0);
    for (const event of events) progress(event);
    expect(plain.stderr.text()).not.toContain("\r");
    expect(plain.stderr.text()).toContain("Waiting 2 s: cannot be reached");
    expect(
      json.stdout
        .text()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(events);
  });
});

describe("faults", () => {
  const error = (code: string, pointer: string) => ({ code, pointer, detail: "Must be a string." });

  it("are put together by kind and place, with the lines of the input", () => {
    const lines = formatFaults(
      [
        ...Array.from({ length: 10 }, (_, index) => ({
          place: index + 2,
          errors: [error("money_not_string", `/prices/${index}/amount`)],
        })),
        {
          place: 40,
          errors: [error("member_missing", "/brand"), error("money_not_string", "/prices/0/amount")],
        },
      ],
      "line",
    );
    expect(lines).toEqual([
      "money_not_string at /prices/*/amount: Must be a string.",
      "  lines 2, 3, 4, 5, 6, 7, 8, 9 and 3 more",
      "member_missing at /brand: Must be a string.",
      "  line 40",
    ]);
  });

  it("show the value that is wrong", () => {
    const bytes = new TextEncoder().encode(
      '{"business_product_id":"1","prices":[{"amount":"1,50"}],"tags":[]}',
    );
    const { id, errors } = shownFaults(bytes, [
      error("value_invalid", "/prices/0/amount"),
      error("member_missing", "/brand"),
    ]);
    expect([id, ...errors.map(({ value }) => value)]).toEqual(["1", "1,50", null]);
    expect(formatFaults([{ place: 3, errors }], "line")).toEqual([
      "value_invalid at /prices/*/amount: Must be a string.",
      '  line 3, such as "1,50"',
      "member_missing at /brand: Must be a string.",
      "  line 3",
    ]);
  });

  it("say what was meant, each wrong name for itself", () => {
    const category = (suggestion: string) => ({ ...error("category_unknown", "/category"), suggestion });
    const lines = formatFaults(
      [
        { place: 1, errors: [category("rings")] },
        { place: 2, errors: [category("rings")] },
        { place: 3, errors: [category("chains")] },
      ],
      "line",
    );
    expect(lines).toEqual([
      "category_unknown at /category: Must be a string. Did you mean rings?",
      "  lines 1, 2",
      "category_unknown at /category: Must be a string. Did you mean chains?",
      "  line 3",
    ]);
  });
});

describe("help", () => {
  const names = ["push", "pushes", "search", "hold list", "hold confirm"];
  it.each([
    ["psuh", "push"],
    ["serach", "search"],
    ["hold confrim", "hold confirm"],
    ["hodl", "hold"],
  ])("finds what was meant by %s", (wrong, meant) => {
    expect(unknownCommand(wrong, names)).toBe(
      `There is no command "${wrong}". Did you mean svc ${meant}? See: svc help`,
    );
  });

  it("guesses nothing where no name is near", () => {
    expect(unknownCommand("publish-everything", names)).toBe(
      'There is no command "publish-everything". See: svc help',
    );
    expect(unknownCommand("hold xxxxxxxx", names)).toBe(
      'There is no command "hold xxxxxxxx". See: svc help hold',
    );
  });
});

describe("a failure", () => {
  const problem = (
    status: number,
    code: string,
    retryAfterSeconds: number | null = null,
    clockAheadSeconds: number | null = null,
  ) =>
    new SvcProblemError({
      status,
      code,
      detail: "No.",
      retryAfterSeconds,
      clockAheadSeconds,
      problem: {
        suggestion: "brand",
        pointer: "/filter",
        allowed: Array.from({ length: 31 }, (_, at) => `f${at}`),
      },
    });

  it("says what to do, and ends with the code for it", () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(failureOf(full)).toEqual({
      lines: [
        "There is no room for a file of this command (ENOSPC: no space left on device, write). Make room and run it again.",
      ],
      code: exitCodes.unavailable,
    });
    expect(failureOf(new UsageError("x"))).toEqual({ lines: ["x"], code: exitCodes.usage });
    expect(failureOf(problem(422, "unknown_field"))).toMatchObject({ code: exitCodes.refused });
    expect(failureOf(problem(422, "unknown_field"))?.lines.join("\n")).toContain("Did you mean brand?");
    expect(failureOf(problem(422, "unknown_field"))?.lines.join("\n")).toMatch(
      /Allowed: f0, f1, .*, f29, …$/,
    );
    expect(failureOf(problem(429, "rate_limited", 7))).toMatchObject({ code: exitCodes.unavailable });
    expect(failureOf(problem(429, "rate_limited", 7))?.lines.at(-1)).toBe("Try again in 7 s.");
    for (const [ahead, said] of [
      [240, "This machine's clock is 240 s ahead of the service's: set it, and run this again."],
      [-600, "This machine's clock is 600 s behind the service's: set it, and run this again."],
      [2, "Check that this machine's clock is right."],
      [null, "Check that this machine's clock is right."],
    ] as const)
      expect(failureOf(problem(401, "signature_expired", null, ahead))?.lines.at(-1)).toBe(said);
    const away = new SvcConnectionError("away", { effect: "not_applied", cause: null });
    expect(failureOf(away)).toMatchObject({ code: exitCodes.unavailable });
    const refused = new JoinRefused("clock_off", "set the clock");
    expect(failureOf(refused)).toEqual({ lines: ["set the clock"], code: exitCodes.usage });
    expect(failureOf(new TypeError("a bug"))).toBeNull();
  });
});

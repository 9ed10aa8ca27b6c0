// What a failed command prints, and its exit code.

import { SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { ConfigError } from "../node/configuration/config-error.ts";
import { type ExitCode, exitCodes, UsageError } from "./command.ts";
import { visible } from "./terminal.ts";

export interface Failure {
  readonly lines: readonly string[];
  readonly code: ExitCode;
  /** What the service answered, if it refused. */
  readonly problem?: unknown;
}

/** The last line of a command with `--json` that failed. */
export function failureJson({ lines, code, problem }: Failure): string {
  const message = lines.join("\n");
  return JSON.stringify({
    type: "failed",
    exit_code: code,
    message,
    ...(problem === undefined ? {} : { problem }),
  });
}

/** The failure to report, or null for a bug, which is shown with its stack. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof UsageError || error instanceof ConfigError || isRefusedStart(error)) {
    return { lines: [error.message], code: exitCodes.usage };
  }
  if (error instanceof SvcConnectionError) {
    const again = error.effect === "unknown" ? "It may have been served. " : "";
    return {
      lines: [`${error.message} ${again}Is it running? Try again later.`],
      code: exitCodes.unavailable,
    };
  }
  if (isFullDisk(error))
    return {
      lines: [`There is no room for a file of this command (${error.message}). Make room and run it again.`],
      code: exitCodes.unavailable,
    };
  return error instanceof SvcProblemError ? problemFailure(error) : null;
}

function isFullDisk(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT"].includes(String(error.code));
}

const refusedStarts = ["KeyStoreError", "JoinRefused", "StoreFileRefused", "SchemaTooNew"];

/** Thrown when a node fails to start: the message names the file, or why the cluster refuses the node, and what to do. */
function isRefusedStart(error: unknown): error is Error {
  return error instanceof Error && refusedStarts.includes(error.name);
}

/** Advice for some codes, in addition to the service's own message. */
const advice: Readonly<Record<string, string>> = {
  key_unknown:
    "The key is not registered here, or was revoked. If this is a sandbox, it may have been recreated: its current keys are in sandbox.json.",
  mandate_missing: "Ask an owner or admin of the business to seal a mandate for this key.",
  source_not_allowed: "Send from an address that the mandate allows.",
  sort_required:
    "Name an order with --sort, for example --sort _text_match:desc or --sort published_at:desc.",
};

const allowedMax = 30;

function problemFailure(error: SvcProblemError): Failure {
  const { problem, retryAfterSeconds } = error;
  const said = visible(error.detail || error.code);
  const lines = [`The service refused: ${said} (${error.status} ${visible(error.code)})`];
  const { pointer, suggestion, allowed, errors } = problem;
  if (typeof pointer === "string" && pointer !== "") lines.push(`  at ${visible(pointer)}`);
  if (typeof suggestion === "string" && !error.detail.includes(suggestion))
    lines.push(`  Did you mean ${visible(suggestion)}?`);
  if (Array.isArray(allowed) && allowed.every((each) => typeof each === "string"))
    lines.push(
      `  Allowed: ${visible(allowed.slice(0, allowedMax).join(", "))}${allowed.length > allowedMax ? ", …" : ""}`,
    );
  if (Array.isArray(errors)) lines.push(...errors.slice(0, 10).map((each) => `  ${faultLine(each)}`));
  const help = advice[error.code];
  if (help !== undefined) lines.push(help);
  const clock = clockAdvice(error);
  if (clock !== null) lines.push(clock);
  if (retryAfterSeconds !== null) lines.push(`Try again in ${retryAfterSeconds} s.`);
  const isPassing = [429, 502, 503, 504].includes(error.status);
  return { lines, code: isPassing ? exitCodes.unavailable : exitCodes.refused, problem };
}

/** What is signed and sealed says when, so a clock that is wrong is refused. */
const timed = ["signature_expired", "seal_invalid"];
const clockAheadSecondsMax = 30;

function clockAdvice({ code, clockAheadSeconds }: SvcProblemError): string | null {
  if (!timed.includes(code)) return null;
  const off = Math.abs(clockAheadSeconds ?? 0);
  if (clockAheadSeconds === null || off <= clockAheadSecondsMax)
    return code === "signature_expired" ? "Check that this machine's clock is right." : null;
  return `This machine's clock is ${off} s ${clockAheadSeconds > 0 ? "ahead of" : "behind"} the service's: set it, and run this again.`;
}

function faultLine(fault: unknown): string {
  const { code, pointer, detail } = (fault ?? {}) as { code?: unknown; pointer?: unknown; detail?: unknown };
  return visible(
    [code, pointer, detail].filter((part) => typeof part === "string" && part !== "").join("  "),
  );
}

/** Null for what the service does not have, or does not show to this caller. */
export async function ifThere<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SvcProblemError && error.status === 404) return null;
    throw error;
  }
}

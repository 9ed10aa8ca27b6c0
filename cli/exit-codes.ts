// The program's exit codes. Documented in docs/svc.md.

export const exitCodes = {
  done: 0,
  /** The answer was negative: invalid evidence, no such record, rejected or held records. */
  negative: 1,
  /** The arguments are wrong, or a file cannot be read as what it should be. Nothing was sent. */
  usage: 2,
  /** The service refused the request. */
  refused: 3,
  /** The service is unreachable or asks for a later retry; the same command may be run again. */
  unavailable: 4,
  /** Ctrl-C (128 + SIGINT), by convention. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with `usage`: the message says what is wrong and what would be accepted. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

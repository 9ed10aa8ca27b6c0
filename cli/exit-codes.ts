// How the program ends. Documented in docs/svc.md.

export const exitCodes = {
  done: 0,
  /** The question was answered with no: invalid evidence, no such record, rejected or held records. */
  negative: 1,
  /** Wrong arguments, or a file that cannot be read as what it should be. Nothing was sent. */
  usage: 2,
  /** The service refused the request. */
  refused: 3,
  /** The service is away or asks to come back later; the same command may be run again. */
  unavailable: 4,
  /** Ctrl-C (128 + SIGINT), by convention. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with `usage`: says what is wrong and what would do. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

// Where a command writes. Results go to standard output, everything else to standard error.

import { styleText } from "node:util";

export interface Terminal {
  /** Writes a line of the result. */
  print(line: string): void;
  /** Writes text of the result unchanged. */
  write(text: string): void;
  /** Writes a line about the progress of the command. */
  note(line: string): void;
  /** Replaces the status line; does nothing unless a person watches. */
  status(line: string): void;
  /** Whether standard output is a screen. */
  readonly isScreen: boolean;
  /** Whether standard error is a screen. */
  readonly isWatched: boolean;
  /** Of standard output; unlimited where it is no screen, since a file or program wants the whole text. */
  readonly columns: number;
  bold(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  dim(text: string): string;
}

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const defaultColumns = 100;
const clearLine = "\r\u001b[2K";

/** `plain` (the NO_COLOR convention) disables colours on a screen as well. */
export function createTerminal(
  stdout: Stream,
  stderr: Stream,
  options: { readonly plain: boolean },
): Terminal {
  const isScreen = stdout.isTTY === true;
  const isWatched = stderr.isTTY === true;
  const coloured = isScreen && !options.plain;
  let statusShown = false;
  const clearStatus = (): void => {
    if (statusShown) stderr.write(clearLine);
    statusShown = false;
  };
  // Stands for the escape of a style until the line is written, by when every other escape is gone: nobody else can know it.
  const own = crypto.randomUUID();
  const style =
    (format: "bold" | "green" | "red" | "dim") =>
    (text: string): string =>
      // Whether the target stream is a screen was determined above.
      coloured
        ? styleText(format, harmless(text), { validateStream: false }).replaceAll("\u001b", own)
        : text;
  const written = (line: string): string => `${harmless(line).replaceAll(own, "\u001b")}\n`;
  const width = stdout.columns ?? stderr.columns ?? defaultColumns;
  return {
    isScreen,
    isWatched,
    columns: isScreen ? width : Number.POSITIVE_INFINITY,
    print: (line) => {
      clearStatus();
      stdout.write(written(line));
    },
    write: (text) => {
      clearStatus();
      stdout.write(text);
    },
    note: (line) => {
      clearStatus();
      stderr.write(written(line));
    },
    status: (line) => {
      if (!isWatched) return;
      stderr.write(`${clearLine}${visible(line).slice(0, width - 1)}`);
      statusShown = true;
    },
    bold: style("bold"),
    good: style("green"),
    bad: style("red"),
    dim: style("dim"),
  };
}

// Control characters: served text must not be able to control the terminal that shows it.
const controls = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Messages may contain text from a service: none of it may control the terminal. Lines and columns of one remain. */
function harmless(text: string): string {
  return text.replaceAll(controls, (found) => (found === "\n" || found === "\t" ? found : " "));
}

/** Makes served text safe for a terminal: control and direction characters become spaces. */
export function visible(text: string): string {
  return text.replaceAll(controls, " ");
}

/** Truncates to `width` characters and marks the cut. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** Formats aligned columns; the last one is truncated to the width of the screen. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): readonly string[] {
  const widths = header.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => [...(row[at] ?? "")].length)),
  );
  const last = header.length - 1;
  const room = columns - widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0);
  return [header, ...rows].map((row) =>
    row
      .map((cell, at) =>
        at === last ? cut(cell, Math.max(10, room)) : cell + " ".repeat((widths[at] ?? 0) - [...cell].length),
      )
      .join("  ")
      .trimEnd(),
  );
}

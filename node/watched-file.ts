// A file of the operator's that a running node reads again when it changes.
//   W1. What is in force is replaced at once and as a whole, by a file that was read without a fault. A file with a fault, or
//       that is gone, changes nothing, is reported once, and is counted until a good one takes its place.
//   W2. A changed file is read only after it has stayed the same from one look to the next, and what was read counts only if
//       it stayed the same meanwhile: a file that is being written is not taken for a whole one. Replacing it by a rename is
//       best all the same.
//   W3. Looking is by name, size, times and inode, so it works on every file system and follows links that are exchanged.

import { stat } from "node:fs/promises";
import type { LogEntry } from "../actors/system/ports.ts";

export interface WatchedFileOptions<T> {
  readonly setting: string;
  readonly path: string;
  /** Reads the file; rejects with an error that says what is wrong with it. */
  readonly load: (path: string) => Promise<T>;
  /** One line about what is in force, for the log. */
  readonly describe: (value: T) => string;
  readonly log: (entry: LogEntry) => void;
}

export class WatchedFile<T> {
  readonly #options: WatchedFileOptions<T>;
  #value: T;
  /** The state of the file whose content is in force, or that was refused. */
  #judged: string;
  /** The state at the previous look. */
  #seen: string;
  #fault: string | null = null;
  #reloads = 0;

  private constructor(options: WatchedFileOptions<T>, value: T, state: string) {
    this.#options = options;
    this.#value = value;
    this.#judged = state;
    this.#seen = state;
  }

  /** Reads the file for the first time; rejects if that fails. */
  static async open<T>(options: WatchedFileOptions<T>): Promise<WatchedFile<T>> {
    const state = await stateOf(options.path);
    return new WatchedFile(options, await options.load(options.path), state);
  }

  get value(): T {
    return this.#value;
  }

  /** What is wrong with the newest file, which is therefore not in force; null if nothing is. */
  get fault(): string | null {
    return this.#fault;
  }

  /** How often a newer file came into force. */
  get reloads(): number {
    return this.#reloads;
  }

  /** Takes over a newer file (W1, W2). Never throws. */
  async look(): Promise<void> {
    const { path, load } = this.#options;
    const state = await stateOf(path);
    const isSettled = state === this.#seen;
    this.#seen = state;
    if (!isSettled || state === this.#judged) return;
    try {
      const value = await load(path);
      if ((await stateOf(path)) === state) this.#adopt(value, state);
    } catch (error) {
      this.#judged = state;
      this.#fault = error instanceof Error ? error.message : String(error);
      this.#note("error", "lists.not_reloaded", this.#fault);
    }
  }

  #adopt(value: T, state: string): void {
    this.#value = value;
    this.#judged = state;
    this.#fault = null;
    this.#reloads += 1;
    this.#note("info", "lists.reloaded", `${this.#options.setting}: ${this.#options.describe(value)}`);
  }

  #note(level: LogEntry["level"], event: string, detail: string): void {
    this.#options.log({ level, event, actor: "", detail });
  }
}

async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join("/");
  } catch {
    return "gone";
  }
}

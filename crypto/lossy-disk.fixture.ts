// A disk in memory that loses whatever was not flushed when the power fails: contents per file, names per folder. It can
// also kill the writing process before any of its steps.

import { dirname } from "node:path";
import type { Disk, OpenFile } from "./durable-file.ts";

interface Content {
  text: string;
  flushed: string;
}

/** Thrown where the process dies. */
export class Ended extends Error {}

export class LossyDisk implements Disk {
  readonly #names = new Map<string, Content>();
  /** The names that survive a power failure. */
  readonly #flushedNames = new Map<string, Content>();
  /** The number of steps until the process dies. */
  stepsLeft = Number.POSITIVE_INFINITY;

  async open(path: string, flags: "r" | "w" | "wx"): Promise<OpenFile> {
    this.#step();
    const known = this.#names.get(path);
    if (flags === "wx" && known !== undefined) throw coded("EEXIST");
    // This is a folder.
    if (flags === "r") return this.#opened(() => this.#flushNames(path));
    const content = known ?? { text: "", flushed: "" };
    content.text = "";
    this.#names.set(path, content);
    return this.#opened(
      () => {
        content.flushed = content.text;
      },
      (text) => {
        content.text = text;
      },
    );
  }

  async link(path: string, name: string): Promise<void> {
    this.#step();
    if (this.#names.has(name)) throw coded("EEXIST");
    this.#names.set(name, this.#contentOf(path));
  }

  async rename(path: string, name: string): Promise<void> {
    this.#step();
    this.#names.set(name, this.#contentOf(path));
    this.#names.delete(path);
  }

  async rm(path: string): Promise<void> {
    this.#step();
    this.#names.delete(path);
  }

  /** The content of the file; null if it does not exist. */
  read(path: string): string | null {
    return this.#names.get(path)?.text ?? null;
  }

  names(): readonly string[] {
    return [...this.#names.keys()].sort();
  }

  /**
   * Fails the power. A disk may have written names on its own before they were flushed: `keepsNames` says whether it did.
   */
  losePower(keepsNames: boolean): void {
    this.stepsLeft = Number.POSITIVE_INFINITY;
    if (!keepsNames) {
      this.#names.clear();
      for (const [name, content] of this.#flushedNames) this.#names.set(name, content);
    }
    for (const content of this.#names.values()) content.text = content.flushed;
  }

  #opened(sync: () => void, write: (text: string) => void = () => {}): OpenFile {
    const step = async (run: () => void): Promise<void> => {
      this.#step();
      run();
    };
    return {
      writeFile: (text) => step(() => write(text)),
      sync: () => step(sync),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  #flushNames(folder: string): void {
    for (const name of [...this.#flushedNames.keys()])
      if (dirname(name) === folder) this.#flushedNames.delete(name);
    for (const [name, content] of this.#names)
      if (dirname(name) === folder) this.#flushedNames.set(name, content);
  }

  #contentOf(path: string): Content {
    const content = this.#names.get(path);
    if (content === undefined) throw coded("ENOENT");
    return content;
  }

  #step(): void {
    this.stepsLeft -= 1;
    if (this.stepsLeft < 0) throw new Ended();
  }
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

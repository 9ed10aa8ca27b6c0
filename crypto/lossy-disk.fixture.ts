// A disk in memory that loses what was not flushed when the power fails: contents by file, names by folder. It can end
// the process that writes, before any of its steps.

import { dirname } from "node:path";
import type { Disk, OpenFile } from "./durable-file.ts";

interface Content {
  text: string;
  flushed: string;
}

/** The process ended here. */
export class Ended extends Error {}

export class LossyDisk implements Disk {
  readonly #names = new Map<string, Content>();
  /** Names that a loss of power leaves. */
  readonly #flushedNames = new Map<string, Content>();
  /** Steps until the process ends. */
  stepsLeft = Number.POSITIVE_INFINITY;

  async open(path: string, flags: "r" | "w" | "wx"): Promise<OpenFile> {
    this.#step();
    const known = this.#names.get(path);
    if (flags === "wx" && known !== undefined) throw coded("EEXIST");
    // A folder.
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

  /** What the file holds; null when there is none. */
  read(path: string): string | null {
    return this.#names.get(path)?.text ?? null;
  }

  names(): readonly string[] {
    return [...this.#names.keys()].sort();
  }

  /** The power fails. A disk may have written names by itself, before they were flushed: `keepsNames` tells whether. */
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

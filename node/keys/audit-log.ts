// A log that only grows: a JSON line an entry, on the disk before its writer goes on.
//   A1. `append` resolves once its line is flushed. A line that could not be written rejects, and the caller acts on nothing.
//   A2. Entries stand in the order in which they were asked for. What a crash left of a line ends before the next one.

import { type FileHandle, open } from "node:fs/promises";

const newline = 0x0a;

export class AuditLog implements AsyncDisposable {
  readonly #file: FileHandle;
  #last: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(path: string): Promise<AuditLog> {
    const file = await open(path, "a+", 0o600);
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    if (size > 0 && buffer[0] !== newline) await file.appendFile("\n");
    return new AuditLog(file);
  }

  append(entry: Readonly<Record<string, string | readonly string[]>>): Promise<void> {
    const write = async (): Promise<void> => {
      await this.#file.appendFile(`${JSON.stringify(entry)}\n`);
      await this.#file.sync();
    };
    const written = this.#last.then(write);
    this.#last = written.catch(() => {});
    return written;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#file.close();
  }
}

// Group commit as small as it can be: whatever was asked for in one turn of the event loop is one transaction.

import { DatabaseSync } from "node:sqlite";

export class GroupCommit {
  readonly db: DatabaseSync;
  #works: { readonly run: () => void; readonly done: () => void }[] = [];

  /** Opens a file whose every COMMIT is on disk before it returns. */
  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;");
  }

  /** Resolves once what `run` did is on disk. */
  write(run: () => void): Promise<void> {
    return new Promise((done) => {
      this.#works.push({ run, done });
      if (this.#works.length === 1) setImmediate(() => this.#flush());
    });
  }

  close(): void {
    this.db.close();
  }

  #flush(): void {
    const works = this.#works;
    this.#works = [];
    this.db.exec("BEGIN IMMEDIATE");
    for (const { run } of works) run();
    this.db.exec("COMMIT");
    for (const { done } of works) done();
  }
}

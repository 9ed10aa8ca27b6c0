// Minimal group commit: everything requested in one turn of the event loop is one transaction. The log is checkpointed in
// a separate thread, as in the service.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Checkpointer, createCheckpointer } from "../../storage/sqlite/checkpointer.ts";

export class GroupCommit {
  readonly db: DatabaseSync;
  readonly #checkpointer: Checkpointer;
  readonly #changes: StatementSync;
  #works: { readonly run: () => void; readonly done: () => void }[] = [];

  /** Opens a file whose every COMMIT is on disk before it returns. */
  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;");
    this.#checkpointer = createCheckpointer(path);
    this.#changes = this.db.prepare("SELECT total_changes() AS total");
  }

  /** Resolves once the effect of `run` is on disk. */
  write(run: () => void): Promise<void> {
    return new Promise((done) => {
      this.#works.push({ run, done });
      if (this.#works.length === 1) setImmediate(() => this.#flush());
    });
  }

  close(): void {
    this.#checkpointer.close();
    this.db.close();
  }

  #flush(): void {
    const works = this.#works;
    this.#works = [];
    this.db.exec("BEGIN IMMEDIATE");
    for (const { run } of works) run();
    this.db.exec("COMMIT");
    this.#checkpointer.committed(Number(this.#changes.get()?.["total"]));
    for (const { done } of works) done();
  }
}

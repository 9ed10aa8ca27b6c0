// A session between a store and the real engine that lets a script decide what a statement meets:
//   refused             nothing was sent, and the caller knows;
//   timeout_unapplied   nothing was sent, and the caller does not know;
//   timeout_applied     the engine did it, and the caller does not know;
//   late                the caller does not know; the engine does it when the test lets it through;
//   unknown_table       the node that was asked does not know the table that the statement names.

import cassandra from "cassandra-driver";
import { StoreError } from "../actor-store.ts";
import {
  type CassandraSession,
  type CqlParam,
  type CqlResult,
  type ReadOptions,
  type Statement,
  type StatementOptions,
  toStoreError,
} from "./session.ts";

export type SessionFault = "refused" | "timeout_unapplied" | "timeout_applied" | "late" | "unknown_table";

interface Script {
  readonly part: string;
  readonly fault: SessionFault;
}

export class FaultySession implements CassandraSession {
  readonly #session: CassandraSession;
  readonly #scripts: Script[] = [];
  readonly #late: (() => Promise<CqlResult>)[] = [];
  /** First statements of everything that reached the engine, in order. */
  readonly sent: string[] = [];
  readonly keyspace: string;
  readonly localDc: string;

  constructor(session: CassandraSession) {
    this.#session = session;
    this.keyspace = session.keyspace;
    this.localDc = session.localDc;
  }

  /** The next statement (for a batch: its first one) that contains `part` meets `fault`; several faults queue up. */
  failNext(part: string, fault: SessionFault): void {
    this.#scripts.push({ part, fault });
  }

  /** Lets through the oldest statement that was held back as `late`. */
  async releaseLate(): Promise<CqlResult> {
    const held = this.#late.shift();
    if (held === undefined) throw new Error("nothing is held back");
    return held();
  }

  execute(cql: string, params: readonly CqlParam[], options: ReadOptions): Promise<CqlResult> {
    return this.#meet(cql, () => this.#session.execute(cql, params, options));
  }

  batch(statements: readonly Statement[], options: StatementOptions): Promise<CqlResult> {
    return this.#meet(statements[0]?.cql ?? "", () => this.#session.batch(statements, options));
  }

  async define(cql: string, options?: { readonly settle: boolean }): Promise<void> {
    await this.#session.define(cql, options);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #meet(cql: string, send: () => Promise<CqlResult>): Promise<CqlResult> {
    const at = this.#scripts.findIndex((script) => cql.includes(script.part));
    const fault = at < 0 ? undefined : this.#scripts.splice(at, 1)[0]?.fault;
    if (fault === undefined || fault === "timeout_applied") {
      this.sent.push(cql);
      const result = await send();
      if (fault === undefined) return result;
    }
    if (fault === "late") {
      this.#late.push(() => {
        this.sent.push(cql);
        return send();
      });
    }
    if (fault === "unknown_table") throw unknownTable(cql);
    throw new StoreError(fault === "refused" ? "not_applied" : "unknown", `scripted: ${fault}`);
  }
}

function unknownTable(cql: string): unknown {
  const { errors, types } = cassandra;
  const table = /\b(?:FROM|INTO|UPDATE) (\w+)/.exec(cql)?.[1];
  const said = new errors.ResponseError(types.responseErrorCodes.invalid, `table ${table} does not exist`);
  const hosts = { contactPoints: ["127.0.0.1"], localDc: "eu-west1" };
  return toStoreError(said, { isRead: cql.startsWith("SELECT"), hosts });
}

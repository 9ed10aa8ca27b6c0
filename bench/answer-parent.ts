// The child's side of child.ts: named functions that the main process calls, one at a time.

/** A function by its name; the main process knows the parameters and result of each, so each may declare its own types. */
export type Functions = Readonly<Record<string, { call(params: unknown): unknown }["call"]>>;

/** Answers calls until the main process disconnects; then `close` runs and the process ends. */
export function answerParent(functions: Functions, close: () => Promise<void> = async () => {}): void {
  process.on("message", async (message) => {
    const { id, name, params } = message as { id: number; name: string; params: unknown };
    try {
      const answer = functions[name];
      if (answer === undefined) throw new Error(`there is no function ${name}`);
      process.send?.({ id, result: await answer(params) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once("disconnect", () => {
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}

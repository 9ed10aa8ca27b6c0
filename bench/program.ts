// Child process: calls functions that modules of the benchmark export, as the main process asks for them (child.ts). It imports nothing
// of the project itself, so that it runs in any checkout (against.ts). When the main process disconnects, the function `close` of
// each module that was loaded is called, if it has one, the last loaded first; then the process ends.

type Exports = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const loaded = new Map<string, Promise<Exports>>();

function load(path: string): Promise<Exports> {
  const exports = loaded.get(path) ?? import(new URL(path, import.meta.url).href);
  loaded.set(path, exports);
  return exports;
}

process.on("message", async (message) => {
  // As the class Child sends it; a module is given by its path below bench/.
  const { id, path, name, args } = message as Record<"id" | "path" | "name", string> & { args: unknown[] };
  try {
    const called = (await load(path))[name];
    if (called === undefined) throw new Error(`${path} has no function ${name}`);
    process.send?.({ id, result: await called(...args) });
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.once("disconnect", async () => {
  try {
    for (const exports of [...loaded.values()].reverse()) await (await exports)["close"]?.();
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
});

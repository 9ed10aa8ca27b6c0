// `svc witness`: runs a witness of transparency logs.

import { resolve } from "node:path";
import { type Command, untilStopped } from "./command.ts";

const portMax = 65_535;

export const witness: Command = {
  name: "witness",
  usage: "",
  summary: "cosign the checkpoints of transparency logs, each only as the continuation of the last",
  details: [
    "Serves POST /add-checkpoint (C2SP tlog-witness) and prints the key that a log's policy names.",
    "The folder has its key, made at the first start, and what it cosigned. Never start it with an older copy.",
  ],
  options: `
    --home DIR           folder of its key and of what it cosigned (default .witness)
    --name NAME          name that it signs under, such as witness.example/w1; needed at the first start
    --log 'ORIGIN KEY'…  a log's origin and verifier key (svc keys show); again for another log, or a further key of it
    --host ADDRESS       address to listen on (default 127.0.0.1)
    --port N             port to listen on (default 7390; 0 for any)`,
  run: async (call) => {
    // Files that this process writes are its own.
    process.umask(0o077);
    const [{ startWitness }, { parseWitnessedLogs }] = await Promise.all([
      import("../node/witness/witness-server.ts"),
      import("../node/witness/witnessed-logs.ts"),
    ]);
    const { terminal } = call;
    const logs = parseWitnessedLogs("--log", call.texts("log"));
    const started = await startWitness({
      home: resolve(call.cwd, call.text("home") ?? ".witness"),
      name: call.text("name"),
      logs: () => logs,
      listen: {
        host: call.text("host") ?? "127.0.0.1",
        port: call.integer("port", { min: 0, max: portMax, fallback: 7_390 }),
      },
      clock: { now: call.now },
      report: (event, detail) => terminal.note(`${event}: ${detail}`),
    });
    terminal.print(`Witnessing at ${started.url} as ${started.verifierKey}`);
    return await untilStopped(call, started);
  },
};

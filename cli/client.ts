// The program `svc` of the package: the commands of clients, without a node.

import { clientCommands } from "./client-commands.ts";
import { runProgram } from "./program.ts";

await runProgram(clientCommands);

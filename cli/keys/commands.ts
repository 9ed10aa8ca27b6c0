// The commands of `svc keys`, in the order in which a new service needs them.

import type { Command } from "../command.ts";
import {
  createIssuance,
  createRecordIdSecret,
  createRoot,
  createSecret,
  createWorkingKeys,
} from "./create.ts";
import { anchors, certify, issue } from "./issue.ts";
import { serveIssuance } from "./serve.ts";
import { id, show } from "./show.ts";

export const keyCommands: readonly Command[] = [
  ...[createRoot, createIssuance, createWorkingKeys, createRecordIdSecret, createSecret],
  ...[certify, anchors, issue, show, id, serveIssuance],
];

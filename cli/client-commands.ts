// The commands that call a service, or need none: what the package of the programs has. Those that run a node, its keys or its operators' surface
// stay with the checkout and the image (main.ts).

import { adsCommands, adsImage } from "./ads.ts";
import { analytics, demand, usage } from "./analytics.ts";
import { keysRegister, mandateRequest } from "./asked.ts";
import type { Command } from "./command.ts";
import { fetchCommand } from "./fetch.ts";
import { grant } from "./grant.ts";
import { keygen, proveKey } from "./keygen.ts";
import { allowance } from "./ledger.ts";
import { logAudit } from "./log-audit.ts";
import { mcp } from "./mcp.ts";
import { provePrice } from "./prove-price.ts";
import { attempts, domains } from "./publishing/attempts.ts";
import { catalogue } from "./publishing/catalogue.ts";
import { holdCommands } from "./publishing/hold.ts";
import { publish } from "./publishing/publish.ts";
import { push } from "./publishing/push.ts";
import { cancel, pushes, pushStatus } from "./publishing/push-status.ts";
import { deleteCommand, withdraw } from "./publishing/remove.ts";
import { receipts, receiptsCheck } from "./receipts.ts";
import { search } from "./search.ts";
import { entitlement, terms, termsAgree } from "./terms.ts";
import { verify } from "./verify.ts";

export const clientCommands: readonly Command[] = [
  search,
  fetchCommand,
  verify,
  provePrice,
  mcp,
  push,
  publish,
  pushStatus,
  pushes,
  cancel,
  catalogue,
  attempts,
  analytics,
  demand,
  domains,
  terms,
  termsAgree,
  entitlement,
  receipts,
  receiptsCheck,
  usage,
  allowance,
  withdraw,
  adsImage,
  deleteCommand,
  keygen,
  proveKey,
  keysRegister,
  mandateRequest,
  grant,
  logAudit,
  ...adsCommands,
  ...holdCommands,
];

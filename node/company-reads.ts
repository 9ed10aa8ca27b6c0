// What an AI company reads of its own receipts, composed for the surfaces of a node.

import type { RetrievalDeps } from "../api/retrieval.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { createLogReads } from "../service/log-reads.ts";
import { readOwnReceipts } from "../service/own-receipts.ts";
import { readUsage } from "../service/usage.ts";
import { logKeysByOrigin } from "../verifier/log.ts";
import type { NodeServices } from "./services.ts";

export function companyReadsOf(services: NodeServices): Pick<RetrievalDeps, "receipts" | "usage"> {
  const { clock, config, logStore, logWitnesses, receipts: store, trust } = services;
  const { sha256 } = nativeCrypto;
  const { region } = config;
  const { policy } = logWitnesses;
  const keys = () => logKeysByOrigin(trust());
  const log = createLogReads({ log: logStore, receipts: store, sha256, policy, keys });
  return {
    receipts: (request) =>
      readOwnReceipts({ store, region, trust, sha256, inclusion: log.inclusion }, request),
    usage: (request) => readUsage({ store, region, clock }, request),
  };
}

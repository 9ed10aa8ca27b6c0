// The services that need no account: everything that anyone may check, for the verification surface and the tool server.

import type { VerificationRoutesDeps } from "../../api/routes/verification.ts";
import type { ToolsDeps } from "../../api/tools.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { createLogReads } from "../../service/log/log-reads.ts";
import { createStandings } from "../../service/register/standing.ts";
import { createPublishedReads } from "../../service/verification/published-reads.ts";
import { createVerification } from "../../service/verification/verification.ts";
import { createVerify } from "../../service/verification/verify.ts";
import { createVerifyPage } from "../../service/verification/verify-page.ts";
import { logKeysByOrigin } from "../../verifier/log.ts";
import type { NodeServices } from "./capabilities.ts";

export type PublicReads = Pick<
  VerificationRoutesDeps,
  "verification" | "verify" | "verifyPage" | "isSandbox"
> &
  Pick<ToolsDeps, "log" | "published">;

export function publicReadsOf(services: NodeServices, verifyUrl: string): PublicReads {
  const { register, keys, trust } = services;
  const common = { ...services, verifyUrl, standings: createStandings({ register, trust }) };
  return {
    verification: createVerification(common),
    verify: createVerify(common),
    verifyPage: createVerifyPage(common),
    isSandbox: keys.environment === "sandbox",
    log: createLogReads({
      log: services.logStore,
      receipts: services.receipts,
      sha256: nativeCrypto.sha256,
      policy: services.logWitnesses.policy,
      keys: () => logKeysByOrigin(trust()),
    }),
    published: createPublishedReads({ sha256: nativeCrypto.sha256 }),
  };
}

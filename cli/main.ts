// The program `svc` of the checkout and the image.

import { clientCommands } from "./client-commands.ts";
import { doctor } from "./doctor.ts";
import { blocks, brands, group } from "./groups.ts";
import { keyCommands } from "./keys/commands.ts";
import { ledger, opsAccounts } from "./ledger.ts";
import { opsAct } from "./ops/act.ts";
import { opsApplications, opsApprove, opsEvidence, opsRefuse } from "./ops/applications.ts";
import { opsCampaign } from "./ops/campaign.ts";
import { opsActors, opsAudit, opsNodes, opsPushes, opsRefusals, opsSearch } from "./ops/lists.ts";
import { opsLists } from "./ops/operator-lists.ts";
import { opsCertify, opsParty, opsRegisterKey, opsReissue } from "./ops/party.ts";
import { opsApproveRecovery, opsRecoveries, opsRefuseRecovery } from "./ops/recoveries.ts";
import { opsExport, opsShow } from "./ops/show.ts";
import { opsTakedown } from "./ops/takedown.ts";
import { runProgram } from "./program.ts";
import { purges } from "./purges.ts";
import { revoke } from "./revoke.ts";
import { start } from "./start.ts";
import { tryCommand } from "./try.ts";
import { witness } from "./witness.ts";

await runProgram([
  start,
  ...clientCommands,
  tryCommand,
  doctor,
  revoke,
  ledger,
  blocks,
  brands,
  group,
  purges,
  witness,
  opsNodes,
  opsActors,
  opsSearch,
  opsPushes,
  opsRefusals,
  opsShow,
  opsExport,
  opsAct,
  opsTakedown,
  opsLists,
  opsCampaign,
  opsAccounts,
  opsParty,
  opsCertify,
  opsReissue,
  opsRegisterKey,
  opsApplications,
  opsEvidence,
  opsApprove,
  opsRefuse,
  opsRecoveries,
  opsApproveRecovery,
  opsRefuseRecovery,
  opsAudit,
  ...keyCommands,
]);

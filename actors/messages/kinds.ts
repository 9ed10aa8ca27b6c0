// All kinds of actors, each with its protocol.

import type { AdCampaignProtocol, AdPoolProtocol, AdSessionProtocol } from "./ads.ts";
import type { ApplicationProtocol } from "./application.ts";
import type { BulkUploadProtocol } from "./bulk-upload.ts";
import type { BusinessProtocol } from "./business.ts";
import type { IntegrationKeyProtocol, KeyLimitsProtocol } from "./integration-key.ts";
import type { LedgerProtocol } from "./ledger.ts";
import type { LogSequencerProtocol } from "./log-sequencer.ts";
import type { PersonProtocol } from "./person.ts";
import type { PushProtocol } from "./push.ts";
import type { RecoveryProtocol } from "./recovery.ts";
import type { RegionProtocol } from "./region.ts";
import type { WebhookProtocol } from "./webhooks.ts";

export interface ActorProtocols {
  readonly "ad-campaign": AdCampaignProtocol;
  readonly "ad-pool": AdPoolProtocol;
  readonly "ad-session": AdSessionProtocol;
  readonly application: ApplicationProtocol;
  readonly "bulk-upload": BulkUploadProtocol;
  readonly business: BusinessProtocol;
  readonly "integration-key": IntegrationKeyProtocol;
  readonly ledger: LedgerProtocol;
  readonly "key-limits": KeyLimitsProtocol;
  readonly "log-sequencer": LogSequencerProtocol;
  readonly person: PersonProtocol;
  readonly push: PushProtocol;
  readonly recovery: RecoveryProtocol;
  readonly region: RegionProtocol;
  readonly webhook: WebhookProtocol;
}

/** The names of the kinds that `Protocols` describes. */
export type KindOf<Protocols> = keyof Protocols & string;

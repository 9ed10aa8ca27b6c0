// Which commands one node may send to an actor on another. Every service runs on every node, so the commands that services send
// may cross. The commands that only an actor's own node sends (the answers of its activities, its timers) may not: coming from
// another node, they could only claim work that was never done.

import type { AdCampaignProtocol, AdPoolProtocol, AdSessionProtocol } from "./ads.ts";
import type { BulkUploadProtocol } from "./bulk-upload.ts";
import type { BusinessProtocol } from "./business.ts";
import type { IntegrationKeyProtocol, KeyLimitsProtocol } from "./integration-key.ts";
import type { LedgerProtocol } from "./ledger.ts";
import type { LogSequencerProtocol } from "./log-sequencer.ts";
import type { PushProtocol } from "./push.ts";
import type { RegionProtocol } from "./region.ts";

/** As a question that is answered, as a message from another actor's outbox, in both ways, or not at all. */
type Crossing = "ask" | "deliver" | "both" | "never";

const business: Readonly<Record<keyof BusinessProtocol, Crossing>> = {
  "party.open": "ask",
  "certificate.issue": "ask",
  "key.register": "ask",
  "key.revoke": "ask",
  "mandate.accept": "ask",
  "mandate.revoke": "ask",
  "policy.accept": "ask",
  "custody.state": "ask",
  "directory.choose": "ask",
  "terms.agree": "ask",
  "group.block": "ask",
  "group.unblock": "ask",
  "brand.confirm": "ask",
  "group.join": "ask",
  "publishing.facts": "ask",
  "push.admit": "ask",
  "listings.read": "ask",
  "push.hold": "ask",
  "push.preview": "ask",
  "hold.settle": "ask",
  "holds.read": "ask",
  "names.keep": "ask",
  "chunk.assign": "ask",
  "standing.read": "never",
  "live.list": "never",
  "records.fall": "never",
  "policies.fall": "never",
  "push.cancel": "ask",
  "push.finished": "ask",
  "refusal.keep": "ask",
  "attempts.read": "ask",
  "own_ids.read": "ask",
  "record.remove": "ask",
  "takedown.impose": "ask",
  "takedown.lift": "ask",
  "serving.restate": "never",
  "removal.read": "ask",
  "removals.list": "ask",
  "purge.order": "ask",
  "purge.orders": "ask",
  "deletions.held": "ask",
  "deletion.decide": "ask",
  "purges.due": "ask",
  "purges.forget": "never",
  "purges.done": "never",
  "domains.due": "never",
  "domains.probed": "never",
  "domains.read": "ask",
  "register.read": "ask",
  "upload.open": "ask",
  "upload.keep": "deliver",
  "upload.close": "deliver",
  "acts.read": "ask",
  "record.read": "ask",
};

const integrationKey: Readonly<Record<keyof IntegrationKeyProtocol, Crossing>> = {
  "nonce.claim": "ask",
  "idempotency.begin": "ask",
  "idempotency.settle": "ask",
  "idempotency.release": "ask",
  "caps.check": "ask",
  "seq.read": "ask",
  "seq.check": "ask",
  "push.charge": "ask",
  "push.uncharge": "ask",
  "removal.charge": "ask",
  "key.retire": "deliver",
};

const keyLimits: Readonly<Record<keyof KeyLimitsProtocol, Crossing>> = {
  "limit.lease": "ask",
};

const push: Readonly<Record<keyof PushProtocol, Crossing>> = {
  "push.accept": "ask",
  "push.references": "ask",
  "chunk.judge": "ask",
  "chunk.findings": "ask",
  "chunk.reject": "ask",
  "push.status": "ask",
  "push.await": "ask",
  "hold.await": "ask",
  "hold.release": "deliver",
  "push.cancelled": "deliver",
  "chunk.settle": "never",
  "chunk.indexed": "never",
  "push.prepared": "never",
  "push.judged": "never",
  "push.forget": "ask",
  "push.fail": "deliver",
};

const region: Readonly<Record<keyof RegionProtocol, Crossing>> = {
  "rows.apply": "ask",
  "rows.index": "ask",
  "rows.purge": "ask",
  "rows.find": "ask",
  "rows.found": "never",
  "receipts.billable": "ask",
  "billable.read": "never",
  "region.open": "never",
  "rows.applied": "never",
  "rows.failed": "never",
  "receipts.closed": "never",
  "receipts.forgotten": "never",
};

const bulkUpload: Readonly<Record<keyof BulkUploadProtocol, Crossing>> = {
  "upload.issue": "ask",
  "upload.begin": "ask",
  "upload.abort": "ask",
  "upload.finish": "ask",
  "upload.read": "ask",
  "import.claim": "ask",
  "import.release": "ask",
  "import.begin": "deliver",
  "import.end": "ask",
};

const adCampaign: Readonly<Record<keyof AdCampaignProtocol, Crossing>> = {
  "campaign.accept": "ask",
  "ad.assign": "ask",
  "ad.publish": "ask",
  "ad.remove": "ask",
  "render.charge": "ask",
  "renders.reverse": "ask",
  "click.note": "deliver",
  "campaign.read": "ask",
  "renders.list": "ask",
  "ads.list": "ask",
  "entries.read": "never",
};

const adPool: Readonly<Record<keyof AdPoolProtocol, Crossing>> = {
  "pool.serve": "ask",
  "item.settle": "deliver",
  "item.click": "ask",
  "pool.read": "ask",
};

const adSession: Readonly<Record<keyof AdSessionProtocol, Crossing>> = {
  "shown.note": "deliver",
  "shown.read": "ask",
};

const ledger: Readonly<Record<keyof LedgerProtocol, Crossing>> = {
  "money.enter": "ask",
  "slice.lease": "ask",
  "charges.collected": "never",
  "ledger.read": "ask",
  "ledger.statement": "ask",
};

const logSequencer: Readonly<Record<keyof LogSequencerProtocol, Crossing>> = {
  // A region's actor has no outbox, and asks.
  "log.append": "both",
  "log.pending": "never",
  "log.choose": "never",
  "log.written": "never",
  "log.published": "never",
  "log.unwitnessed": "never",
  "log.open": "ask",
  "log.standing": "never",
  "log.doubt": "never",
  "log.judge": "never",
  "log.supply": "ask",
};

const kinds: ReadonlyMap<string, ReadonlyMap<string, Crossing>> = new Map([
  ["ad-campaign", new Map(Object.entries(adCampaign))],
  ["ad-pool", new Map(Object.entries(adPool))],
  ["ad-session", new Map(Object.entries(adSession))],
  ["bulk-upload", new Map(Object.entries(bulkUpload))],
  ["business", new Map(Object.entries(business))],
  ["integration-key", new Map(Object.entries(integrationKey))],
  ["key-limits", new Map(Object.entries(keyLimits))],
  ["ledger", new Map(Object.entries(ledger))],
  ["log-sequencer", new Map(Object.entries(logSequencer))],
  ["push", new Map(Object.entries(push))],
  ["region", new Map(Object.entries(region))],
]);

/** Whether another node may send a command of this type to an actor of this kind, in this way. */
export function mayCross(kind: string, type: string, how: "ask" | "deliver"): boolean {
  const crossing = kinds.get(kind)?.get(type);
  return crossing === how || crossing === "both";
}

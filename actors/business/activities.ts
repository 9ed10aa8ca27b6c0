// The activities of the business actor: projecting its register, and taking out of serving what was removed or does not stand any more.

import { parseEnvelope } from "../../protocol/dsse.ts";
import { domainChallenge } from "../../protocol/keys/certificate.ts";
import { openSeal } from "../../protocol/seal.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import type { DomainProbe } from "../../transport/domain-probe.ts";
import { type AcceptedSeal, type StandingFacts, standingFault } from "../../verifier/standing.ts";
import type { BusinessProtocol, KeyFacts, MandateFacts, PolicyFacts } from "../messages/business.ts";
import type { ProbedDomain, ProbeSchedule } from "../messages/domains.ts";
import type { CertificateInForce } from "../messages/party.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { regionRef } from "../messages/refs.ts";
import type { RegionProtocol } from "../messages/region.ts";
import { type RemovedRecord, removedHead, removedRow, removedRows } from "../messages/removal.ts";
import { restatedRows, type ServedState } from "../messages/serving.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { type PurgePorts, purgeRecords } from "./purge.ts";
import { restatedMax } from "./serving.ts";
import { certificatesOf, policyKey, reviewedAtOnce, statedSeal } from "./standing.ts";

export interface BusinessPorts extends DomainPorts, PurgePorts {
  readonly register: RegisterStore;
  /** Called after the register has changed, so that this node's cache need not wait for its next poll. */
  readonly registerChanged: () => Promise<void>;
}

type TellRows = CommandOf<RegionProtocol, "rows.apply">;

/** What a business does outside its journal: its entries in the register, removals, purges, domains and reviews. */
export function businessActivities(ports: BusinessPorts): Record<string, Activity> {
  return {
    projectRegister: async (params: { keys: readonly string[] }, context: ActivityContext<"business">) => {
      const { entries } = await context.ask(context.actor, { type: "register.read", keys: params.keys });
      await ports.register.put(entries);
      await ports.registerChanged();
      return null;
    },
    removeRecord: (params: RemovedRecord, context: ActivityContext<"business">) =>
      takeOut(ports, { records: [params], told: removedRow(params) }, context),
    removeRecords: (
      { records }: { records: readonly RemovedRecord[] },
      context: ActivityContext<"business">,
    ) => takeOut(ports, { records, told: removedRows(records, context.workId) }, context),
    reviewStanding: (_params: unknown, context: ActivityContext<"business">) => reviewStanding(context),
    restateServing: (params: { records: readonly ServedState[] }, context: ActivityContext<"business">) =>
      restateServing(ports, params.records, context),
    restateAll: (_params: unknown, context: ActivityContext<"business">) => restateAll(context),
    confirmDomains: (_params: unknown, context: ActivityContext<"business">) =>
      confirmDomains(ports, context),
    remindPeople: async (_params: unknown, { actor, ask }: ActivityContext<"business">) => ({
      type: "reminders.give",
      ...(await ask(actor, { type: "reminders.due" })),
    }),
    purgeRecords: (_params: unknown, context: ActivityContext<"business">) => purgeRecords(ports, context),
  };
}

async function takeOut(
  ports: BusinessPorts,
  { records, told }: { readonly records: readonly RemovedRecord[]; readonly told: TellRows },
  context: ActivityContext<"business">,
): Promise<null> {
  // The heads are made from what the business knows: the push that published a record may not have stored it yet.
  await ports.records.putHeads(records.map((record) => removedHead(context.actor.id, record)));
  // A region that cannot be reached does not delay the others.
  const replies = await Promise.allSettled(
    ports.regions().map((region) => tellRegion(region, told, context)),
  );
  for (const each of replies) if (each.status === "rejected") throw each.reason;
  return null;
}

async function tellRegion(
  region: string,
  told: TellRows,
  context: ActivityContext<"business">,
): Promise<void> {
  const reply = await context.ask(regionRef(region), told);
  if (reply.status !== "applied") throw new Error(`The index of region ${region} is unavailable.`);
}

// The looks at a business's domains, outside its actor. They may be repeated: each says when it began, and the actor keeps the
// latest.

interface DomainPorts {
  readonly domains: {
    /** Null where nobody looks. */
    readonly probe: DomainProbe | null;
    readonly schedule: ProbeSchedule;
  };
}

/** Probes the domains that are due, and tells what was found; without a probe none is. */
export async function confirmDomains(
  { domains: { probe, schedule } }: DomainPorts,
  { actor, ask, nowMs }: ActivityContext<"business">,
): Promise<CommandOf<BusinessProtocol, "domains.probed">> {
  if (probe === null) return { type: "domains.probed", probed: [], schedule };
  const due = await ask(actor, { type: "domains.due" });
  const probed = due.domains.map(async (domain): Promise<ProbedDomain> => {
    const at_ms = nowMs();
    const found = await probe.probe(domain, domainChallenge(actor.id, domain));
    const detail = found.kind === "confirmed" ? found.by : found.detail;
    return { domain, outcome: found.kind, detail, at_ms };
  });
  return { type: "domains.probed", probed: await Promise.all(probed), schedule };
}

// Has the store and every region's index follow what is served of a business now (SV1 in serving.ts). Both activities may be repeated:
// the change of a record orders what is told of it.

type ServingContext = ActivityContext<"business">;

/** Tells of these records; it is done once every region has confirmed. */
export async function restateServing(
  { records: store, regions }: Pick<BusinessPorts, "records" | "regions">,
  records: readonly ServedState[],
  context: ServingContext,
): Promise<null> {
  await store.putHeads(
    records.map(({ collection: type, ...state }) => ({ ...state, business_uuid: context.actor.id, type })),
  );
  const commands = restatedRows(records);
  const told = await Promise.allSettled(
    // A region that cannot be reached does not delay the others.
    regions().flatMap((region) => commands.map((command) => tell(region, command, context))),
  );
  for (const each of told) if (each.status === "rejected") throw each.reason;
  return null;
}

async function tell(
  region: string,
  command: ReturnType<typeof restatedRows>[number],
  context: ServingContext,
): Promise<void> {
  const reply = await context.ask(regionRef(region), command);
  if (reply.status !== "applied") throw new Error(`The index of region ${region} is unavailable.`);
}

/** Has the actor go through all its records; what each page tells is work of its own. */
async function restateAll(context: ServingContext): Promise<null> {
  for (let after: string | null = ""; after !== null; ) {
    const page: { readonly next: string | null } = await context.ask(context.actor, {
      type: "serving.restate",
      after,
      limit: restatedMax,
    });
    after = page.next;
  }
  return null;
}

// The review after something ended that seals of the business depend on: the AI policy in force, and every push whose records may be
// served, are judged again; what does not stand leaves serving in every region.
//   RS1. It may be repeated: what fell is not found again, and a record that was published again since is left as it is.
//   RS2. It judges by the register at its own time, which is that of the ending or later; a push that is given versions
//        meanwhile is judged there (S1 in standing.ts).
//   RS3. Records are looked through only where a push fell: the end of a key under which everything was received in time costs a
//        page of seals for every hundred pushes.

type ReviewContext = Pick<ActivityContext<"business">, "actor" | "ask">;

/**
 * Has everything fall whose seal does not stand by the register as it is now: records page by page, and AI policies.
 */
export async function reviewStanding(context: ReviewContext): Promise<null> {
  const entries = registerEntries(context);
  await reviewPolicies(context, entries);
  const fallen = await fallenSeals(context, entries);
  for (let after: string | null = fallen.size === 0 ? null : ""; after !== null; ) {
    const page = await context.ask(context.actor, { type: "live.list", after, limit: reviewedAtOnce });
    const records = page.records.filter(({ number, mandate = 0 }) => fallen.has(`${number}/${mandate}`));
    if (records.length > 0) await context.ask(context.actor, { type: "records.fall", records });
    after = page.next;
  }
  return null;
}

/** What does not stand: the numbers of pushes, each with the place of one of its mandates. */
async function fallenSeals(context: ReviewContext, entries: Entries): Promise<ReadonlySet<string>> {
  const fallen = new Set<string>();
  for (let [after, more] = [0, true]; more; ) {
    const page = await context.ask(context.actor, { type: "standing.read", after, limit: reviewedAtOnce });
    for (const { number, seal } of page.seals)
      for (const [at, mandate] of (seal.mandates.length === 0 ? [null] : seal.mandates).entries())
        if (!(await stands(statedSeal(seal, mandate), page.issuances, entries)))
          fallen.add(`${number}/${at}`);
    more = page.more;
    after = page.seals.at(-1)?.number ?? after;
  }
  return fallen;
}

async function reviewPolicies(context: ReviewContext, entries: Entries): Promise<void> {
  const { actor, ask } = context;
  const standing = await ask(actor, { type: "standing.read", after: 0, limit: 1 });
  const fallen: number[] = [];
  let version = standing.policy_version;
  for (; version > 0; version -= 1) {
    const policy = await entries<PolicyFacts>(policyKey(actor.id, version));
    const seal = policy === null ? null : policySeal(policy);
    if (
      policy?.fallen_at === undefined &&
      (seal === null || (await stands(seal, standing.issuances, entries)))
    )
      break;
    fallen.push(version);
  }
  if (fallen.length > 0) await ask(actor, { type: "policies.fall", fallen, in_force: version });
}

/** The seal of an AI policy, which no sidecar is about; the service received it when it came into force. Null for none that can be read. */
function policySeal({ seal, live_from }: PolicyFacts): AcceptedSeal | null {
  const parsed = parseEnvelope(JSON.parse(seal));
  const opened = parsed.ok ? openSeal(parsed.value) : parsed;
  if (!opened.ok) return null;
  const { key_id, cert_id, sealed_at } = opened.value;
  return { key_id, cert_id, sealed_at, received_at: live_from, mandate_id: null, isStated: false };
}

/** Reads an entry of the business's register by its name, once for a review. */
type Entries = <T>(name: string) => Promise<T | null>;

function registerEntries({ actor, ask }: ReviewContext): Entries {
  const read = new Map<string, unknown>();
  return async <T>(name: string): Promise<T | null> => {
    if (!read.has(name)) {
      const [entry] = (await ask(actor, { type: "register.read", keys: [name] })).entries;
      read.set(name, entry === undefined ? null : JSON.parse(entry.body));
    }
    return read.get(name) as T | null;
  };
}

async function stands(
  seal: AcceptedSeal,
  issuances: readonly CertificateInForce[],
  entries: Entries,
): Promise<boolean> {
  const key = await entries<KeyFacts>(`key/${seal.key_id}`);
  const mandate = seal.mandate_id === null ? null : await mandateOf(seal.mandate_id, entries);
  return standingFault(seal, { key, certificates: certificatesOf(issuances), mandate }) === null;
}

async function mandateOf(id: string, entries: Entries): Promise<StandingFacts["mandate"]> {
  const mandate = await entries<MandateFacts>(`mandate/${id}`);
  const envelope = mandate === null ? null : parseEnvelope(JSON.parse(mandate.envelope));
  const sealedBy = envelope?.ok === true ? envelope.value.signatures[0]?.keyid : undefined;
  const sealer = sealedBy === undefined ? null : await entries<KeyFacts>(`key/${sealedBy}`);
  return mandate === null || sealer === null ? null : { ...mandate, sealer };
}

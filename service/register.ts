// The register as a region sees it: public facts of parties, keys, certificates, mandates, AI policies and custody.
//   G1. Nothing that a refresh has seen change is answered with its old value: a value that was being read in the
//       meantime is answered once and not cached.
//   G2. Cached entries are valid for `freshMs` after the last refresh; then the store is asked. So whatever a region's
//       store has (above all a revocation) is in force at every node of that region within `freshMs`, or requests fail.
//       When the store has it is the store's concern: storage/cassandra/register-store.ts says what bounds that.
//   G3. Blocks, groups, takedowns, policies in force, names of certified companies, who had something end and of whom something may have fallen are complete before the first answer, and bounded by
//       the number of businesses; everything else is cached for as long as it is used. Of the AI policies of a business that did not
//       fall, the one that came into force last, or came into force again, is in force.
//   G4. Changes that the feed delivers late are covered: a cached key, party or list is read again `keptMs` after it was
//       read.
//   G5. A key that the store does not have is not asked for again for `missingMs`, unless something is heard of it in
//       the meantime: naming keys that do not exist does not keep the store busy.

import type {
  CertificateFacts,
  CustodyFacts,
  KeyFacts,
  MandateFacts,
  PartyFacts,
  PolicyFacts,
} from "../actors/messages/business.ts";
import type { Clock } from "../crypto/port.ts";
import { currentAiPolicySchema, noPolicyMasks, policyBitsText } from "../protocol/ai-policy.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { oneAtATime } from "../std/one-at-a-time.ts";
import type { RegisterEntry, RegisterFeed, RegisterStore, RegisterTable } from "../storage/register-store.ts";
import { type AdBook, createAdBook } from "./ad-book.ts";
import { type BlockList, createBlockList, type GroupMember } from "./block-list.ts";
import { createCertifiedNames, type FollowedNames } from "./certified-names.ts";
import { type CompanyGroups, createCompanyGroups } from "./company-groups.ts";
import { createListedCompanies, type ListedCompanies } from "./listed-companies.ts";
import { createTakenDown, type TakenDown } from "./taken-down.ts";

/** What the store of a region has reaches its nodes within this time (G2). */
export const freshMs = 5_000;
/** Cached entries are read again after this time, whether or not a change was reported (G4). */
export const keptMs = 60_000;
/** How long a missing key is assumed to be missing (G5). */
export const missingMs = 1_000;
const missingMax = 10_000;

const pageLimit = 1_000;
const entriesMaxDefault = 50_000;

export interface RegisterDeps {
  readonly store: RegisterStore;
  readonly clock: Clock;
  /** The number of cached keys and of cached parties; a hundredth of it for lists. */
  readonly entriesMax?: number;
}

/** The AI policy with which rows and records of a business are served now. */
export interface PolicyInForce {
  /** 0 before one is sealed. */
  readonly version: number;
  /** The RFC 8785 text of `ai_policy_bits`. */
  readonly bitsText: string;
}

/** A cached value is returned synchronously. */
export type MaybeLater<T> = T | Promise<T>;

export interface Register {
  /** Follows the changes since the last call; the first call reads everything. Only one runs at a time. */
  refresh(): Promise<void>;
  /** The Unix milliseconds at which the last successful refresh started; null before the first. */
  refreshedAtMs(): number | null;
  key(keyId: string): MaybeLater<KeyFacts | null>;
  /** Notes that this node has just registered the key. */
  learn(keyId: string): void;
  party(uuid: string): MaybeLater<PartyFacts | null>;
  policyInForce(businessUuid: string): PolicyInForce;
  /** Whether a key that may seal alone, or the certificate, of the business ever ended, as of the last refresh. */
  hasEnded(businessUuid: string): boolean;
  /**
   * Whether something that the service received from the business may not stand any more, as of the last refresh: a key was
   * compromised, or a certificate ended from before the end was decided.
   */
  mayHaveFallen(businessUuid: string): boolean;
  policy(businessUuid: string, version: number): Promise<PolicyFacts | null>;
  /** Every issuance, newest first. */
  certificates(uuid: string): Promise<readonly CertificateFacts[]>;
  keys(uuid: string): Promise<readonly KeyFacts[]>;
  mandates(uuid: string): Promise<readonly MandateFacts[]>;
  /** Every policy version, newest first. */
  policies(uuid: string): Promise<readonly PolicyFacts[]>;
  /** Every custody statement, newest first. */
  custody(uuid: string): Promise<readonly CustodyFacts[]>;
  /** The businesses that blocked the company's group, or one that it was in. */
  blockedBusinesses(company: GroupMember): readonly string[];
  hasBlocked(businessUuid: string, company: GroupMember): boolean;
  /** The groups that there are, as of the last refresh. */
  readonly companyGroups: Pick<CompanyGroups, "membersOf">;
  /** The AI companies that chose to be in the key directory, as of the last refresh. */
  readonly listedCompanies: Pick<ListedCompanies, "all" | "changes">;
  /** As of the last refresh. */
  readonly certifiedNames: Omit<FollowedNames, "put">;
  /** What operators took out of serving, as of the last refresh. */
  readonly takenDown: Omit<TakenDown, "put">;
  /** The ads and campaigns, as of the last refresh. */
  readonly ads: Pick<AdBook, "of" | "find" | "sponsorshipOf" | "sponsored" | "live" | "size">;
}

export const noPolicyInForce: PolicyInForce = { version: 0, bitsText: policyBitsText(0, noPolicyMasks) };

interface Kept<T> {
  readonly facts: T;
  readonly change: number;
  /** When the store was last seen to say so. */
  readonly readAtMs: number;
}

interface KeptList {
  readonly facts: readonly unknown[];
  readonly readAtMs: number;
}

interface FollowedPolicy extends PolicyInForce {
  /** From when it is in force. */
  readonly since: string;
}

interface Cache {
  readonly keys: BoundedMap<string, Kept<KeyFacts>>;
  /** When the store was last seen not to have a key. */
  readonly missing: BoundedMap<string, number>;
  readonly parties: BoundedMap<string, Kept<PartyFacts>>;
  readonly lists: BoundedMap<string, KeptList>;
  readonly policies: Map<string, FollowedPolicy>;
  readonly ended: Set<string>;
  readonly mayHaveFallen: Set<string>;
  readonly sealedPolicies: BoundedMap<string, PolicyFacts>;
  readonly blocks: BlockList;
  readonly groups: CompanyGroups;
  readonly listings: ListedCompanies;
  readonly names: FollowedNames;
  readonly takenDown: TakenDown;
  readonly ads: AdBook;
}

interface Progress {
  readonly feed: RegisterFeed;
  /** Incremented with every page of changes (G1). */
  seen: number;
  refreshedAtMs: number | null;
}

export function createRegister(deps: RegisterDeps): Register {
  const entriesMax = deps.entriesMax ?? entriesMaxDefault;
  const cache: Cache = {
    keys: new BoundedMap(entriesMax),
    missing: new BoundedMap(missingMax),
    parties: new BoundedMap(entriesMax),
    lists: new BoundedMap(Math.ceil(entriesMax / 100)),
    policies: new Map(),
    ...{ ended: new Set<string>(), mayHaveFallen: new Set<string>() },
    sealedPolicies: new BoundedMap(Math.ceil(entriesMax / 100)),
    blocks: createBlockList(),
    groups: createCompanyGroups(),
    listings: createListedCompanies(),
    names: createCertifiedNames(),
    takenDown: createTakenDown(),
    ads: createAdBook(),
  };
  const progress: Progress = { feed: deps.store.follow(), seen: 0, refreshedAtMs: null };
  const counts = (readAtMs: number): boolean => {
    const nowMs = deps.clock.now();
    return (
      progress.refreshedAtMs !== null &&
      nowMs - progress.refreshedAtMs <= freshMs &&
      nowMs - readAtMs <= keptMs
    );
  };
  const find = <T>(
    table: RegisterTable,
    kept: BoundedMap<string, Kept<T>>,
    key: string,
  ): MaybeLater<T | null> => {
    const known = kept.get(key);
    return known !== undefined && counts(known.readAtMs)
      ? known.facts
      : loadEntry(deps, progress, { table, kept, key });
  };
  /** The latest change comes first: certificates, policies and custody statements never change after they are issued. */
  const list = async <T>(table: RegisterTable, uuid: string): Promise<readonly T[]> => {
    const name = `${table}/${uuid}`;
    const known = cache.lists.get(name);
    if (known !== undefined && counts(known.readAtMs)) return known.facts as readonly T[];
    const { seen } = progress;
    const readAtMs = deps.clock.now();
    const facts = newestFirst<T>(await deps.store.list(table, uuid));
    if (seen === progress.seen) cache.lists.set(name, { facts, readAtMs });
    return facts;
  };
  return {
    refresh: oneAtATime(() => follow(deps, cache, progress)),
    refreshedAtMs: () => progress.refreshedAtMs,
    ...keysOf({ deps, progress, cache }, (keyId) => find("key", cache.keys, keyId)),
    party: (uuid) => find("party", cache.parties, uuid),
    policyInForce: (uuid) => cache.policies.get(uuid) ?? noPolicyInForce,
    hasEnded: (uuid) => cache.ended.has(uuid),
    mayHaveFallen: (uuid) => cache.mayHaveFallen.has(uuid),
    policy: (uuid, version) => sealedPolicy(deps, cache, `${uuid}/${version}`),
    certificates: (uuid) => list<CertificateFacts>("certificate", uuid),
    keys: (uuid) => list<KeyFacts>("key", uuid),
    mandates: (uuid) => list<MandateFacts>("mandate", uuid),
    policies: (uuid) => list<PolicyFacts>("policy", uuid),
    custody: (uuid) => list<CustodyFacts>("custody", uuid),
    blockedBusinesses: (company) => cache.blocks.blockedBusinesses(company),
    hasBlocked: (uuid, company) => cache.blocks.hasBlocked(uuid, company),
    companyGroups: cache.groups,
    listedCompanies: cache.listings,
    certifiedNames: cache.names,
    takenDown: cache.takenDown,
    ads: cache.ads,
  };
}

/** A policy version never changes once it is accepted. */
async function sealedPolicy(
  { store }: RegisterDeps,
  { sealedPolicies }: Cache,
  name: string,
): Promise<PolicyFacts | null> {
  const known = sealedPolicies.get(name);
  if (known !== undefined) return known;
  const entry = await store.get("policy", name);
  if (entry === null) return null;
  const facts = JSON.parse(entry.body) as PolicyFacts;
  sealedPolicies.set(name, facts);
  return facts;
}

function newestFirst<T>(entries: readonly RegisterEntry[]): readonly T[] {
  return entries.toSorted((a, b) => b.change - a.change).map((entry) => JSON.parse(entry.body) as T);
}

async function loadEntry<T>(
  deps: RegisterDeps,
  progress: Progress,
  wanted: { readonly table: RegisterTable; readonly kept: BoundedMap<string, Kept<T>>; readonly key: string },
): Promise<T | null> {
  const { seen } = progress;
  const readAtMs = deps.clock.now();
  const entry = await deps.store.get(wanted.table, wanted.key);
  if (entry === null) return null;
  const facts = JSON.parse(entry.body) as T;
  if (seen === progress.seen) wanted.kept.set(wanted.key, { facts, change: entry.change, readAtMs });
  return facts;
}

/** See G5. `find` asks the store for a key that is not cached. */
function keysOf(
  {
    deps,
    progress,
    cache,
  }: { readonly deps: RegisterDeps; readonly progress: Progress; readonly cache: Cache },
  find: (keyId: string) => MaybeLater<KeyFacts | null>,
): Pick<Register, "key" | "learn"> {
  const { missing } = cache;
  const noting = async (keyId: string, key: Promise<KeyFacts | null>): Promise<KeyFacts | null> => {
    const { seen } = progress;
    const readAtMs = deps.clock.now();
    const found = await key;
    // Nothing is recorded about a key that something was heard of while it was being read (G1).
    if (found === null && seen === progress.seen) missing.set(keyId, readAtMs);
    return found;
  };
  return {
    key: (keyId) => {
      const missedAtMs = missing.get(keyId);
      if (missedAtMs !== undefined && deps.clock.now() - missedAtMs < missingMs) return null;
      const key = find(keyId);
      return key instanceof Promise ? noting(keyId, key) : key;
    },
    learn: (keyId) => {
      progress.seen += 1;
      missing.delete(keyId);
    },
  };
}

async function follow(deps: RegisterDeps, cache: Cache, progress: Progress): Promise<void> {
  const startedAtMs = deps.clock.now();
  for (let more = true; more; ) {
    const page = await progress.feed.next(pageLimit);
    if (page.entries.length > 0) progress.seen += 1;
    for (const entry of page.entries) apply(cache, entry, startedAtMs);
    more = page.more;
  }
  progress.refreshedAtMs = startedAtMs;
}

/** Applies an entry; one that is already known changes nothing. */
function apply(cache: Cache, entry: RegisterEntry, readAtMs: number): void {
  cache.lists.delete(`${entry.table}/${entry.partition}`);
  if (entry.table === "key") {
    cache.missing.delete(entry.key);
    replace(cache.keys, entry, readAtMs);
    const key = JSON.parse(entry.body) as KeyFacts;
    if (isEndedSealer(key)) cache.ended.add(entry.partition);
    if (key.compromised_from !== null) cache.mayHaveFallen.add(entry.partition);
  }
  if (entry.table === "party") {
    replace(cache.parties, entry, readAtMs);
    const party = JSON.parse(entry.body) as PartyFacts;
    cache.blocks.put(entry.key, party.blocked_groups, entry.change);
    cache.listings.put(entry.key, party.listed, entry.change);
    cache.groups.put(party, entry.change);
    cache.names.put(entry);
  }
  if (entry.table === "certificate") {
    cache.names.put(entry);
    const {
      status,
      status_effective_from: from,
      issued_at: issued,
    } = JSON.parse(entry.body) as CertificateFacts;
    if (status !== "active") cache.ended.add(entry.partition);
    if (status !== "active" && from < issued) cache.mayHaveFallen.add(entry.partition);
  }
  if (["party", "key", "certificate"].includes(entry.table)) cache.listings.touch(entry.partition);
  if (entry.table === "ad" || entry.table === "campaign") cache.ads.put(entry);
  if (entry.table === "takedown") cache.takenDown.put(entry);
  if (entry.table === "policy") {
    const facts = JSON.parse(entry.body) as PolicyFacts;
    const { version, fallen_at: fallen, again_from: since = facts.live_from } = facts;
    const known = cache.policies.get(entry.partition);
    if (fallen !== undefined && known?.version === version) cache.policies.delete(entry.partition);
    if (fallen === undefined && (known?.since ?? "") < since)
      cache.policies.set(entry.partition, { ...policyInForce(facts), since });
  }
}

/** Whether something that people sealed, or the service for them, may have fallen with the key. */
function isEndedSealer({ role, revoked_at, compromised_from }: KeyFacts): boolean {
  return (role === "sealing" || role === "hosted") && (revoked_at !== null || compromised_from !== null);
}

function replace<T>(kept: BoundedMap<string, Kept<T>>, entry: RegisterEntry, readAtMs: number): void {
  const known = kept.get(entry.key);
  if (known === undefined || known.change > entry.change) return;
  const facts = known.change === entry.change ? known.facts : (JSON.parse(entry.body) as T);
  kept.set(entry.key, { facts, change: entry.change, readAtMs });
}

/** The text of the masks with which rows are served under this policy. */
export function policyInForce(facts: PolicyFacts): PolicyInForce {
  const masks = { ai_policy_schema: currentAiPolicySchema, ...facts.bits };
  return { version: facts.version, bitsText: policyBitsText(facts.version, masks) };
}

// The register as a region sees it: public facts of parties, keys, certificates, mandates, AI policies and custody.
// Also what is complete in each region: the listed companies, takedowns, blocks and the names of certified companies.
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
} from "../../actors/messages/business.ts";
import type { TakedownFacts } from "../../actors/messages/serving.ts";
import type { Clock } from "../../crypto/port.ts";
import { currentAiPolicySchema, noPolicyMasks, policyBitsText } from "../../protocol/ai-policy.ts";
import { type Envelope, openEnvelope, payloadTypes } from "../../protocol/dsse.ts";
import { parseCertificate } from "../../protocol/keys/certificate.ts";
import { brandWords, companyWords } from "../../protocol/records/company-name-rule.ts";
import {
  type BusinessBrands,
  type CertifiedNames,
  createNameIndex,
  noBrands,
} from "../../protocol/records/name-index.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { oneAtATime } from "../../std/semaphore.ts";
import type {
  RegisterEntry,
  RegisterFeed,
  RegisterStore,
  RegisterTable,
} from "../../storage/register-store.ts";
import { type AdBook, createAdBook, type FollowedAds } from "./ad-book.ts";
import { type CompanyGroups, createCompanyGroups } from "./company-groups.ts";

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
  readonly ads: AdBook;
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
  readonly ads: FollowedAds;
}

interface Progress {
  readonly feed: RegisterFeed;
  /** Incremented with every page of changes (G1). */
  seen: number;
  refreshedAtMs: number | null;
}

/** The register of this region, cached; it is empty until the first `refresh`. */
export function createRegister(deps: RegisterDeps): Register {
  const entriesMax = deps.entriesMax ?? entriesMaxDefault;
  const cache: Cache = {
    keys: new BoundedMap(entriesMax),
    missing: new BoundedMap(missingMax),
    parties: new BoundedMap(entriesMax),
    lists: new BoundedMap(Math.ceil(entriesMax / 100)),
    policies: new Map(),
    ended: new Set<string>(),
    mayHaveFallen: new Set<string>(),
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

// Which AI companies chose to be in the key directory; complete for all of them.

interface ListedCompanies {
  /** Replaces what a party chose, unless a higher change was already seen; undefined for one that never chose. */
  put(uuid: string, listed: boolean | undefined, change: number): void;
  /** Notes that something of a party changed: itself, a key or a certificate. */
  touch(uuid: string): void;
  /** In the order of their uuids. */
  all(): readonly string[];
  /** A number that rises when something of a company that is listed, or was, changes. */
  changes(): number;
}

function createListedCompanies(): ListedCompanies {
  const chosen = new Map<string, { readonly listed: boolean; readonly change: number }>();
  let changes = 0;
  return {
    put: (uuid, listed, change) => {
      if (listed !== undefined && (chosen.get(uuid)?.change ?? -1) <= change)
        chosen.set(uuid, { listed, change });
    },
    touch: (uuid) => {
      if (chosen.has(uuid)) changes += 1;
    },
    changes: () => changes,
    all: () => [...chosen].flatMap(([uuid, { listed }]) => (listed ? [uuid] : [])).sort(),
  };
}

// What operators took out of serving, as far as this region has heard: complete, like blocks, and bounded by the number of takedowns.
// Readers ask it beside what is stored: a large business leaves the indexes over minutes, and is served no more at once.

interface TakenDown {
  put(entry: Pick<RegisterEntry, "key" | "change" | "body">): void;
  has(businessUuid: string, recordId: string): boolean;
  /** What keeps the record out of serving; null if nothing does. */
  of(businessUuid: string, recordId: string): TakedownFacts | null;
  /** The businesses of which nothing is served. */
  readonly businesses: readonly string[];
  /** The takedowns in force. */
  all(): readonly TakedownFacts[];
}

/** The takedowns in force, from the entries of the register in whatever order they come. */
export function createTakenDown(): TakenDown {
  const inForce = new Map<string, TakedownFacts>();
  const changes = new Map<string, number>();
  let businesses: readonly string[] = [];
  const of: TakenDown["of"] = (uuid, recordId) => inForce.get(uuid) ?? inForce.get(recordId) ?? null;
  return {
    put: ({ key, change, body }) => {
      if ((changes.get(key) ?? -1) >= change) return;
      changes.set(key, change);
      const facts = JSON.parse(body) as TakedownFacts;
      if (facts.lifted_at === null) inForce.set(key, facts);
      else inForce.delete(key);
      businesses = [...inForce.values()].flatMap((each) =>
        each.record_id === null ? [each.business_uuid] : [],
      );
    },
    of,
    has: (uuid, recordId) => inForce.size > 0 && of(uuid, recordId) !== null,
    get businesses() {
      return businesses;
    },
    all: () => [...inForce.values()],
  };
}

// Which businesses have blocked which groups of AI companies; complete for all businesses.

/** A company meets the blocks of its own group and of every group that it was in. */
type GroupMember = Pick<PartyFacts, "group" | "former_groups">;

const nobody: readonly string[] = Object.freeze([]);

interface BlockList {
  /** Replaces what a business blocks, unless a higher change was already seen. */
  put(businessUuid: string, groups: readonly string[], change: number): void;
  /** Every business that blocked a group of the company, once. */
  blockedBusinesses(company: GroupMember): readonly string[];
  hasBlocked(businessUuid: string, company: GroupMember): boolean;
}

interface Blockers {
  readonly businesses: Set<string>;
  /** The same as a list, until one more blocks the group or one fewer. */
  listed: readonly string[] | null;
}

/** Who blocks whom, from the entries of the register in whatever order they come. */
export function createBlockList(): BlockList {
  const ofBusiness = new Map<string, { readonly groups: readonly string[]; readonly change: number }>();
  const ofGroup = new Map<string, Blockers>();
  const blockersOf = (group: string): readonly string[] => {
    const found = ofGroup.get(group);
    if (found === undefined) return nobody;
    found.listed ??= [...found.businesses];
    return found.listed;
  };
  const add = (group: string, uuid: string): void => {
    const found = ofGroup.get(group) ?? { businesses: new Set(), listed: null };
    found.businesses.add(uuid);
    found.listed = null;
    ofGroup.set(group, found);
  };
  const remove = (group: string, uuid: string): void => {
    const found = ofGroup.get(group);
    if (found === undefined) return;
    found.businesses.delete(uuid);
    found.listed = null;
    if (found.businesses.size === 0) ofGroup.delete(group);
  };
  return {
    put: (uuid, groups, change) => {
      const known = ofBusiness.get(uuid);
      if (known !== undefined && known.change > change) return;
      for (const group of known?.groups ?? nobody) if (!groups.includes(group)) remove(group, uuid);
      for (const group of groups) add(group, uuid);
      ofBusiness.set(uuid, { groups, change });
    },
    blockedBusinesses: ({ group, former_groups: former = nobody }) => {
      const own = blockersOf(group);
      if (former.length === 0) return own;
      return [...new Set([...own, ...former.flatMap(blockersOf)])];
    },
    hasBlocked: (uuid, { group, former_groups: former = nobody }) => {
      const blocked = ofBusiness.get(uuid)?.groups;
      return blocked !== undefined && [group, ...former].some((each) => blocked.includes(each));
    },
  };
}

// The names of the companies that the service certified, from the register that a node follows: businesses and AI
// companies. With them the brands of the businesses.
//   F1. A company is included while the newest issuance of its certificate, by its change in the register, is active: a
//       company whose certificate is revoked, closed or withdrawn is no longer protected.
//   F2. A brand is included while an operator has confirmed it as the business's own, a served business file of the business names it
//       in `brands_owned`, and the company is (F1).
//   F3. The same entries give the same names, regardless of order and repetition.
// Memory is bounded by the number of companies: for each, the changes and, while it is active, its legal name and words; and by the
// number of brands that the actor of a business keeps (C2 in actors/business/domains.ts).

interface FollowedNames extends CertifiedNames {
  /** The companies whose legal name contains the text, in any case of letters; walks all of them. */
  named(text: string, limit: number): readonly string[];
  /** Applies an entry of the certificate table or of the party table. */
  put(entry: RegisterEntry): void;
}

interface Company {
  /** The changes of the newest entries that were applied. */
  readonly certified: number;
  readonly described: number;
  /** Null if the newest issuance is not active. */
  readonly legalName: string | null;
  readonly brands: BusinessBrands;
  /** The confirmed brands that a served file names. */
  readonly owned: readonly string[];
}

const unknown: Company = { certified: 0, described: 0, legalName: null, brands: noBrands, owned: [] };

/** The names of certified companies, from the entries of the register in whatever order they come. */
export function createCertifiedNames(): FollowedNames {
  const companies = new Map<string, Company>();
  const index = createNameIndex();
  let changes = 0;
  return {
    index,
    changes: () => changes,
    legalNameOf: (uuid) => companies.get(uuid)?.legalName ?? null,
    brandsOf: (uuid) => companies.get(uuid)?.brands ?? noBrands,
    named: (text, limit) => {
      const wanted = text.toLowerCase();
      const found: string[] = [];
      for (const [uuid, { legalName }] of companies) {
        if (found.length === limit) break;
        if (legalName?.toLowerCase().includes(wanted) === true) found.push(uuid);
      }
      return found;
    },
    put: (entry) => {
      const before = companies.get(entry.partition) ?? unknown;
      const after = entry.table === "party" ? described(before, entry) : certified(before, entry);
      if (after === before) return;
      companies.set(entry.partition, after);
      changes += 1;
      const [left, come] = [namesOf(before), namesOf(after)];
      if (left.join("\n") === come.join("\n")) return;
      for (const name of left) index.remove(name.split(" "));
      for (const name of come) index.add(name.split(" "));
    },
  };
}

/** The protected names of a company, each as its folded words. */
function namesOf({ legalName, owned }: Company): readonly string[] {
  if (legalName === null) return [];
  const words = [companyWords(legalName), ...owned.map(brandWords)].map((each) => each.join(" "));
  return [...new Set(words)].filter((each) => each !== "");
}

function certified(company: Company, { change, body }: RegisterEntry): Company {
  if (company.certified >= change) return company;
  return { ...company, certified: change, legalName: activeName(JSON.parse(body) as CertificateFacts) };
}

function described(company: Company, { change, body }: RegisterEntry): Company {
  if (company.described >= change) return company;
  const { brands } = JSON.parse(body) as PartyFacts;
  // Most parties declare nothing.
  if (brands === undefined && company === unknown) return company;
  const { confirmed = [], sold = [], owned = [] } = brands ?? {};
  const confirmedWords = new Set(confirmed.map((name) => brandWords(name).join(" ")));
  return {
    ...company,
    described: change,
    brands: confirmed.length + sold.length === 0 ? noBrands : { confirmed, sold },
    owned: owned.filter((name) => confirmedWords.has(brandWords(name).join(" "))),
  };
}

function activeName({ status, envelope }: CertificateFacts): string | null {
  if (status !== "active") return null;
  const payload = openEnvelope(JSON.parse(envelope) as Envelope, payloadTypes["certificate.v1"]);
  const certificate = payload.ok ? parseCertificate(payload.value) : payload;
  // A later format is for nodes that know it: this one keeps following the register.
  return certificate.ok ? certificate.value.legal_name : null;
}

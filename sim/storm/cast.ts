// The parties of a storm: honest ones that take half of the node together, and hostile ones, each of which takes a different thing
// that others need.

import type { Random } from "../kernel/random.ts";
import { registerBusiness, registerCompany, type SimCompany } from "../world/setup.ts";
import {
  type Act,
  batch,
  check,
  fetchRecord,
  file,
  forgery,
  image,
  type Publisher,
  type Stage,
  search,
  unfinishedBody,
} from "./acts.ts";

/** How many honest acts of each kind arrive in a second. */
export const honestRates = { search: 180, fetch: 100, publish: 40, check: 100, file: 4, image: 4 } as const;
export type HonestKind = keyof typeof honestRates;

export const hostileKinds = {
  validations: "a business has batches of 50 records validated",
  batches: "a business pushes batches of 200 records",
  files: "three businesses send files as slowly as they may",
  lines: "a business sends files of tiny lines",
  images: "a business sends images that take long to decode",
  searches: "an AI company searches by words that most rows have",
  requests: "an AI company fetches as fast as it is answered",
  checks: "a stranger has 64 connections verify",
  forgeries: "a stranger sends forged signatures over 64 connections",
  bodies: "three businesses send 16 bodies each of 16 MiB that never end",
} as const;
export type HostileKind = keyof typeof hostileKinds;

/** How many connections an act is repeated over. */
interface Lanes {
  readonly act: Act;
  readonly count: number;
}

export interface Cast {
  /** Each of them is done by one honest party after another. */
  readonly honest: Readonly<Record<HonestKind, readonly Act[]>>;
  readonly hostile: Readonly<Record<HostileKind, readonly Lanes[]>>;
}

const honestCompanies = 8;
const honestBusinesses = 16;
const hostileBusinesses = 3;
/** The body of a small batch, and of a large one. */
const smallBytes = 20_000;
const largeBytes = 8_000_000;

export async function openCast(stage: Stage, random: Random, region: string): Promise<Cast> {
  const businesses: Publisher[] = [];
  const companies: SimCompany[] = [];
  const { parts } = stage.world;
  const newParty = (): string => {
    const uuid = random.uuid();
    parts.homes.set(uuid, region);
    return uuid;
  };
  const caps = { records_per_hour: 1_000_000, bytes_per_day: 1e12 };
  for (let at = 0; at < honestBusinesses + hostileBusinesses; at += 1) {
    const given = { uuid: newParty(), keys: 1, ends: null, caps, hasPolicy: false };
    businesses.push({
      business: await registerBusiness(parts, stage.node, given),
      seq: 0,
      last: Promise.resolve(),
    });
  }
  for (let at = 0; at <= honestCompanies; at += 1)
    companies.push(await registerCompany(parts, stage.node, newParty()));
  const [company] = companies.splice(honestCompanies);
  const [first, second, third] = businesses.splice(honestBusinesses);
  if (company === undefined || first === undefined || second === undefined || third === undefined)
    throw new Error("a storm has hostile parties");
  const recordIds = await publishedBy(stage, businesses);
  return {
    honest: honestActs(stage, { businesses, companies, recordIds }),
    hostile: hostileActs(stage, { company, businesses: [first, second, third], recordIds }),
  };
}

/** What can be fetched: records of each honest business. */
async function publishedBy(stage: Stage, businesses: readonly Publisher[]): Promise<readonly string[]> {
  const ids: string[] = [];
  const plan = { route: "publish", records: 20, bytes: smallBytes } as const;
  for (const business of businesses) {
    const code = await batch(stage, business, plan, (recordIds) => ids.push(...recordIds))();
    if (code !== "ok") throw new Error(`the records of a storm are refused with ${code}`);
  }
  return ids;
}

function honestActs(
  stage: Stage,
  {
    businesses,
    companies,
    recordIds,
  }: {
    readonly businesses: readonly Publisher[];
    readonly companies: readonly SimCompany[];
    readonly recordIds: readonly string[];
  },
): Cast["honest"] {
  const small = { route: "publish", records: 3, bytes: smallBytes } as const;
  const shortFile = { pieces: 2, linesPerPiece: 2, pauseMs: 50 };
  return {
    search: companies.map((company) => search(stage, company)),
    fetch: companies.map((company) => fetchRecord(stage, company, recordIds)),
    publish: businesses.map((business) => batch(stage, business, small)),
    check: ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((address) => check(stage, address)),
    file: businesses.map((business) => file(stage, business, shortFile)),
    image: businesses.map(({ business }) => image(stage, business.uuid, 40)),
  };
}

function hostileActs(
  stage: Stage,
  {
    company,
    businesses,
    recordIds,
  }: {
    readonly company: SimCompany;
    readonly businesses: readonly [Publisher, Publisher, Publisher];
    readonly recordIds: readonly string[];
  },
): Cast["hostile"] {
  const [publisher] = businesses;
  const { uuid } = publisher.business;
  const slowFile = { pieces: 1_000, linesPerPiece: 1, pauseMs: 400 };
  const tinyLines = { pieces: 20, linesPerPiece: 200, pauseMs: 5 };
  const validated = { route: "validate", records: 50, bytes: largeBytes } as const;
  const pushed = { route: "publish", records: 200, bytes: largeBytes } as const;
  return {
    validations: [{ act: batch(stage, publisher, validated), count: 4 }],
    batches: [{ act: batch(stage, publisher, pushed), count: 2 }],
    files: businesses.map((business) => ({ act: file(stage, business, slowFile), count: 12 })),
    lines: [{ act: file(stage, publisher, tinyLines), count: 12 }],
    images: [{ act: image(stage, uuid, 400), count: 8 }],
    searches: [{ act: search(stage, company, "thing"), count: 16 }],
    requests: [{ act: fetchRecord(stage, company, recordIds), count: 16 }],
    checks: [{ act: check(stage, "198.51.100.1"), count: 64 }],
    forgeries: [{ act: forgery(stage, company), count: 64 }],
    bodies: businesses.map(({ business }) => ({ act: unfinishedBody(stage, business.uuid), count: 16 })),
  };
}

// Which records stand (verifier/standing.ts), as the register of this region knows it at the moment in which they are served. What fell
// leaves the stores and indexes with the review of its business, which takes as long as the business is large; readers ask
// here, so that from the register's next refresh on nothing of it is served, however long that takes.
//   RN1. Of a business of which nothing can have fallen, nothing is read, and the answer is at hand.
//   RN2. What a version's seal says never changes, so it is read once for a row, and kept.
//   RN3. A register that has not heard yet of a key or a certificate says nothing against what the service accepted.
//   RN4. A row whose version is not found, or is purged, is not served: of such a business nobody can say that it stands.

import type { AdSeal } from "../../actors/messages/ads.ts";
import { openStored } from "../../protocol/dsse.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import { openSidecar } from "../../protocol/signed-version.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { RecordStore, RecordVersion, VersionOrigin } from "../../storage/record-store.ts";
import type { RowHit } from "../../storage/row-index.ts";
import type { AcceptedSeal } from "../../verifier/standing.ts";
import { issuancesOf } from "../register/home-evidence.ts";
import type { MaybeLater, Register } from "../register/register.ts";
import { acceptedFault, statedSeal } from "../register/standing.ts";
import { signedRowFacts } from "./receipts.ts";

export interface RecordStandingDeps {
  readonly register: Register;
  readonly records: RecordStore;
}

export interface RecordStanding {
  /** Whether a version stands. */
  version(version: Pick<RecordVersion, "business_uuid" | "sidecar">): MaybeLater<boolean>;
  /** Whether the newest version of a record stands, served or not. */
  newest(businessUuid: string, recordId: string): MaybeLater<boolean>;
  /** The versions of a business that stand. */
  versions(businessUuid: string, versions: readonly VersionOrigin[]): MaybeLater<readonly VersionOrigin[]>;
  /** The rows whose versions stand. */
  rows(hits: readonly RowHit[]): MaybeLater<readonly RowHit[]>;
}

/** Maximum number of rows whose seals are kept (RN2). */
const sealsMax = 20_000;

/** Whether records still stand, asked of the register before they are served. */
export function createRecordStanding({ register, records }: RecordStandingDeps): RecordStanding {
  const seals = new BoundedMap<string, AcceptedSeal>(sealsMax);
  const standsIn = async (uuid: string, { sidecar }: Pick<RecordVersion, "sidecar">): Promise<boolean> => {
    const seal = sealIn(sidecar);
    return seal !== null && (await standsNow(register, uuid))(seal);
  };
  const sealOf = async (hit: RowHit): Promise<AcceptedSeal | null> => {
    const { signature } = signedRowFacts(hit.row);
    const known = seals.get(signature);
    if (known !== undefined) return known;
    const seal = await sealOfRow(records, hit);
    if (seal !== null) seals.set(signature, seal);
    return seal;
  };
  const newestStands = async (uuid: string, record_id: string): Promise<boolean> => {
    const [newest] = await records.listVersions(record_id, null, 1);
    if (newest === undefined) return true;
    const { generation, hash } = newest;
    const published = await records.readPublished({ record_id, generation, hash });
    return published === null || standsIn(uuid, published);
  };
  const judged = async (hits: readonly RowHit[]): Promise<readonly RowHit[]> => {
    const businesses = new Set(hits.map((hit) => hit.business_uuid).filter(register.mayHaveFallen));
    const judges = new Map(
      await Promise.all(
        [...businesses].map(async (uuid) => [uuid, await standsNow(register, uuid)] as const),
      ),
    );
    const stand = await Promise.all(
      hits.map(async (hit) => {
        const stands = judges.get(hit.business_uuid);
        if (stands === undefined) return true;
        const seal = await sealOf(hit);
        return seal !== null && stands(seal);
      }),
    );
    return hits.filter((_, at) => stand[at]);
  };
  return {
    version: (version) =>
      !register.mayHaveFallen(version.business_uuid) || standsIn(version.business_uuid, version),
    newest: (uuid, recordId) => !register.mayHaveFallen(uuid) || newestStands(uuid, recordId),
    versions: (uuid, versions) => {
      if (!register.mayHaveFallen(uuid)) return versions;
      return Promise.all(versions.map((each) => standsIn(uuid, each))).then((stand) =>
        versions.filter((_, at) => stand[at]),
      );
    },
    rows: (hits) => (hits.some((hit) => register.mayHaveFallen(hit.business_uuid)) ? judged(hits) : hits),
  };
}

/** See RN3. */
const notHeardOf: readonly ReasonCode[] = ["key_unknown", "certificate_unknown"];

/** Judges what a business sealed by what the register says now. */
async function standsNow(register: Register, uuid: string): Promise<(seal: AcceptedSeal) => boolean> {
  const [keys, certificates, mandates] = await Promise.all([
    register.keys(uuid),
    register.certificates(uuid),
    register.mandates(uuid),
  ]);
  const facts = { certificates: issuancesOf(certificates), keys: { keys }, mandates };
  return (seal) => {
    const fault = acceptedFault(facts, seal);
    return fault === null || notHeardOf.includes(fault.code);
  };
}

/** The seal of the version that the row is of; null where it is not found, or has another row (RN4). */
async function sealOfRow(
  records: RecordStandingDeps["records"],
  { record_id, generation, row }: RowHit,
): Promise<AcceptedSeal | null> {
  const { origin: hash } = signedRowFacts(row);
  const published = await records.readPublished({ record_id, generation, hash });
  return published?.row === row ? sealIn(published.sidecar) : null;
}

/** Null for what remains of a purged version. */
function sealIn(sidecar: string): AcceptedSeal | null {
  const opened = openStored(sidecar, openSidecar);
  return opened.ok ? statedSeal(opened.value) : null;
}

// Which ads and campaigns stand (verifier/standing.ts), as the register of this region knows it: what does not is in no pool, sponsors no
// row, and neither a render nor a click of it is confirmed.
//   AS1. Of an advertiser of whom nothing ever ended, nothing is read: the answer is at hand.

/** An ad, a sponsored product or a campaign. */
export interface SealedOffer {
  readonly business_uuid: string;
  readonly sealed: AdSeal;
}

export type Stands = (offer: SealedOffer) => boolean;

const everything: Stands = () => true;

/** Judges what these advertisers offer. */
export function adStanding(register: Register, businesses: Iterable<string>): MaybeLater<Stands> {
  const ended = [...new Set(businesses)].filter((uuid) => register.hasEnded(uuid));
  return ended.length === 0 ? everything : readStanding(register, ended);
}

async function readStanding(register: Register, ended: readonly string[]): Promise<Stands> {
  const known = new Map(
    await Promise.all(ended.map(async (uuid) => [uuid, await standsNow(register, uuid)] as const)),
  );
  return ({ business_uuid: uuid, sealed }) => {
    const { is_stated: isStated, ...seal } = sealed;
    return known.get(uuid)?.({ ...seal, isStated, mandate_id: null }) ?? true;
  };
}

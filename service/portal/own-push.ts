// One push of a business as its people see it: how far it is, what is wrong in it by cause, and each record that was rejected.
//   OP1. A person who has no role in the business learns nothing of its pushes: every id is unknown to them (PO3 in owner.ts).
//   OP2. However large the push is, a bounded number of its records is read; where more were rejected, a further page begins behind them.

import { memberRoles } from "../../actors/messages/members.ts";
import type { PublishOutcome, PushReport, ResultDetails } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import { isPushId } from "../../protocol/identifiers.ts";
import { ok, type Result } from "../../protocol/result.ts";
import { isRefused } from "../answer.ts";
import { readOwnIds } from "../publishing/push-attempts.ts";
import { cursorAt, parsePage } from "../publishing/push-status.ts";
import { notThere, type OwnerRefusal } from "./owner.ts";
import type { SignedIn } from "./people.ts";
import {
  causesOf,
  type RecentPush,
  type RecentPushesDeps,
  type ShownCause,
  shownPush,
} from "./recent-pushes.ts";

/** A record of a push. */
export interface PushedRecord {
  readonly leaf_index: number;
  /** The business's own id; null where it cannot be read. */
  readonly own_id: string | null;
}

export interface RejectedRecord extends PushedRecord {
  readonly errors: PublishOutcome["errors"];
}

export interface OwnPush extends RecentPush {
  readonly key_id: string;
  readonly updated_at: string;
  readonly completed_at: string | null;
  readonly stalled: boolean;
  /** What is to be done about what ended it. */
  readonly remedy: string | null;
  /** Of so many rejected records from the beginning of the page on, the most frequent first. */
  readonly causes: readonly ShownCause<PushedRecord>[];
  readonly judged: number;
  readonly rejected: readonly RejectedRecord[];
  /** The cursor of the next page of rejected records; null on the last. */
  readonly next: string | null;
}

/** How many rejected records causes are made of. */
const judgedMax = 1_000;
const recordsPerPage = 20;
/** A push reads a bounded number of chunks at once, and so may say less than it is asked for. */
const readsMax = 10;

/**
 * One push with its faults, for somebody with a role in the business; refused with `not_there` for any other. Throws {@link
 * StoreError}.
 */
export async function ownPush(
  deps: RecentPushesDeps,
  who: SignedIn,
  {
    uuid,
    push_id,
    cursor,
  }: { readonly uuid: string; readonly push_id: string; readonly cursor: string | null },
): Promise<Result<OwnPush, OwnerRefusal>> {
  const allowed = await deps.owner.may(who, uuid, memberRoles);
  if (!allowed.ok) return allowed;
  const page = parsePage({ outcome: "rejected", cursor });
  const report =
    isPushId(push_id) && !isRefused(page)
      ? await readRejected(deps, { uuid, push_id, from_leaf: page.from_leaf })
      : null;
  if (report === null) return notThere;
  const { facts, updated_at, completed_at, stalled, error, found, next_leaf } = report;
  const causes = causesOf(
    deps,
    found.map((place) => ({ place, errors: place.errors })),
    ({ leaf_index }) => leaf_index,
  );
  const shown = found.slice(0, recordsPerPage);
  const placed = [...causes.flatMap(({ places }) => places), ...shown];
  const ownIds = await readOwnIds(
    deps,
    uuid,
    placed.flatMap(({ names }) => names ?? []),
  );
  const named = ({ leaf_index, names }: FoundRecord): PushedRecord => ({
    leaf_index,
    own_id: (names === null ? null : ownIds.get(names)) ?? null,
  });
  return ok({
    ...shownPush(report),
    key_id: facts.key_id,
    updated_at,
    completed_at,
    stalled,
    remedy: error === null ? null : deps.remedyOf(error.code),
    causes: causes.map(({ places, ...cause }) => ({ ...cause, places: places.map(named) })),
    judged: found.length,
    rejected: shown.map((each) => ({ ...named(each), errors: each.errors })),
    next: cursorAt(found[recordsPerPage]?.leaf_index ?? next_leaf),
  });
}

interface FoundRecord extends Pick<PublishOutcome, "leaf_index" | "errors"> {
  readonly names: ResultDetails["names"];
}

/** See OP2. Null for a push that the business does not have. */
async function readRejected(
  { actors }: Pick<RecentPushesDeps, "actors">,
  {
    uuid,
    push_id,
    from_leaf,
  }: { readonly uuid: string; readonly push_id: string; readonly from_leaf: number },
): Promise<(PushReport & { readonly found: readonly FoundRecord[] }) | null> {
  const found: FoundRecord[] = [];
  for (let [leaf, reads] = [from_leaf, 1]; ; reads += 1) {
    const limit = judgedMax - found.length;
    const asked = { outcome: "rejected", from_leaf: leaf, limit, details: true } as const;
    const report = await actors.ask(pushRef(uuid, push_id), { type: "push.status", ...asked });
    if (report === null) return null;
    found.push(
      ...report.results.map(({ leaf_index, record_id, errors }, at) => ({
        leaf_index,
        errors,
        names: record_id ?? report.details?.[at]?.names ?? null,
      })),
    );
    const { next_leaf } = report;
    if (next_leaf === null || found.length >= judgedMax || reads === readsMax) return { ...report, found };
    leaf = next_leaf;
  }
}

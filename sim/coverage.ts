// Over many seeds: which faults fired and which marks were reached. A kind of fault that never fires, or a mark that is
// never reached, tests nothing: a run long enough to expect all of them fails without them.

import { type FaultKind, faultKinds } from "./world/faults.ts";

/** Runs of at least this many seeds must show everything. */
export const fullCoverageSeeds = 500;

/** What the worlds must reach: each is a place where a past or conceivable bug could hide. */
const coverageMarks = `
  actor.lost commit.joined actor.commit_failed actor.read_failed actors.poll_failed lease.lost lease.unnoticed node.died
  node.drained night version.written_again
  publish.ok publish.seq_not_increasing publish.idempotency_in_progress publish.idempotency_key_reused
  publish.ok_without_index publish.rate_limited publish.unavailable publish.held publish.mandate_missing
  publish.resumed
  push.complete push.abandoned_dropped bulk.uploaded import.ok import.ended push.failed hold.settled
  validate.ok cancel.ok cancel.push_not_cancellable push.given_up notice.given
  leaf.superseded leaf.duplicate_in_batch leaf.money_not_string leaf.display_domain_mismatch
  leaf.scope_violation leaf.url_flagged leaf.json_malformed leaf.out_of_scope leaf.processing_failed
  leaf.cancelled leaf.hold_rejected leaf.hold_expired leaf.key_revoked leaf.ai_policy_version_mismatch
  log.sequenced log.unwitnessed log.proven log.consistent log.receipt_proven
  search.ok search.nonce_reused search.unavailable fetch.ok fetch.not_found fetch.nonce_reused
  search.allowance_exhausted fetch.allowance_exhausted history.linearizable
  key.revoked key.revoked_from key.rotated mandate.renewed mandate.revoked seal.stands seal.falls
  key.registered key.key_taken policy.sealed group.blocked takedown.imposed takedown.lifted
  remove.ok remove.not_found record.purged record.fell
  own.reads own.listed own.purged own.rejected own.refused.seq_not_increasing insight.counted
  insight.demand insight.event insight.not_written
  money.entered money.charged allowance.unavailable ledger.unanswered ledger.page_repeated`
  .trim()
  .split(/\s+/);

export class Coverage {
  readonly fired = new Map<FaultKind, number>();
  readonly marks = new Map<string, number>();
  seeds = 0;

  add(result: {
    readonly fired: ReadonlyMap<FaultKind, number>;
    readonly marks: ReadonlyMap<string, number>;
  }): void {
    this.seeds += 1;
    for (const [kind, count] of result.fired) this.fired.set(kind, (this.fired.get(kind) ?? 0) + count);
    for (const [mark, count] of result.marks) this.marks.set(mark, (this.marks.get(mark) ?? 0) + count);
  }

  /** Names of what never happened. */
  missing(): readonly string[] {
    return [
      ...faultKinds.filter((kind) => !this.fired.has(kind)).map((kind) => `fault ${kind}`),
      ...coverageMarks.filter((mark) => !this.marks.has(mark)).map((mark) => `mark ${mark}`),
    ];
  }
}

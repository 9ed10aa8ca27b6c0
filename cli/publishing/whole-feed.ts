// What a push leaves as it is, and what `svc push --whole` withdraws: the live products that the file no longer has.

import { SvcProblemError } from "../../client/errors.ts";
import {
  decideWithdrawal,
  type LiveProduct,
  type PlanDeps,
  type PushPlan,
  planPush,
  type RemovalLimit,
} from "../../client/push-plan.ts";
import type { RecordSet } from "../../client/record-set.ts";
import { type RemovalDeps, removeRecords } from "../../client/removal.ts";
import { type Arguments, UsageError } from "../command.ts";
import { type Terminal, visible } from "../terminal.ts";
import type { FeedReport } from "./feed-report.ts";
import { number, type ProgressStyle } from "./push-progress.ts";
import { products } from "./push-summary.ts";

export const wholeOptions = `
    --whole                the file is the whole catalogue: withdraw what it no longer has
    --remove-at-most N|N%  with --whole: withdraw nothing if it would be more than this many products, or this share of them`;

export interface Whole {
  /** Null if no limit was set: what the file no longer has is shown only. */
  readonly limit: RemovalLimit | null;
}

/** Null without `--whole`. */
export function wholeOf(args: Arguments): Whole | null {
  const most = args.text("remove-at-most");
  if (most !== null && !args.flag("whole")) throw new UsageError("--remove-at-most belongs to --whole.");
  if (!args.flag("whole")) return null;
  if (most === null) return { limit: null };
  const [, digits = "", share] = /^(\d{1,9}(?:\.\d{1,3})?)(%?)$/.exec(most) ?? [];
  const value = Number(digits);
  const isRight = digits !== "" && (share === "%" ? value <= 100 : Number.isInteger(value));
  if (!isRight)
    throw new UsageError(
      `--remove-at-most is ${JSON.stringify(most)}; use a number of products such as 50, or a share such as 5%.`,
    );
  return { limit: share === "%" ? { percent: value } : { count: value } };
}

export interface Screen {
  readonly terminal: Terminal;
  readonly style: ProgressStyle;
}

/** Null if the service lets the catalogue be read no more in this hour and the file is not taken as a whole. */
export async function planFile(
  deps: PlanDeps,
  { records, report }: { readonly records: RecordSet; readonly report: FeedReport },
  { terminal, style, isWhole }: Screen & { readonly isWhole: boolean },
): Promise<PushPlan | null> {
  const onRead = (live: number): void => terminal.status(`read ${number(live)} live products`);
  try {
    const plan = await planPush({ ...deps, onRead }, records, report.leftOutIds);
    if (isWhole) for (const each of plan.missing) await report.addMissing(each);
    if (style === "json") tellPlan(terminal, plan, records.lengths.length);
    else if (style === "people") showPlan(terminal, plan, { records: records.lengths.length, isWhole });
    return plan;
  } catch (error) {
    if (isWhole || !(error instanceof SvcProblemError) || error.problem["reason"] !== "catalogue_reads")
      throw error;
    terminal.note(`${error.message} Nothing is compared: every product is sent.`);
    return null;
  }
}

function tellPlan(terminal: Terminal, plan: PushPlan, records: number): void {
  const { changed, unchanged, live, missing, isWaiting } = plan;
  const counts = { records, changed: changed.length, unchanged, live, missing: missing.length };
  terminal.print(JSON.stringify({ type: "push.planned", ...counts, waiting: isWaiting }));
}

function showPlan(
  terminal: Terminal,
  plan: PushPlan,
  { records, isWhole }: { readonly records: number; readonly isWhole: boolean },
): void {
  const { changed, unchanged, missing, isWaiting } = plan;
  if (isWaiting)
    terminal.note("An earlier push is still not settled, so nothing was compared: every product is sent.");
  if (unchanged > 0)
    terminal.note(
      `${number(unchanged)} of ${products(records)} ${unchanged === 1 ? "is" : "are"} unchanged; ${number(changed.length)} to send.`,
    );
  if (missing.length > 0) terminal.note(missingText(missing, isWhole));
}

const idsShownMax = 10;

function missingText(missing: readonly LiveProduct[], isWhole: boolean): string {
  const isOne = missing.length === 1;
  const text = `${number(missing.length)} ${isOne ? "live product is" : "live products are"} not in the file`;
  if (!isWhole)
    return `${text} and ${isOne ? "stays" : "stay"} published; --whole withdraws ${isOne ? "it" : "them"}.`;
  const shown = missing.slice(0, idsShownMax).map(({ business_product_id: id }) => visible(id));
  const more = missing.length - shown.length;
  return `${text}: ${shown.join(", ")}${more > 0 ? ` and ${number(more)} more` : ""}.`;
}

/** Why nothing may be withdrawn; null if it may. */
export function withdrawalRefused({ limit }: Whole, plan: PushPlan, report: FeedReport): string | null {
  const count = number(plan.missing.length);
  if (report.unnamed > 0)
    return `Nothing was withdrawn: of ${number(report.unnamed)} items of the file the id cannot be read, so nobody can tell which products it no longer has.`;
  if (plan.missing.length === 0) return null;
  if (limit === null)
    return `Nothing was withdrawn: say how many may be, such as --remove-at-most ${plan.missing.length} or --remove-at-most 5%.`;
  switch (decideWithdrawal(plan, limit)) {
    case "allowed":
      return null;
    case "over_limit":
      return `Nothing was withdrawn: ${count} are more than --remove-at-most allows.`;
    case "over_fifth":
      return `Nothing was withdrawn: ${count} of ${number(plan.live)} live products are more than one fifth, which a person decides. Look at them (--report FILE lists them), and name them in svc withdraw --from FILE.`;
  }
}

export interface Withdrawn {
  readonly withdrawn: number;
  /** How many of them may still be found in some region. */
  readonly found: number;
}

/** Withdraws what the file no longer has. */
export async function withdrawMissing(
  deps: RemovalDeps,
  { missing }: PushPlan,
  { terminal, style }: Screen,
): Promise<Withdrawn> {
  let withdrawn = 0;
  let found = 0;
  const recordIds = missing.map(({ record_id }) => record_id);
  await removeRecords(deps, { recordIds, action: "withdraw" }, (outcome) => {
    withdrawn += 1;
    if (outcome.live_in.length > 0) found += 1;
    if (style === "json") terminal.print(JSON.stringify({ type: "record.withdrawn", ...outcome }));
    else terminal.status(`withdrew ${number(withdrawn)} of ${number(missing.length)}`);
  });
  return { withdrawn, found };
}

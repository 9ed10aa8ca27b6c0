// Takedowns by operators: entries of the register, which say what is kept out of serving, since when, and what the business is told.
//   TD1. A takedown in force is kept as it is when it is repeated; one that was lifted may be followed by another.
//   TD2. A record is taken down whatever version of it is published, and one that is not live stays taken down until it is lifted.
//   TD3. The business gets a notice of each takedown and of each lift, with the statement of reasons.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp, recordType } from "../../protocol/identifiers.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { noticeEffects, type TakedownFacts, type TakedownNotice } from "../messages/serving.ts";
import type { Effect } from "../system/definition.ts";
import { noticesOf } from "./notices.ts";
import { type BusinessView, factsIn, type HeadRow, heads, lastNumber, type RegisterRow } from "./rows.ts";
import { restate, selectDeclared, selectNamed, setFileAside, silenceParty } from "./serving.ts";

export type TakedownCommand =
  | CommandOf<BusinessProtocol, "takedown.impose">
  | CommandOf<BusinessProtocol, "takedown.lift">;

/** The name of a takedown in the register: of a record, or of the whole business where `recordId` is null. */
export function takedownKey(recordId: string | null, uuid: string): string {
  return `takedown/${recordId ?? uuid}`;
}

interface TakedownChange {
  readonly key: string;
  readonly body: TakedownFacts;
  readonly events: readonly BusinessEvent[];
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
  readonly effects: readonly Effect[];
}

/** Selects what {@link changeTakedown} reads besides the entry of the takedown. */
export function selectForTakedown({ record_id }: TakedownCommand, uuid: string): readonly RowSelection[] {
  if (record_id === null) return selectDeclared(uuid);
  return [heads.select([record_id]), ...selectNamed(isFile(record_id) ? [record_id] : [], uuid)];
}

function isFile(recordId: string): boolean {
  return recordType(recordId) === "business_files";
}

/** What changes; `same` if it is so already, `unknown` for a record that the business does not have. */
export function changeTakedown(
  command: TakedownCommand,
  known: RegisterRow | undefined,
  view: BusinessView,
): TakedownChange | "same" | "unknown" {
  const { uuid } = view.snapshot.context;
  const { record_id } = command;
  const before = known === undefined ? null : factsIn("takedown", known);
  const isDown = before !== null && before.lifted_at === null;
  const imposes = command.type === "takedown.impose";
  if (isDown === imposes) return "same";
  const head = record_id === null ? undefined : heads.read(view, record_id);
  // An ad has no head: it is known by the register alone.
  if (record_id !== null && head === undefined && recordType(record_id) !== "ads") return "unknown";
  const key = takedownKey(record_id, uuid);
  const at = formatTimestamp(view.nowMs);
  const body = imposes
    ? ({
        business_uuid: uuid,
        record_id,
        statement_of_reasons: command.statement_of_reasons,
        taken_down_at: at,
        lifted_at: null,
      } as const)
    : before && { ...before, lifted_at: at };
  if (body === null) return "same";
  const notice = noticeOf(body, at, view);
  const { notice_id, state } = notice;
  const told = noticesOf([{ notice_id, facts: { kind: "takedown", record_id, state } }], view);
  const changed = { key, body, effects: [...noticeEffects(notice), ...told.effects] };
  if (record_id === null) {
    const { events, puts } = silenceParty(imposes, view);
    const taken = { type: "business.taken_down", taken_down: imposes } as const;
    return { ...changed, events: [taken, ...events], puts: [...puts, ...told.puts], deletes: told.deletes };
  }
  if (head === undefined) return { ...changed, events: [], puts: told.puts, deletes: told.deletes };
  const { events, puts, deletes } = headChange(record_id, { head, imposes }, view);
  return { ...changed, events, puts: [...puts, ...told.puts], deletes: [...deletes, ...told.deletes] };
}

/** See TD3. */
function noticeOf(facts: TakedownFacts, at: string, view: BusinessView): TakedownNotice {
  const { business_uuid, record_id, statement_of_reasons, lifted_at } = facts;
  const state = lifted_at === null ? "taken_down" : "lifted";
  const change = lastNumber(view, view.snapshot.context.change) + 1;
  return {
    v: 1,
    notice_id: `${record_id ?? business_uuid}.${state}.${change}`,
    business_uuid,
    record_id,
    state,
    statement_of_reasons,
    status_url: "/v1/takedowns",
    at,
  };
}

function headChange(
  recordId: string,
  { head, imposes }: { readonly head: HeadRow; readonly imposes: boolean },
  view: BusinessView,
): Pick<TakedownChange, "events" | "puts" | "deletes"> {
  const { taken_down: _before, ...kept } = head;
  const changed: HeadRow = imposes ? { ...kept, taken_down: true } : kept;
  const { puts, events } = restate([[recordId, changed]], view);
  const isNamed = head.live && isFile(recordId);
  const named = isNamed ? setFileAside(recordId, imposes, view) : { events: [], puts: [], deletes: [] };
  return {
    events: [...events, ...named.events],
    puts: [...(puts.length === 0 ? [heads.write(recordId, changed)] : puts), ...named.puts],
    deletes: named.deletes,
  };
}

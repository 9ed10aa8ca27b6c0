// What a text leads to that somebody searches for: actors by their id, a part of it or their state, and by the party, record,
// mandate, own id or ad that they stand for.
//   NR1. Parties and ads are looked for in what the node has of the register in memory, records and mandates by their whole id:
//        nothing is walked that grows with the records.

import type { AnyStateMachine } from "xstate";
import { businessRef, campaignRef } from "../../actors/messages/refs.ts";
import type { ActorDefinition } from "../../actors/system/definition.ts";
import { type ChartState, chartOf } from "../../machines/chart.ts";
import type { ActorRow, SearchResult } from "../../ops/inspection-shapes.ts";
import { collectionNames, isRecordId, isUuidV4 } from "../../protocol/identifiers.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { NodeServices } from "../services.ts";
import type { KnownActors } from "./known-actors.ts";
import { byUrgency, nameOf } from "./look.ts";
import { missingOf, type NodeAsker } from "./node-asker.ts";
import type { PassiveAttention } from "./passive-attention.ts";

export interface SearchParts {
  readonly services: Named;
  readonly definitions: readonly ActorDefinition[];
  readonly asker: NodeAsker;
  readonly known: KnownActors;
  readonly passive: () => Promise<PassiveAttention>;
}

/** By id, by a part of one such as a push's own id, or by the business that it begins with; then see {@link searchOther}. */
export async function search(parts: SearchParts, text: string, limit: number): Promise<SearchResult> {
  const { definitions, asker, known } = parts;
  const found = new Map<string, ActorRow>();
  const [askedKind, askedId] = kindIn(definitions, text);
  const question = { kind: askedKind, state: null, part: askedId, attention: false, after: "", limit };
  const answers = await asker.all("operators.actors", question);
  const byState = await asker.all("operators.actors", { ...question, state: text, part: null });
  for (const { value } of [...answers, ...byState])
    for (const row of value?.rows ?? []) found.set(nameOf(row), row);
  const kinds = definitions.filter(
    ({ kind, durability }) => durability === "journal" && (askedKind ?? kind) === kind,
  );
  let isComplete = true;
  for (const { kind } of kinds) {
    if (found.size >= limit) {
      isComplete = false;
      break;
    }
    const stored = await known.find(kind, askedId, limit);
    isComplete &&= stored.isComplete;
    const fresh = stored.ids.filter((id) => !found.has(`${kind}/${id}`)).slice(0, limit - found.size);
    const rows = await Promise.all(fresh.map((id) => known.row({ kind, id })));
    for (const row of rows) if (row !== null) found.set(nameOf(row), row);
  }
  const others = await searchOther(parts, text, limit);
  isComplete &&= others.isComplete;
  for (const row of others.rows) if (!found.has(nameOf(row))) found.set(nameOf(row), row);
  const actors = [...found.values()].sort(byUrgency).slice(0, limit);
  return { actors, is_complete: isComplete && found.size <= limit, missing: missingOf(answers) };
}

/** The kind and the rest of a text such as `push/…`; a text without one means every kind. */
function kindIn(definitions: readonly ActorDefinition[], text: string): [string | null, string] {
  const slash = text.indexOf("/");
  const kind = text.slice(0, Math.max(0, slash));
  return definitions.some((each) => each.kind === kind) ? [kind, text.slice(slash + 1)] : [null, text];
}

/**
 * By what an actor is not called: the legal name of its party or a part of that, a record, a business with one of its mandates
 * or own ids, an ad, or a state. Of states, the store is read as far as a page goes.
 */
async function searchOther(
  { services, definitions, known, passive }: SearchParts,
  text: string,
  limit: number,
): Promise<{ readonly rows: readonly ActorRow[]; readonly isComplete: boolean }> {
  const refs = await refsNamed(services, text, limit);
  const rows = await Promise.all(refs.map((ref) => known.row(ref)));
  const found = rows.filter((row) => row !== null);
  let isComplete = refs.length < limit;
  const ofState = definitions.filter(
    ({ durability, machine }) => durability === "journal" && hasState(machine, text),
  );
  for (const { kind } of ofState) {
    const page = await known.page({ kind, state: text, region: null, after: "", limit });
    found.push(...page.rows);
    isComplete &&= page.nextAfter === null;
  }
  if (ofState.length > 0) found.push(...(await passive()).rows.filter(({ states }) => isIn(states, text)));
  return { rows: found, isComplete };
}

function hasState(machine: AnyStateMachine, text: string): boolean {
  const has = ({ path, states }: ChartState): boolean => path === text || states.some(has);
  return has(chartOf(machine).root);
}

function isIn(states: readonly string[], text: string): boolean {
  return states.some((path) => path === text || path.startsWith(`${text}.`));
}

type Named = Pick<NodeServices, "register" | "records" | "recordIdOf">;

/** See NR1. */
async function refsNamed(services: Named, text: string, limit: number): Promise<readonly ActorRef[]> {
  const { register, records } = services;
  if (isRecordId(text)) {
    const head = await records.readHead(text);
    return head === null ? [] : [businessRef(head.business_uuid)];
  }
  const [, uuid = "", own = ""] = /^([^\s/]+)[\s/]+(.+)$/.exec(text) ?? [];
  if (isUuidV4(uuid)) return (await isOfBusiness(services, uuid, own)) ? [businessRef(uuid)] : [];
  const ads = [...register.ads.live()].filter(({ ad_id }) => ad_id === text);
  return [
    ...ads.map(({ business_uuid, campaign_id }) => campaignRef(business_uuid, campaign_id)),
    ...register.certifiedNames.named(text, limit).map(businessRef),
  ];
}

/** Whether the business has a mandate, or ever published a record, with this id. */
async function isOfBusiness(
  { register, records, recordIdOf }: Named,
  uuid: string,
  id: string,
): Promise<boolean> {
  if ((await register.mandates(uuid)).some(({ mandate_id }) => mandate_id === id)) return true;
  const heads = collectionNames.map((collection) => records.readHead(recordIdOf(uuid, collection, id)));
  return (await Promise.all(heads)).some((head) => head !== null);
}

// The actor of an application for a business. Keyed rows: 16 what was applied for, 17 what the applicant is told of a refusal, 18 the key
// of its evidence, 19 what evidence there is, 20 which operator took a file of it, and when.
//   AE1. All evidence of an application is encrypted under one key, which is in row 18 alone. From the decision on the row expires after
//        thirty days, and with the actor it is gone: that application ends, is taken back or is never decided.
//   AE2. Nothing is added or removed once it is decided, and by its applicant alone.
//   AE3. Nobody is handed a key before it is committed who takes which file.

import { type ApplicationEvent, applicationKeptMs, applicationMachine } from "../../machines/application.ts";
import { evidenceFilesMax } from "../../protocol/limits.ts";
import {
  type ApplicationFacts,
  type ApplicationProtocol,
  type ApplicationReply,
  type ApplicationReport,
  type ApplicationState,
  type EvidenceFile,
  type EvidenceRefusal,
  type EvidenceView,
  evidenceViewsShown,
} from "../messages/application.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { personRef } from "../messages/refs.ts";
import { type Decision, defineActor, type Effect, tell, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable, newestFirst } from "../system/row-table.ts";

type View = ViewOf<typeof applicationMachine>;
type Asked<T extends keyof ApplicationProtocol> = CommandOf<ApplicationProtocol, T>;
type Decided = Decision<ApplicationReply, ApplicationEvent>;

const facts = defineJsonTable<ApplicationFacts>("facts", 16);
const statements = defineTable<string>({ name: "statement", rt: 17, encode: String, decode: String });

const keys = defineTable<string>({ name: "key of evidence", rt: 18, encode: String, decode: String });
const files = defineJsonTable<EvidenceFile>("evidence", 19);
const views = defineJsonTable<EvidenceView>("views of evidence", 20);

const notOpen: EvidenceRefusal = { status: "refused", code: "not_open" };
const tooMany: EvidenceRefusal = { status: "refused", code: "too_many" };
const none = { reply: { status: "refused", state: "unknown" } } as const;

export const applicationActor = defineActor<"application", typeof applicationMachine>({
  kind: "application",
  schemaVersion: 1,
  machine: applicationMachine,
  durability: "journal",
  input: () => ({}),
  rows: () => [
    ...[facts, statements, keys].map((table) => table.select([""])),
    files.selectPage(evidenceFilesMax),
    views.selectPage(evidenceViewsShown),
  ],
  decide: {
    "application.file": file,
    "application.approve": ({ act }, view) =>
      deciding(view, change(view, "approved", { type: "application.approved", ...act })),
    "application.open": (_command, view) => change(view, "opened", { type: "business.opened" }),
    "application.refuse": refuse,
    "application.withdraw": ({ applicant }, view) => {
      const { snapshot } = view;
      return applicant === snapshot.context.applicant && snapshot.can({ type: "application.withdrawn" })
        ? { reply: { status: "done", changed: true }, events: [{ type: "application.withdrawn" }] }
        : { reply: { status: "refused", state: stateOf(snapshot.value) } };
    },
    "application.read": (_command, view) => ({ reply: reportOf(view) }),
    "evidence.begin": beginEvidence,
    "evidence.add": addEvidence,
    "evidence.remove": removeEvidence,
    "evidence.view": viewEvidence,
  },
  absent: {
    "application.approve": none,
    "application.open": none,
    "application.refuse": none,
    "application.withdraw": none,
    "application.read": { reply: null },
    "evidence.begin": { reply: notOpen },
    "evidence.add": { reply: notOpen },
    "evidence.remove": { reply: notOpen },
    "evidence.view": { reply: null },
  },
  effects: {
    leaveApplicant: (_params, { id, snapshot }: View) => [
      tell(personRef(snapshot.context.applicant), { type: "business.forget", uuid: id }),
    ],
    forgetEvidence: (_params, { id }: View) => [forgetting(id, null)],
  },
});

function file({ application }: Asked<"application.file">, view: View): Decided {
  const known = facts.read(view, "");
  if (known !== undefined && JSON.stringify(known) === JSON.stringify(application))
    return { reply: { status: "done", changed: false } };
  const { applicant, legal_name, country } = application;
  const filed = change(view, "waiting", {
    type: "application.filed",
    applicant,
    legal_name,
    country,
    at_ms: view.nowMs,
  });
  return filed.events === undefined ? filed : { ...filed, puts: [facts.write("", application)] };
}

function refuse({ act, statement, is_taken }: Asked<"application.refuse">, view: View): Decided {
  if (view.snapshot.value === "approved" && is_taken !== true)
    return { reply: { status: "refused", state: "approved" } };
  const decided = change(view, "refused", { type: "application.refused", ...act });
  return decided.events === undefined
    ? decided
    : deciding(view, { ...decided, puts: [statements.write("", statement)] });
}

/** The key of the evidence outlasts the first decision by thirty days (AE1). */
function deciding(view: View, decided: Decided): Decided {
  const key = keys.read(view, "");
  if (decided.events === undefined || key === undefined) return decided;
  const { rt } = keys;
  const expiresAtMs = view.row(rt, 0, "")?.expiresAtMs ?? view.nowMs + applicationKeptMs;
  return { ...decided, puts: [...(decided.puts ?? []), keys.write("", key, { expiresAtMs })] };
}

function forgetting(application: string, file: string | null): Effect {
  return { kind: "activity", name: "forgetEvidence", params: { application, file } };
}

/** See AE2. */
function isOpenTo(applicant: string, { snapshot }: View): boolean {
  return snapshot.value === "waiting" && snapshot.context.applicant === applicant;
}

/** Of the page that is selected, which is all of them. */
function fileIn(view: View, file: string): EvidenceFile | undefined {
  return files.readAll(view).find(({ k2 }) => k2 === file)?.value;
}

function beginEvidence({ applicant, fresh_key }: Asked<"evidence.begin">, view: View) {
  if (!isOpenTo(applicant, view)) return { reply: notOpen };
  if (files.readAll(view).length >= evidenceFilesMax) return { reply: tooMany };
  const known = keys.read(view, "");
  const reply = { status: "begun", key: known ?? fresh_key } as const;
  return known === undefined ? { reply, puts: [keys.write("", fresh_key)] } : { reply };
}

function addEvidence({ applicant, added }: Asked<"evidence.add">, view: View) {
  if (!isOpenTo(applicant, view)) return { reply: notOpen };
  const reply = { status: "added" } as const;
  if (fileIn(view, added.file) !== undefined) return { reply };
  if (files.readAll(view).length >= evidenceFilesMax) return { reply: tooMany };
  return { reply, puts: [files.write(added.file, { ...added, added_at_ms: view.nowMs })] };
}

function removeEvidence({ applicant, file }: Asked<"evidence.remove">, view: View) {
  if (!isOpenTo(applicant, view)) return { reply: notOpen };
  const reply = { status: "removed" } as const;
  if (fileIn(view, file) === undefined) return { reply };
  return { reply, deletes: [files.key(file)], effects: [forgetting(view.id, file)] };
}

/** See AE3. */
function viewEvidence({ file, by, view: drawn }: Asked<"evidence.view">, view: View) {
  const [evidence, key] = [fileIn(view, file), keys.read(view, "")];
  if (view.snapshot.value === "over" || evidence === undefined || key === undefined) return { reply: null };
  const noted = views.write(drawn, { file, by, at_ms: view.nowMs }, { k: newestFirst(view.nowMs) });
  return { reply: { evidence, key }, puts: [noted] };
}

/** What leads to the state, or to nothing where it is reached already; an approved application may be open by now. */
function change({ snapshot }: View, to: ApplicationState, event: ApplicationEvent): Decided {
  const state = stateOf(snapshot.value);
  if (snapshot.can(event)) return { reply: { status: "done", changed: true }, events: [event] };
  const isThere = state === to || (to === "approved" && state === "opened");
  return {
    reply: isThere && to !== "waiting" ? { status: "done", changed: false } : { status: "refused", state },
  };
}

function stateOf(value: View["snapshot"]["value"]): ApplicationState | "unknown" {
  return value === "over" ? "unknown" : value;
}

function reportOf(view: View): ApplicationReport | null {
  const { value, context } = view.snapshot;
  const [known, state] = [facts.read(view, ""), stateOf(value)];
  if (known === undefined || state === "unknown") return null;
  const { filedAtMs, decided } = context;
  const statement = statements.read(view, "") ?? null;
  const evidence = files.readAll(view).map(({ value }) => value);
  return {
    ...known,
    state,
    filed_at_ms: filedAtMs ?? 0,
    decided,
    statement,
    evidence: evidence.toSorted((a, b) => a.added_at_ms - b.added_at_ms),
    evidence_views: views.readAll(view).map(({ value }) => value),
  };
}

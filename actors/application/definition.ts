// The actor of an application for a business. Keyed rows: 16 what was applied for, 17 what the applicant is told of a refusal.

import { type ApplicationEvent, applicationMachine } from "../../machines/application.ts";
import type {
  ApplicationFacts,
  ApplicationProtocol,
  ApplicationReply,
  ApplicationReport,
  ApplicationState,
} from "../messages/application.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { personRef } from "../messages/refs.ts";
import { type Decision, defineActor, tell, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable } from "../system/row-table.ts";

type View = ViewOf<typeof applicationMachine>;
type Asked<T extends keyof ApplicationProtocol> = CommandOf<ApplicationProtocol, T>;
type Decided = Decision<ApplicationReply, ApplicationEvent>;

const facts = defineJsonTable<ApplicationFacts>("facts", 16);
const statements = defineTable<string>({ name: "statement", rt: 17, encode: String, decode: String });

const none = { reply: { status: "refused", state: "unknown" } } as const;

export const applicationActor = defineActor<"application", typeof applicationMachine>({
  kind: "application",
  schemaVersion: 1,
  machine: applicationMachine,
  durability: "journal",
  input: () => ({}),
  rows: () => [facts.select([""]), statements.select([""])],
  decide: {
    "application.file": file,
    "application.approve": ({ act }, view) =>
      change(view, "approved", { type: "application.approved", ...act }),
    "application.open": (_command, view) => change(view, "opened", { type: "business.opened" }),
    "application.refuse": refuse,
    "application.withdraw": ({ applicant }, view) => {
      const { snapshot } = view;
      return applicant === snapshot.context.applicant && snapshot.can({ type: "application.withdrawn" })
        ? { reply: { status: "done", changed: true }, events: [{ type: "application.withdrawn" }] }
        : { reply: { status: "refused", state: stateOf(snapshot.value) } };
    },
    "application.read": (_command, view) => ({ reply: reportOf(view) }),
  },
  absent: {
    "application.approve": none,
    "application.open": none,
    "application.refuse": none,
    "application.withdraw": none,
    "application.read": { reply: null },
  },
  effects: {
    leaveApplicant: (_params, { id, snapshot }: View) => [
      tell(personRef(snapshot.context.applicant), { type: "business.forget", uuid: id }),
    ],
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
  return decided.events === undefined ? decided : { ...decided, puts: [statements.write("", statement)] };
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
  return { ...known, state, filed_at_ms: filedAtMs ?? 0, decided, statement };
}

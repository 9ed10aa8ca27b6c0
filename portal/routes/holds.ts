// Held pushes: why each waits, with what it would change side by side, and the decision.

import { type ComponentChild, h } from "preact";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import type { HeldPushes, HeldReason, ShockedListing } from "../../protocol/wire/push.ts";
import { code, dataTable, facts, section, shownNumber, time } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { plainForm } from "../pages/frame.ts";
import { ownForm, ownPage, page, problemPage } from "../visit.ts";
import { businessPath, ownerRefusedPage } from "./account.ts";
import { holdsPath, maySeal, type PublishingDeps, sealPage } from "./publishing.ts";

const texts = () => wording().portal.holds;
const decidePath = "/holds/decide";

export function holdRoutes(deps: PublishingDeps): readonly Route[] {
  const { owner, publishing, challenges } = deps;
  return [
    ownPage(deps, holdsPath(":named"), "Held pushes, and why they wait", async (visit) => {
      const { who, named: uuid, cursor } = visit;
      const own = await owner.business(who, uuid);
      if (own === null) return problemPage("not_there", 404);
      const listed = await publishing.holds(who, { uuid, cursor });
      if (!listed.ok) return ownerRefusedPage(listed);
      const { holds, next_cursor } = listed.value;
      const form_code = maySeal(own, bindingRoles) ? challenges.formCode(who.session.session) : null;
      const content = [
        h("h1", null, texts().title),
        h("p", null, holds.length === 0 ? texts().none : texts().words),
        holds.map((held) => holdSection(uuid, held, form_code)),
        next_cursor === null
          ? null
          : h("p", null, h("a", { href: `${holdsPath(uuid)}?cursor=${next_cursor}` }, texts().next)),
        h("p", null, h("a", { href: businessPath(uuid) }, wording().portal.publishing.back)),
      ];
      return page(texts().title, h("div", null, content));
    }),
    ownForm(deps, decidePath, "Shows the words of a decision before it is sealed", async (form, { who }) => {
      const uuid = form("uuid");
      const decision = form("decision") === "confirm" ? "confirm" : "reject";
      const ready = await publishing.decision(who, { uuid, push_id: form("push_id"), decision });
      return ready.ok ? sealPage(deps, who, uuid, ready.value) : ownerRefusedPage(ready);
    }),
  ];
}

function holdSection(
  uuid: string,
  held: HeldPushes["holds"][number],
  form_code: string | null,
): ComponentChild {
  const { push_id, key_id, records, received_at, hold_expires_at, held_reasons } = held;
  const decide = (decision: "confirm" | "reject") =>
    form_code === null
      ? null
      : plainForm({
          action: decidePath,
          form_code,
          fields: { uuid, push_id, decision },
          button: texts().decisions[decision],
          label: texts().decisionNamed(texts().decisions[decision], push_id),
        });
  return section(
    push_id,
    texts().push(push_id),
    facts([
      [texts().facts.records, shownNumber(records)],
      [texts().facts.key, code(key_id)],
      [texts().facts.received, time(received_at)],
      [texts().facts.until, time(hold_expires_at)],
    ]),
    held_reasons.map((reason) => reasonContent(push_id, reason)),
    decide("confirm"),
    decide("reject"),
  );
}

/** The largest changes with what is served now beside what would be. */
function reasonContent(pushId: string, { detail, code: reason, largest = [] }: HeldReason): ComponentChild {
  const price = (listed: ShockedListing["before"], otherwise: string) =>
    listed === null ? otherwise : `${listed.amount} ${listed.currency}`;
  const rows = largest.map(({ record_id, business_product_id: own, country, before, after, change }) => ({
    key: `${record_id} ${country}`,
    cells: [
      own ?? code(record_id),
      country,
      price(before, texts().notServed),
      price(after, texts().removed),
      change ?? "–",
    ],
  }));
  const columns = texts().columns;
  return h(
    "div",
    null,
    h("p", null, detail),
    rows.length === 0 ? null : dataTable(texts().caption(texts().reasons[reason], pushId), columns, rows),
  );
}

// The webhooks of a business, for who binds it: which there are, of what they are told, and what became of that.

import { type ComponentChild, h } from "preact";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { TriedDelivery } from "../../actors/messages/webhooks.ts";
import type { Route } from "../../api/route.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { chosenKinds } from "../../service/portal/notices.ts";
import type { SignedIn } from "../../service/portal/people.ts";
import {
  endpointsMax,
  isHostOf,
  type ShownEndpoint,
  type ShownEndpoints,
} from "../../service/portal/webhooks.ts";
import { isPublicAddress } from "../../std/ip-address.ts";
import { badge, code, dataTable, facts, link, paragraph, section, shortTime } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { hiddenFields, plainForm } from "../pages/frame.ts";
import { type Form, ownForm, ownPage, type PageAnswer, page, problemPage, redirect } from "../visit.ts";
import {
  type AccountDeps,
  confirmPage,
  noticesPath,
  ownerRefusedPage,
  ownWith,
  webhooksPath,
} from "./account.ts";
import { kindChoices } from "./notices.ts";
import { domainsPath } from "./publishing.ts";

const texts = () => wording().business.webhooks;
const addPath = "/webhooks/add";
const changePath = "/webhooks/change";
const removePath = "/webhooks/remove";
const testPath = "/webhooks/test";

export function webhookRoutes(deps: AccountDeps): readonly Route[] {
  const { webhooks, challenges } = deps;
  return [
    ownPage(deps, webhooksPath(":named"), "The webhooks of a business", async ({ who, named }) => {
      const own = await ownOf(deps, who, named);
      if ("kind" in own) return own;
      const form_code = challenges.formCode(who.session.session);
      return page(texts().title(own.legal_name), webhooksContent(own, webhooks.areCalled, form_code));
    }),
    ownForm(deps, addPath, "Asks for a webhook", async (form, { who }) => {
      const own = await ownOf(deps, who, form("uuid"));
      if ("kind" in own) return own;
      const url = endpointIn(form("url"));
      if (url === null) return problemPage("endpoint_invalid");
      return setPage(deps, who, { ...own, endpoint_id: webhooks.newId(), url }, form);
    }),
    ownForm(deps, changePath, "Asks for a webhook to be told of other kinds", async (form, { who }) => {
      const own = await ownOf(deps, who, form("uuid"));
      if ("kind" in own) return own;
      const known = own.endpoints.find(({ endpoint_id }) => endpoint_id === form("endpoint_id"));
      return known === undefined ? gone() : setPage(deps, who, { ...own, ...known }, form);
    }),
    ownForm(deps, removePath, "Asks for a webhook to be removed", async (form, { who }) => {
      const own = await ownOf(deps, who, form("uuid"));
      if ("kind" in own) return own;
      const known = own.endpoints.find(({ endpoint_id }) => endpoint_id === form("endpoint_id"));
      if (known === undefined) return gone();
      const { uuid, legal_name } = own;
      const { endpoint_id, url } = known;
      return confirmPage(deps, who, { act: "webhook.remove", uuid, legal_name, endpoint_id, url });
    }),
    ownForm(deps, testPath, "Has a test delivered", async (form, { who, network }) => {
      const [uuid, endpoint_id] = [form("uuid"), form("endpoint_id")];
      const tested = await webhooks.test(who, { uuid, endpoint_id, network });
      return tested.ok ? redirect(webhooksPath(uuid)) : ownerRefusedPage(tested);
    }),
  ];
}

const urlLengthMax = 512;

/**
 * An address that may be called: HTTPS at a name, on its usual port, without user, query and fragment. As it is called; null for any other
 * text.
 */
function endpointIn(text: string): string | null {
  const url = URL.parse(text.trim());
  if (url === null || url.protocol !== "https:" || url.port !== "" || url.href.length > urlLengthMax)
    return null;
  if (url.username !== "" || url.password !== "" || /[?#]/.test(url.href)) return null;
  const isAddress = isPublicAddress(url.hostname.replaceAll(/[[\]]/g, "")) !== null;
  return isAddress || !url.hostname.includes(".") ? null : url.href;
}

function gone(): PageAnswer {
  return problemPage("not_there", 404);
}

interface OwnParty extends ShownEndpoints {
  readonly uuid: string;
  readonly legal_name: string;
}

/** A business that the person binds, with its webhooks. */
async function ownOf(deps: AccountDeps, who: SignedIn, named: string): Promise<OwnParty | PageAnswer> {
  const own = await ownWith(deps, who, named, bindingRoles);
  if ("kind" in own) return own;
  if (own.party.kind !== "business") return gone();
  const read = await deps.webhooks.read(who, named);
  const { uuid, legal_name } = own.party;
  return read === null ? problemPage("role_too_low", 403) : { uuid, legal_name, ...read };
}

function setPage(
  deps: AccountDeps,
  who: SignedIn,
  {
    uuid,
    legal_name,
    domains,
    endpoint_id,
    url,
  }: Omit<OwnParty, "endpoints"> & Pick<ShownEndpoint, "endpoint_id" | "url">,
  form: Form,
): Promise<PageAnswer> | PageAnswer {
  const kinds = chosenKinds.filter((each) => form(each) === "on");
  if (kinds.length === 0) return problemPage("kinds_missing");
  // The same is decided again once a passkey confirmed it.
  if (!isHostOf(new URL(url).hostname, domains)) return problemPage("endpoint_not_yours", 409);
  return confirmPage(deps, who, { act: "webhook.set", uuid, legal_name, endpoint_id, url, kinds });
}

function webhooksContent(
  { uuid, legal_name, endpoints, domains }: OwnParty,
  areCalled: boolean,
  form_code: string,
): ComponentChild {
  return h(
    "div",
    null,
    h("h1", null, texts().title(legal_name)),
    texts().words.map((sentence) => paragraph(sentence)),
    areCalled ? null : paragraph(texts().notCalled),
    endpoints.map((each) => endpointSection(each, { uuid, form_code })),
    endpoints.length >= endpointsMax
      ? null
      : section(
          "add",
          texts().add.title,
          paragraph(domains.length === 0 ? texts().add.noDomain : texts().add.domains(domains.join(", "))),
          h(
            "form",
            { method: "post", action: addPath },
            hiddenFields({ uuid, form_code }),
            h(
              "label",
              null,
              texts().add.label,
              h("input", {
                name: "url",
                type: "url",
                required: true,
                maxLength: urlLengthMax,
                autocomplete: "off",
              }),
            ),
            h(
              "fieldset",
              null,
              h("legend", null, texts().kinds),
              kindChoices(() => true),
            ),
            h("p", null, h("button", { type: "submit" }, texts().add.button)),
          ),
        ),
    h(
      "p",
      null,
      link(domainsPath(uuid), texts().domains),
      " · ",
      link(noticesPath(uuid), wording().portal.notices.link),
    ),
  );
}

function endpointSection(
  endpoint: ShownEndpoint,
  fields: { readonly uuid: string; readonly form_code: string },
): ComponentChild {
  const { endpoint_id, url, kinds, off_at_ms, report } = endpoint;
  const { form_code } = fields;
  const named = { uuid: fields.uuid, endpoint_id };
  const button = (action: string, words: string) =>
    plainForm({ action, form_code, fields: named, button: words, label: `${words}: ${url}` });
  return section(
    endpoint_id,
    url,
    facts([
      [texts().facts.id, code(endpoint_id)],
      [texts().facts.state, stateOf(endpoint)],
      [texts().facts.waiting, String(report.waiting)],
    ]),
    deliveryTable(report.deliveries),
    off_at_ms === null ? button(testPath, texts().test) : null,
    h(
      "form",
      { method: "post", action: changePath },
      hiddenFields({ ...named, form_code }),
      h(
        "fieldset",
        null,
        h("legend", null, texts().kinds),
        kindChoices((each) => kinds.includes(each)),
      ),
      h("p", null, h("button", { type: "submit" }, off_at_ms === null ? texts().change : texts().switchOn)),
    ),
    button(removePath, texts().remove),
  );
}

function stateOf({ is_confirmed, off_at_ms, report: { failing_since_ms } }: ShownEndpoint): ComponentChild {
  const { states } = texts();
  if (off_at_ms !== null)
    return h("span", null, badge("bad", states.off), " ", shortTime(formatTimestamp(off_at_ms)));
  if (!is_confirmed) return badge("bad", states.unconfirmed);
  return failing_since_ms === null
    ? badge("good", states.well)
    : h("span", null, badge("warn", states.failing), " ", shortTime(formatTimestamp(failing_since_ms)));
}

function deliveryTable(deliveries: readonly TriedDelivery[]): ComponentChild {
  if (deliveries.length === 0) return paragraph(texts().none);
  const rows = deliveries.map(({ id, kind, state, attempts, outcome, tried_at_ms }) => ({
    key: id,
    cells: [
      shortTime(formatTimestamp(tried_at_ms)),
      code(id),
      kind,
      texts().outcomes[state](attempts),
      outcome.failure === null || outcome.status !== null
        ? String(outcome.status)
        : texts().failures[outcome.failure],
    ],
  }));
  return dataTable(texts().caption, texts().columns, rows);
}

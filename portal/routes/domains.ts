// The domains of a business's endpoints: the state of each, how control of it is confirmed, and a look that is asked for.

import { type ComponentChild, h } from "preact";
import type { Route } from "../../api/route.ts";
import type { DomainsAnswer } from "../../protocol/wire/push.ts";
import type { OwnDomains } from "../../service/portal/domains.ts";
import { keyRoles } from "../../service/portal/owner.ts";
import { badge, code, facts, link, paragraph, section, shortTime, type Tone } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { plainForm } from "../pages/frame.ts";
import { ownForm, ownPage, page, problemPage, redirect } from "../visit.ts";
import { type AccountDeps, businessPath, ownerRefusedPage } from "./account.ts";
import { domainsPath } from "./publishing.ts";

export interface DomainPageDeps extends AccountDeps {
  readonly domains: OwnDomains;
}

const texts = () => wording().business.domains;
const lookPath = "/domains/look";

export function domainRoutes(deps: DomainPageDeps): readonly Route[] {
  const { owner, domains, challenges } = deps;
  return [
    ownPage(deps, domainsPath(":named"), "The domains of a business's endpoints", async (visit) => {
      const { who, named: uuid } = visit;
      const own = await owner.business(who, uuid);
      if (own?.party.kind !== "business") return problemPage("not_there", 404);
      const known = await domains.read(uuid);
      const form_code = challenges.formCode(who.session.session);
      const isLookedAt = known.some(({ next_probe_at }) => next_probe_at !== null);
      const content = [
        h("h1", null, texts().title),
        texts().words.map((sentence) => paragraph(sentence)),
        known.length === 0 ? paragraph(texts().none) : null,
        known.length > 0 && !isLookedAt ? paragraph(texts().notLookedAt) : null,
        isLookedAt && keyRoles.includes(own.member.role)
          ? plainForm({ action: lookPath, form_code, fields: { uuid }, button: texts().look })
          : null,
        known.map(domainSection),
        paragraph(link(businessPath(uuid), wording().portal.publishing.back)),
      ];
      return page(texts().title, h("div", null, content));
    }),
    ownForm(deps, lookPath, "Has the domains looked at soon", async (form, { who, network }) => {
      const uuid = form("uuid");
      const asked = await domains.look(who, { uuid, network });
      return asked.ok ? redirect(domainsPath(uuid)) : ownerRefusedPage(asked);
    }),
  ];
}

const tones: Readonly<Record<DomainsAnswer["domains"][number]["status"], Tone>> = {
  confirmed: "good",
  unconfirmed: "warn",
  suspended: "bad",
};

function domainSection(of: DomainsAnswer["domains"][number]): ComponentChild {
  const { domain, status, since, confirmed_at, probed, next_probe_at } = of;
  const words = texts().facts;
  const found =
    probed === null
      ? words.never
      : h(
          "span",
          null,
          shortTime(probed.at),
          `: ${texts().outcomes[probed.outcome]}. ${wording().said(probed.detail)}`,
        );
  return section(
    domain,
    domain,
    facts([
      [words.state, h("span", null, badge(tones[status], texts().states[status]), " ", shortTime(since))],
      [words.confirmed, shortTime(confirmed_at, words.never)],
      [words.last, found],
      [words.next, shortTime(next_probe_at, words.never)],
      [words.txt, code(of.txt_name)],
      [words.file, code(of.file_url)],
      [words.challenge, code(of.challenge)],
    ]),
  );
}

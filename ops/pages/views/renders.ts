// Companies whose renders or clicks of a campaign are unusual.

import { type ComponentChild, h } from "preact";
import type { UnusualRenders } from "../../../protocol/wire/ad-requests.ts";
import { dataTable, section } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import { actorPath, rendersPath } from "./frame.ts";

export function rendersList(
  { unusual, next_after: next }: UnusualRenders,
  { renders }: Texts["operations"],
): ComponentChild {
  return [
    h("h1", null, renders.title),
    h("p", { class: "quiet" }, renders.help),
    section("unusual", renders.title, unusualTable(unusual, renders)),
    next === null
      ? null
      : h(
          "p",
          null,
          h("a", { href: `${rendersPath}?${new URLSearchParams({ after: next })}` }, renders.more),
        ),
  ];
}

function unusualTable(
  unusual: UnusualRenders["unusual"],
  renders: Texts["operations"]["renders"],
): ComponentChild {
  if (unusual.length === 0) return h("p", { class: "quiet" }, renders.none);
  const columns = [
    { name: renders.day, kind: "nowrap" as const },
    { name: renders.campaign },
    { name: renders.company },
    { name: renders.of },
    { name: renders.count, kind: "number" as const },
    { name: renders.usual, kind: "number" as const },
  ];
  const rows = unusual.map(({ business_uuid, campaign_id, company_uuid, day, of, count, usual }) => {
    const campaign = `${business_uuid}.${campaign_id}`;
    return {
      key: `${day} ${campaign} ${company_uuid} ${of}`,
      cells: [
        day,
        h("a", { href: actorPath("ad-campaign", campaign) }, h("code", null, campaign)),
        h("code", null, company_uuid),
        renders.kinds[of],
        String(count),
        String(usual),
      ],
    };
  });
  return dataTable(renders.caption, columns, rows);
}

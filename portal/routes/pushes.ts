// The page of the newest pushes of a business, and their state for the page's script.

import { h } from "preact";
import type { Route } from "../../api/route.ts";
import type { Result } from "../../protocol/result.ts";
import type { OwnerRefusal } from "../../service/portal/owner.ts";
import type { SignedIn } from "../../service/portal/people.ts";
import type { RecentPushes } from "../../service/portal/recent-pushes.ts";
import { island } from "../../web/island.ts";
import { wording } from "../language.ts";
import { Pushes } from "../pages/pushes.ts";
import { ownData, ownPage, page } from "../visit.ts";
import { type AccountDeps, businessPath, ownerRefusedPage } from "./account.ts";
import { pushesPath } from "./publishing.ts";

export interface PushesDeps extends AccountDeps {
  readonly recentPushes: (who: SignedIn, uuid: string) => Promise<Result<RecentPushes, OwnerRefusal>>;
}

export function pushRoutes(deps: PushesDeps): readonly Route[] {
  const { recentPushes } = deps;
  return [
    ownPage(deps, pushesPath(":named"), "The newest pushes, and what was wrong", async (visit) => {
      const { who, named: uuid } = visit;
      const recent = await recentPushes(who, uuid);
      if (!recent.ok) return ownerRefusedPage(recent);
      const { language, portal: texts } = wording();
      const content = [
        h("h1", null, texts.pushes.title),
        island("pushes", Pushes, { address: `${pushesPath(uuid)}/state`, language, recent: recent.value }),
        h("p", null, h("a", { href: businessPath(uuid) }, texts.publishing.back)),
      ];
      return page(texts.pushes.title, h("div", null, content));
    }),
    ownData(deps, `${pushesPath(":named")}/state`, "The same, for the page's script", async (visit) => {
      const recent = await recentPushes(visit.who, visit.named);
      return recent.ok ? { ...recent.value } : null;
    }),
  ];
}

// The pages of the newest pushes of a business and of one push, and their state for the pages' script.

import { h } from "preact";
import type { Route } from "../../api/route.ts";
import type { Result } from "../../protocol/result.ts";
import type { OwnPush } from "../../service/portal/own-push.ts";
import type { OwnerRefusal } from "../../service/portal/owner.ts";
import type { SignedIn } from "../../service/portal/people.ts";
import type { RecentPushes } from "../../service/portal/recent-pushes.ts";
import { island } from "../../web/island.ts";
import { wording } from "../language.ts";
import { Push } from "../pages/push.ts";
import { Pushes } from "../pages/pushes.ts";
import { type OwnVisit, ownData, ownPage, page } from "../visit.ts";
import { type AccountDeps, businessPath, ownerRefusedPage } from "./account.ts";
import { holdsPath, pushesPath } from "./publishing.ts";

export interface PushesDeps extends AccountDeps {
  readonly recentPushes: (who: SignedIn, uuid: string) => Promise<Result<RecentPushes, OwnerRefusal>>;
  readonly ownPush: (
    who: SignedIn,
    push: { readonly uuid: string; readonly push_id: string; readonly cursor: string | null },
  ) => Promise<Result<OwnPush, OwnerRefusal>>;
}

const onePath = `${pushesPath(":named")}/:inner`;

export function pushRoutes(deps: PushesDeps): readonly Route[] {
  const { recentPushes } = deps;
  const pushOf = ({ who, named: uuid, inner: push_id, cursor }: OwnVisit) =>
    deps.ownPush(who, { uuid, push_id, cursor });
  return [
    ownPage(deps, pushesPath(":named"), "The newest pushes, and what was wrong", async (visit) => {
      const { who, named: uuid } = visit;
      const recent = await recentPushes(who, uuid);
      if (!recent.ok) return ownerRefusedPage(recent);
      const { language, portal: texts } = wording();
      const base = `${pushesPath(uuid)}/`;
      const content = [
        h("h1", null, texts.pushes.title),
        island("pushes", Pushes, { address: `${base}state`, base, language, recent: recent.value }),
        h("p", null, h("a", { href: businessPath(uuid) }, texts.publishing.back)),
      ];
      return page(texts.pushes.title, h("div", null, content));
    }),
    ownData(deps, `${pushesPath(":named")}/state`, "The same, for the page's script", async (visit) => {
      const recent = await recentPushes(visit.who, visit.named);
      return recent.ok ? { ...recent.value } : null;
    }),
    ownPage(deps, onePath, "One push, and what is wrong in it by cause and by record", async (visit) => {
      const { named: uuid, inner: push_id, cursor } = visit;
      const found = await pushOf(visit);
      if (!found.ok) return ownerRefusedPage(found);
      const self = `${pushesPath(uuid)}/${push_id}`;
      const address = `${self}/state${cursor === null ? "" : `?cursor=${cursor}`}`;
      const { language, business } = wording();
      const { title, back } = business.push;
      const content = [
        h("h1", null, title(push_id)),
        island("push", Push, { address, self, holds: holdsPath(uuid), language, push: found.value }),
        h("p", null, h("a", { href: pushesPath(uuid) }, back)),
      ];
      return page(title(push_id), h("div", null, content));
    }),
    ownData(deps, `${onePath}/state`, "The same, for the page's script", async (visit) => {
      const found = await pushOf(visit);
      return found.ok ? { ...found.value } : null;
    }),
  ];
}

// The domains of a business's endpoints, as its people see them, and a look that they ask for.

import { businessRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { DomainsAnswer } from "../../protocol/wire/push.ts";
import { type Outcome as Answered, bodyText, isRefused } from "../answer.ts";
import { keyRoles, type Owner, type OwnerRefusal } from "./owner.ts";
import type { People, SignedIn } from "./people.ts";

export interface DomainDeps extends Actors, Pick<Platform, "clock"> {
  readonly owner: Pick<Owner, "may">;
  readonly people: Pick<People, "keep">;
  /** What the keys of the business read. */
  readonly readDomains: (uuid: string) => Promise<Answered>;
}

export interface OwnDomains {
  /** In order. For somebody who has a role in the business. */
  read(uuid: string): Promise<DomainsAnswer["domains"]>;
  /** Has them looked at as soon as they may be; kept once a minute. */
  look(
    who: SignedIn,
    asked: { readonly uuid: string; readonly network: string | null },
  ): Promise<Result<void, OwnerRefusal>>;
}

const minuteMs = 60_000;

/** Reads the domains of a business, and has them looked at again, once a minute at most. Its methods throw {@link StoreError}. */
export function createOwnDomains(deps: DomainDeps): OwnDomains {
  const { owner, people, actors, clock, readDomains } = deps;
  return {
    read: async (uuid) => {
      const outcome = await readDomains(uuid);
      if (isRefused(outcome)) throw new Error("What is read of every business was refused.");
      return (JSON.parse(bodyText(outcome.body)) as DomainsAnswer).domains;
    },
    look: async (who, { uuid, network }) => {
      const allowed = await owner.may(who, uuid, keyRoles);
      if (!allowed.ok) return allowed;
      const source = `domains of ${uuid} ${Math.floor(clock.now() / minuteMs)}`;
      const kept = await people.keep(who, { act: "domains.look", subject: uuid, source, network });
      if (!kept.ok) return refuse("session_ended", kept.detail);
      await actors.ask(businessRef(uuid), { type: "domains.look" });
      return ok(undefined);
    },
  };
}

// Which terms an AI company agreed to: its party's actor decides, and the register carries it into every region.

import type { PartyFacts, RegisterAct } from "../actors/messages/business.ts";
import type { TermsAgreement } from "../actors/messages/company.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { RegisterRefused } from "./parties.ts";
import type { Register } from "./register.ts";

export interface AgreementsDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly register: Pick<Register, "party">;
}

export interface Agreements {
  /** The company's agreement to the version, as soon as it has been made anywhere; null without one. */
  find(uuid: string, version: number): Promise<TermsAgreement | null>;
  /** Repeated, it returns the first agreement. Throws {@link RegisterRefused} for a party that is no AI company. */
  agree(request: {
    readonly uuid: string;
    readonly version: number;
    readonly sha256: string;
    readonly act: RegisterAct;
  }): Promise<TermsAgreement>;
}

export function createAgreements({ actors, register }: AgreementsDeps): Agreements {
  const atHome = async (uuid: string, version: number): Promise<TermsAgreement | null> => {
    const question = { type: "register.read", keys: [`party/${uuid}`] } as const;
    const [entry] = (await actors.ask(businessRef(uuid), question)).entries;
    return entry === undefined ? null : agreementIn(JSON.parse(entry.body) as PartyFacts, version);
  };
  return {
    find: async (uuid, version) => {
      // An agreement is never taken back, so one that this region has heard of counts; only its home knows that there is none.
      const known = await register.party(uuid);
      if (known === null) return null;
      return agreementIn(known, version) ?? atHome(uuid, version);
    },
    agree: async ({ uuid, ...agreed }) => {
      const reply = await actors.ask(businessRef(uuid), { type: "terms.agree", ...agreed });
      if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
      const agreement = await atHome(uuid, agreed.version);
      if (agreement === null) throw new Error(`Party ${uuid} agreed to terms, and does not know it.`);
      return agreement;
    },
  };
}

function agreementIn({ agreements = [] }: PartyFacts, version: number): TermsAgreement | null {
  return agreements.find((each) => each.version === version) ?? null;
}

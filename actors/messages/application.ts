// The commands of an application: somebody asks for a business or an AI company to be let in, and an operator decides.

import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import type { RegisterAct } from "./protocol.ts";

export interface ApplicationFacts {
  /** The person who applies, and what they are called. */
  readonly applicant: string;
  readonly applicant_name: string;
  readonly kind: "business" | "ai_company";
  readonly legal_name: string;
  /** ISO 3166-1. */
  readonly country: string;
  /** The passkey that is to seal for the business, which was made for it alone; null for an AI company, which seals nothing. */
  readonly sealing: {
    readonly public_key: PublicJwk;
    /** The COSE_Key as registered, in base64. */
    readonly cose: string;
    readonly credential_id: string;
    /** What its proof of possession answers, and the envelope of that proof as JSON text. */
    readonly challenge: string;
    readonly proof: string;
  } | null;
}

/** `approved` lasts until everything that follows from it is done. */
export type ApplicationState = "waiting" | "approved" | "opened" | "refused";

export interface ApplicationReport extends ApplicationFacts {
  readonly state: ApplicationState;
  readonly filed_at_ms: number;
  /** Who decided, and why; null before. */
  readonly decided: RegisterAct | null;
  /** What the applicant is told of a refusal; null for any other state. */
  readonly statement: string | null;
}

export type ApplicationReply =
  | { readonly status: "done"; readonly changed: boolean }
  /** It is in a state that does not allow it, or there is none. */
  | { readonly status: "refused"; readonly state: ApplicationState | "unknown" };

export interface ApplicationProtocol {
  /** Repeatable with the same facts. */
  "application.file"(command: { readonly application: ApplicationFacts }): ApplicationReply;
  "application.approve"(command: { readonly act: RegisterAct }): ApplicationReply;
  /** Everything that follows from the approval is done. */
  "application.open"(): ApplicationReply;
  "application.refuse"(command: {
    readonly act: RegisterAct;
    readonly statement: string;
    /** Another party has its uuid: then it is refused also where it was approved. */
    readonly is_taken?: true;
  }): ApplicationReply;
  /** The applicant takes it back; it is forgotten at once. Anybody else is refused, as for one that is decided. */
  "application.withdraw"(command: { readonly applicant: string }): ApplicationReply;
  /** Read-only; null where nobody applied, or it is forgotten. */
  "application.read"(): ApplicationReport | null;
}

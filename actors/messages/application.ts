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
  readonly sealing: ProvenPasskey | null;
}

/** A passkey that is to seal for a business, with its proof of possession. */
export interface ProvenPasskey {
  readonly public_key: PublicJwk;
  /** The COSE_Key as registered, in base64. */
  readonly cose: string;
  readonly credential_id: string;
  /** What its proof of possession answers, and the envelope of that proof as JSON text. */
  readonly challenge: string;
  readonly proof: string;
}

/** A file that the applicant sent. Nothing of its bytes is known but what stands here. */
export interface EvidenceFile {
  /** A uuid. */
  readonly file: string;
  /** What the applicant calls it, with nothing in it that cannot be seen. */
  readonly name: string;
  readonly media_type: "application/pdf" | "image/png" | "image/jpeg";
  readonly bytes: number;
  /** `sha256:<hex>` over the bytes as they were sent. */
  readonly sha256: string;
  readonly added_at_ms: number;
}

/** That an operator took a file. */
export interface EvidenceView {
  readonly file: string;
  readonly by: string;
  readonly at_ms: number;
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
  /** In the order in which they were added. */
  readonly evidence: readonly EvidenceFile[];
  /** The newest first, {@link evidenceViewsShown} at most. */
  readonly evidence_views: readonly EvidenceView[];
}

export const evidenceViewsShown = 50;

export type ApplicationReply =
  | { readonly status: "done"; readonly changed: boolean }
  /** It is in a state that does not allow it, or there is none. */
  | { readonly status: "refused"; readonly state: ApplicationState | "unknown" };

/** Why a file is not taken: the application is not the person's or is decided, or has as many as it may. */
export type EvidenceRefusal = { readonly status: "refused"; readonly code: "not_open" | "too_many" };

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
  /** Returns the key under which all files of the application are encrypted, in base64url: `fresh_key`, unless there is one. */
  "evidence.begin"(command: {
    readonly applicant: string;
    readonly fresh_key: string;
  }): { readonly status: "begun"; readonly key: string } | EvidenceRefusal;
  /** The file is stored. Repeatable. */
  "evidence.add"(command: {
    readonly applicant: string;
    readonly added: Omit<EvidenceFile, "added_at_ms">;
  }): { readonly status: "added" } | EvidenceRefusal;
  /** The applicant takes a file back, and its bytes are removed. Repeatable. */
  "evidence.remove"(command: {
    readonly applicant: string;
    readonly file: string;
  }): { readonly status: "removed" } | EvidenceRefusal;
  /** Notes that an operator takes a file, and hands over its key; null where there is no such file, or its key was destroyed. */
  "evidence.view"(command: {
    readonly file: string;
    readonly by: string;
    /** Drawn for this view. */
    readonly view: string;
  }): { readonly evidence: EvidenceFile; readonly key: string } | null;
  /** Read-only; null where nobody applied, or it is forgotten. */
  "application.read"(): ApplicationReport | null;
}

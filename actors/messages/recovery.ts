// The commands of a recovery: somebody who lost all passkeys asks for the place that they had as an owner of a business, and two operators
// decide together. What the business is asked for is its own part, at the end.

import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import type { ProvenPasskey } from "./application.ts";
import type { KeyFacts } from "./business.ts";
import type { DoneReply, RegisterAct, RegisterReply } from "./protocol.ts";

export interface RecoveryFacts {
  /** The person who asks, and what they are called. */
  readonly applicant: string;
  readonly applicant_name: string;
  /** The business, which need not exist: nobody is told. */
  readonly uuid: string;
  /** The passkey that is to seal for the business, which was made for it alone. */
  readonly sealing: ProvenPasskey;
}

export type RecoveryState =
  /** No operator approved it, or one. */
  | "waiting"
  | "approved"
  /** Two did, and the people who bind the business are being told. */
  | "announcing"
  | "announced"
  /** The wait is over. */
  | "replacing"
  | "done"
  | "refused"
  /** By somebody who binds the business. */
  | "stopped";

export interface RecoveryApproval extends RegisterAct {
  /** The owner whose place it is, by their person's id. */
  readonly replaces: string;
}

export interface RecoveryReport extends RecoveryFacts {
  readonly state: RecoveryState;
  readonly filed_at_ms: number;
  readonly approvals: readonly RecoveryApproval[];
  /** When the owner is replaced; null before those who bind the business were told. */
  readonly due_at_ms: number | null;
  /** What the applicant is told of a refusal by operators. */
  readonly statement: string | null;
  /** Why the business did not take it, for operators alone. */
  readonly failure: string | null;
}

export type RecoveryReply =
  | { readonly status: "done"; readonly changed: boolean }
  | {
      readonly status: "refused";
      /** Its state does not allow it; or its second operator is the first, or names another owner; or it is about another passkey now. */
      readonly code: "state" | "same_operator" | "other_owner" | "other_key";
      readonly state: RecoveryState | "unknown";
    };

export interface RecoveryProtocol {
  /** Repeatable with the same facts. */
  "recovery.file"(command: { readonly recovery: RecoveryFacts }): RecoveryReply;
  /** For the passkey that was seen: its applicant may have taken back what was seen, and asked with another one. */
  "recovery.approve"(command: {
    readonly act: RegisterAct;
    readonly replaces: string;
    readonly public_key: PublicJwk;
  }): RecoveryReply;
  /** The applicant is told `statement`. For the passkey that was seen, as an approval. */
  "recovery.refuse"(command: {
    readonly act: RegisterAct;
    readonly statement: string;
    readonly public_key: PublicJwk;
  }): RecoveryReply;
  "recovery.withdraw"(): RecoveryReply;
  /** Read-only; null where nobody asked, or it is forgotten. */
  "recovery.read"(): RecoveryReport | null;
  /** Those who bind the business were told. */
  "recovery.announced"(command: { readonly due_at_ms: number }): DoneReply;
  "recovery.replaced"(): DoneReply;
  /** The business does not take the step, for the reason that `failure` says. */
  "recovery.failed"(command: { readonly failure: string }): DoneReply;
  /** Of the business: somebody who binds it stopped the recovery of this name there. */
  "recovery.stopped"(command: { readonly recovery: string }): DoneReply;
}

/** Under which a business knows a recovery: one that is asked for again has another name. */
export function recoveryName({
  applicant,
  filed_at_ms,
}: Pick<RecoveryReport, "applicant" | "filed_at_ms">): string {
  return `${applicant}/${filed_at_ms}`;
}

/** What waits in a business, until an owner is replaced. */
export interface AnnouncedRecovery {
  readonly recovery: string;
  /** The owner who is replaced. */
  readonly person_id: string;
  readonly applicant: string;
  readonly applicant_name: string;
  readonly due_at_ms: number;
}

/** How an owner is replaced, as commands of the business's actor. */
export interface OwnerRecoveryProtocol {
  /** Tells those who bind the business, with when the owner is replaced. Repeatable by the name. */
  "recovery.announce"(
    command: Omit<AnnouncedRecovery, "due_at_ms"> & { readonly act: RegisterAct },
  ):
    | { readonly status: "announced"; readonly due_at_ms: number }
    | { readonly status: "stopped" }
    | Extract<RegisterReply, { status: "refused" }>;
  /** Nobody is replaced by it any more: the member who is named stops it, or nobody who is, and then it was decided elsewhere. */
  "recovery.end"(command: {
    readonly recovery: string;
    readonly by_person?: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** Replaces the owner, once the time is over (RO1 in actors/business/recoveries.ts). Repeatable. */
  "owner.replace"(command: {
    readonly recovery: string;
    readonly key: KeyFacts;
    readonly credential_id: string;
    /** The key_id of the passkey that the owner who goes sealed with. */
    readonly revokes: string | null;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** Read-only: the owners, and what waits. */
  "recovery.find"(): {
    readonly owners: readonly {
      readonly person_id: string;
      readonly since_ms: number;
      readonly key_id: string | null;
    }[];
    readonly open: AnnouncedRecovery | null;
  };
}

// The shapes of the sample parties: their names, what they publish, and how it is sealed.

import type { MandateScopeFacts } from "../../actors/messages/business.ts";
import {
  type ActionName,
  type AiPolicyRecord,
  actionNames,
  aiPolicySchemaId,
  type BlockedName,
  blockedNames,
  currentAiPolicySchema,
  type UseName,
  useNames,
} from "../../protocol/ai-policy.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import type { TrialAllowance } from "../../service/money/allowance.ts";

export type SampleAlgorithm = "Ed25519" | "ES256";

export interface SampleKey {
  readonly algorithm: SampleAlgorithm;
  /** The purpose of the key, as `sandbox.json` states it. */
  readonly note: string;
  /** Omitted for a valid key. An `unregistered` one is unknown until a request brings its grant. */
  readonly fate?: "unregistered" | "revoked" | "compromised" | "ended";
}

export interface SampleIntegrationKey extends SampleKey {
  /** Omitted for a mandate that allows everything, null for none at all. */
  readonly mandate?: SampleMandate | null;
}

export interface SampleMandate {
  readonly note: string;
  /** How the mandate differs from one that allows everything. */
  readonly scope?: Partial<MandateScopeFacts>;
  /** Omitted for a mandate that is in force. */
  readonly fate?: "revoked" | "ended";
}

/** What became of a certificate after the party had published. */
export interface SampleEnding {
  readonly status: "revoked" | "closed" | "withdrawn";
  readonly reason: string;
  /** Whether it applies from before everything that the party sealed. */
  readonly reachesBack: boolean;
}

export interface SampleBusiness {
  /** The name under which the key store has its keys. */
  readonly name: string;
  readonly uuid: string;
  readonly legalName: string;
  readonly country: string;
  /** The purpose of the party, as `sandbox.json` states it. */
  readonly note: string;
  readonly integrationKeys: readonly SampleIntegrationKey[];
  readonly ending?: SampleEnding;
  /** What seals its single records: a person's passkey, or the key that the service holds for it. */
  readonly sealer: "passkey" | "hosted";
  /** Its AI policies in order; the last one is in force. */
  readonly policies: readonly AiPolicyRecord[];
  /** The uuids of AI companies whose groups it blocks. */
  readonly blocks: readonly string[];
  /** Records that are sealed one by one. */
  readonly records: (calendar: Calendar) => readonly SampleRecord[];
}

export interface SampleCompany {
  readonly name: string;
  readonly uuid: string;
  readonly legalName: string;
  readonly country: string;
  readonly note: string;
  readonly keys: readonly SampleKey[];
  readonly ending?: SampleEnding;
  /** Absent where nothing is asked of it: in a sandbox nobody pays. */
  readonly allowance?: TrialAllowance;
}

export interface SampleRecord {
  readonly collection: CollectionName;
  readonly record: JsonObject;
}

/** A time of day, UTC, some days after the sandbox was first started: its samples are about future events. */
export type Calendar = (days: number, time?: `${number}:${number}`) => string;

const dayMs = 86_400_000;

export function calendarFrom(firstStartMs: number): Calendar {
  const midnightMs = firstStartMs - (firstStartMs % dayMs);
  return (days, time = "12:00") => {
    const [hours = 0, minutes = 0] = time.split(":").map(Number);
    return formatTimestamp(midnightMs + days * dayMs + (hours * 60 + minutes) * 60_000);
  };
}

export interface Permissions {
  readonly use: readonly UseName[];
  readonly action: readonly ActionName[];
  readonly blocked: readonly BlockedName[];
}

/** The AI policy record that grants exactly these permissions. */
export function aiPolicy({ use, action, blocked }: Permissions): AiPolicyRecord {
  return {
    schema: aiPolicySchemaId,
    ai_policy_schema: currentAiPolicySchema,
    use: booleans(useNames, use),
    action: booleans(actionNames, action),
    blocked: booleans(blockedNames, blocked),
  };
}

function booleans<N extends string>(
  names: readonly N[],
  granted: readonly N[],
): Readonly<Record<N, boolean>> {
  return Object.fromEntries(names.map((name) => [name, granted.includes(name)])) as Record<N, boolean>;
}

// The shapes of what operators send and receive.

import { collectionNames, listNames } from "../protocol/identifiers.ts";
import { certificateStatuses } from "../protocol/keys/certificate.ts";
import { evidenceBytesMax, grantLengthMax, listBytesMax } from "../protocol/limits.ts";
import {
  anyObject,
  anyText,
  country,
  described,
  dictionary,
  flag,
  hash,
  integer,
  keyId,
  listOf,
  literal,
  matching,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  region,
  type Shape,
  text,
  timestamp,
  uuid,
} from "../protocol/shape.ts";
import { campaignRenders } from "../protocol/wire/ad-requests.ts";
import { account, statementMembers } from "../protocol/wire/allowance.ts";

export { account, campaignRenders, listBytesMax };

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const reasonLengthMax = 500;

/**
 * Characters that control a terminal or change the displayed order of a log line: controls, line ends, directional marks. They are
 * listed because a published pattern is read by expressions without names of properties as well.
 */
const unseen = "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069";
const plainTextForm = new RegExp(`^[^${unseen}]*[^${unseen}\\s][^${unseen}]*$`, "u");
export const plainText = (lengthMax: number, description: string) =>
  described(
    matching(plainTextForm, "text without control characters", {
      maxLength: lengthMax,
    }),
    description,
  );

/** A name as a certificate states it. */
const legalName = plainText(256, "Legal name.");

export const actMembers = {
  reason: plainText(
    reasonLengthMax,
    "Why. It is kept with the act, beside the name of the person who signed in.",
  ),
};

/** Who acts, and why. */
export interface Act {
  readonly by: string;
  readonly reason: string;
}

const moment = (description: string) => described(timestamp, description);
const compromisedFrom = moment(
  "Since when somebody else may have had the key, which is not in the future. Leave it out if nobody had the key: what it sealed before stands.",
);

const movable = described(
  matching(
    /^(?:svc-log|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$/,
    "a party's UUID, or svc-log",
  ),
  "A party's UUID, or `svc-log` for the transparency log.",
);
/** Characters of a checkpoint with its cosignatures, at most: it is recorded in the audit log. */
const checkpointLengthMax = 2_048;

const groupLengthMax = 64;
/** Length of a name in `brands_owned`. */
const brandLengthMax = 100;

/** The number by which an act names what its sender saw. */
const changeNumber = described(count, "Number of its last change, 0 if there was none. An act names it.");
export const expected = described(
  count,
  "The `change` that was seen: if it is another by now, nothing is done.",
);

/** The body that each address takes. */
export const bodies = {
  key: object({ compromised_from: optional(compromisedFrom), ...actMembers }),
  mandate: object(actMembers),
  certificate: object({
    cert_id: described(
      hash,
      "The certificate that was seen in force: if it is another by now, nothing is done.",
    ),
    status_reason: described(
      matching(/^[a-z][a-z0-9_]{0,63}$/, "a lower-case reason code"),
      "The reason, as a code that the certificate shows to everybody, such as approval_reversed.",
    ),
    keep_keys: optional(
      described(flag, "The keys of an AI company stay in force; without it they end with its certificate."),
    ),
    effective_from: optional(moment("Effective date, which is not in the future; now if it is left out.")),
    ...actMembers,
  }),
  grant: object({
    grant: described(text(grantLengthMax), "The grant as the sandbox gave it."),
    ...actMembers,
  }),
  block: object({
    group: described(
      text(groupLengthMax),
      "Name of a group of AI companies; that of a company that never changed its group is its UUID.",
    ),
    expected,
    ...actMembers,
  }),
  brand: object({
    name: described(text(brandLengthMax), "Name of the brand, as a business file writes it."),
    expected,
    ...actMembers,
  }),
  joinGroup: object({
    group: described(
      matching(/^[a-z0-9][a-z0-9_-]{0,63}$/, "a name of a group"),
      "Name of the group, which need not exist.",
    ),
    expected,
    ...actMembers,
  }),
  moves: object({ party: movable, to: region, ...actMembers }),
  logCheckpoint: object({
    checkpoint: described(
      text(checkpointLengthMax),
      "The newest checkpoint that is known, as `GET /checkpoint` or a witness has it, with its cosignatures.",
    ),
    ...actMembers,
  }),
  declareDead: object({
    region,
    successor: described(
      region,
      "The region that serves its parties from then on; another declaration may name another one later.",
    ),
    force: optional(
      described(
        flag,
        "Declares a region dead although its nodes still write heartbeats: what had not reached another region is lost.",
      ),
    ),
    ...actMembers,
  }),
  putIn: object({ region, ...actMembers }),
  rejoin: object({ region, ...actMembers }),
  rebuild: object({ collection: anyText, ...actMembers }),
  ledgerEntry: object({
    entry_id: described(
      matching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, "1 to 128 letters, digits, points, colons, hyphens"),
      "Names the entry, such as the number of the payment. Sent again, the entry is made once.",
    ),
    kind: oneOf(["top_up", "correction"]),
    amount: described(
      matching(/^-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?$/, 'a decimal string such as "250" or "-12.5"'),
      "In units of the currency. A top-up is more than 0; a correction is not 0.",
    ),
    currency: described(
      matching(/^[A-Z]{3}$/, "an ISO 4217 code"),
      "That of the account, and of the prices.",
    ),
    ...actMembers,
  }),
};
export const health = object({ status: literal("ok") });

export const readyMembers = {
  ready: described(flag, "Whether callers should be led to this node."),
  degraded: described(listOf(anyText), "Checks that fail while the node serves all that does not need them."),
  checks: described(dictionary(anyText), "What was looked at, each `ok` or what is wrong with it."),
};

export const readyReport = named(
  "ReadyReport",
  object({
    ...readyMembers,
    plain_text: described(
      listOf(anyText),
      "Channels that are in the clear because settings allow it; none is the right answer in production.",
    ),
  }),
);
export type ReadyReport = Of<typeof readyReport>;

const ended = { revoked_at: nullable(timestamp), legal_name: anyText };

export const keyState = named(
  "KeyState",
  object({
    key_id: keyId,
    party_uuid: uuid,
    role: oneOf(["integration", "retrieval", "sealing", "hosted"]),
    valid_from: timestamp,
    valid_until: nullable(timestamp),
    compromised_from: nullable(timestamp),
    ...ended,
  }),
);
/** The answer of a look at a key. */
export interface KeyShown {
  readonly key: Of<typeof keyState>;
}

export const mandateState = named(
  "MandateState",
  object({
    mandate_id: anyText,
    business_uuid: uuid,
    key_id: keyId,
    valid_from: timestamp,
    valid_until: timestamp,
    accepted_at: described(timestamp, "When the service took it."),
    ...ended,
  }),
);
export const certificateState = named(
  "CertificateState",
  object({
    cert_id: hash,
    uuid,
    kind: oneOf(["business", "ai_company"]),
    legal_name: anyText,
    status: oneOf(certificateStatuses),
    status_effective_from: timestamp,
    status_reason: nullable(anyText),
    issued_at: timestamp,
  }),
);

export const partyKind = oneOf(["business", "ai_company"]);

export const partyState = object({
  uuid,
  kind: partyKind,
  legal_name: legalName,
  country,
  certificate: described(nullable(certificateState), "The one in force; null before the first."),
  keys: described(listOf(keyState), "Every key that it has or had, oldest first."),
  mandates: described(listOf(mandateState), "The mandates that a business gave, newest first, 100 at most."),
  older_mandates: described(count, "How many older ones there are. Each is read by its id."),
});

/** A file that an applicant sent, without its bytes. */
const evidenceFile = object({
  file: described(uuid, "Under which it is downloaded."),
  name: described(text(100), "What the applicant calls it."),
  media_type: described(
    oneOf(["application/pdf", "image/png", "image/jpeg"]),
    "What its first bytes say and the applicant said; nothing has looked further.",
  ),
  bytes: integer({ min: 1, max: evidenceBytesMax }),
  sha256: hash,
  added_at: timestamp,
});

/** What somebody applied for at the portal. */
export const applicationState = object({
  uuid: described(uuid, "Of the application, and of the party once it is let in."),
  kind: partyKind,
  applicant: described(uuid, "The person who applies, and becomes the owner."),
  applicant_name: described(text(100), "What the applicant is called, in their own words."),
  legal_name: text(256),
  country,
  key_id: described(
    nullable(keyId),
    "The passkey that is to seal for the business; it was made for it, and proved itself. Null for an AI company.",
  ),
  state: oneOf(["waiting", "approved", "opened", "refused"]),
  filed_at: timestamp,
  statement: described(nullable(text(reasonLengthMax)), "What the applicant is told of a refusal."),
  evidence: described(
    listOf(evidenceFile),
    "What the applicant sent; it is gone thirty days after the decision.",
  ),
  evidence_views: described(
    listOf(object({ file: uuid, by: anyText, at: timestamp })),
    "Which operator took which file, and when: the last 50, the newest first.",
  ),
});

/** A page of applications. */
export const applicationList = object({
  applications: listOf(applicationState),
  next_after: nullable(uuid),
});

/** Somebody who lost all passkeys, and asks for the place of an owner. */
export const recoveryState = object({
  recovery_id: described(text(73), "The person who asks and the business, as `person.uuid`."),
  uuid: described(uuid, "The business, as the applicant named it."),
  legal_name: described(nullable(text(256)), "Its name; null where there is no such business."),
  applicant: described(uuid, "The person who asks, and becomes the owner."),
  applicant_name: described(text(100), "What the applicant is called, in their own words."),
  key_id: described(
    keyId,
    "The passkey that is to seal for the business; it was made for it, and proved itself.",
  ),
  state: described(
    oneOf(["waiting", "approved", "announcing", "announced", "replacing", "done", "refused", "stopped"]),
    "`approved` by one operator. By two it is announced to the people who bind the business, who may stop it until `due_at`.",
  ),
  filed_at: timestamp,
  approvals: described(
    listOf(object({ by: anyText, reason: anyText, replaces: uuid })),
    "Who approved it, and which owner each named; two at most.",
  ),
  due_at: described(nullable(timestamp), "When the owner is replaced; null before it is announced."),
  owners: described(
    listOf(object({ person_id: uuid, name: text(100), since: timestamp })),
    "The owners, one of whom is replaced; none once two operators have approved it.",
  ),
  statement: described(nullable(text(reasonLengthMax)), "What the applicant is told of a refusal."),
  failure: described(nullable(anyText), "Why the business did not take it; the applicant is not told."),
});

/** A page of recoveries. */
export const recoveryList = object({
  recoveries: listOf(recoveryState),
  next_after: nullable(text(73)),
});

/** The outcome of an action: its subject as it is now. */
export function done<N extends string, T>(name: N, subject: Shape<T>) {
  const outcome = object({
    changed: described(flag, "False where it was so before."),
    since: described(timestamp, "From when on."),
    [name]: subject,
  });
  return outcome as Shape<unknown> as Shape<
    { readonly changed: boolean; readonly since: string } & Readonly<Record<N, T>>
  >;
}

/** The outcome of the end of a certificate. */
export const certificateEnd = object({
  changed: described(flag, "False where it was so before."),
  since: described(timestamp, "From when on."),
  certificate: certificateState,
  keys_ended: described(listOf(keyId), "The keys of an AI company that ended with it."),
});

export const actList = object({
  uuid: anyText,
  acts: listOf(
    object({
      act: described(anyText, "Type of the command."),
      entry: described(anyText, "`table/key` of the entry of the register."),
      by: anyText,
      reason: anyText,
      at: timestamp,
      change: count,
    }),
  ),
  next_after: described(nullable(count), "For the next page; null on the last."),
});

export type PartyActs = Of<typeof actList>;

const member = object({
  incarnation: anyText,
  address: anyText,
  state: oneOf(["joining", "active", "leaving"]),
  protocol_min: count,
  protocol_max: count,
  joined_at_ms: count,
});

export const clusterState = named(
  "ClusterState",
  object({
    region,
    self: described(nullable(member), "This node; null while it is no member."),
    holds_lease: flag,
    regions: listOf(
      object({
        region,
        version: count,
        members: listOf(member),
        standing: object({
          region,
          status: oneOf(["active", "dead"]),
          successor: nullable(region),
          version: count,
        }),
      }),
    ),
    transport: described(
      nullable(anyObject as Shape<object>),
      "Connections to other nodes; null while there are none.",
    ),
    fence_refusals: described(
      listOf(object({ region, incarnation: anyText, refusals: count, last_at_ms: count })),
      "Writes that the fence refused, by the node that made them.",
    ),
  }),
);
export type ClusterState = Of<typeof clusterState>;

const stalledPush = named(
  "StalledPush",
  object({
    push_id: text(64),
    business_uuid: uuid,
    records: count,
    settled: count,
    regions: described(listOf(region), "Whose index has not confirmed what is settled."),
    since: moment("When it made its last step."),
  }),
);
export type StalledPush = Of<typeof stalledPush>;
export const stalledPushes = object({ pushes: listOf(stalledPush) });

const latePurge = named(
  "LatePurge",
  object({
    business_uuid: uuid,
    purges: described(count, "How many are due, as far as the last attempt looked: 300 at most."),
    oldest_deleted_at: moment("When the oldest of these deletions was accepted."),
    limit_at: moment("30 days after it: by then its bytes have to be purged."),
    waits_for: described(
      oneOf(["region", "push", "store"]),
      "`region`: the indexes of `regions` have not confirmed. `push`: `push_id` was accepted before the deletion and may still store such a version. `store`: see `detail`.",
    ),
    regions: listOf(region),
    push_id: nullable(text(64)),
    detail: described(anyText, "What the last attempt said."),
  }),
);
export type LatePurge = Of<typeof latePurge>;
export const latePurges = object({ late: listOf(latePurge) });

export const purgeProof = nullable(
  described(
    object({
      purged_at: timestamp,
      versions: described(
        listOf(object({ generation: count, hash })),
        "The versions whose bytes, rows and sidecars were removed from the record store, by the hash of their bytes.",
      ),
      regions: described(
        listOf(region),
        "The regions whose index confirmed that its files have no more of the record.",
      ),
    }),
    "Null until the bytes are purged everywhere.",
  ),
);

const purgeState = named(
  "PurgeState",
  object({
    record_id: anyText,
    collection: oneOf(collectionNames),
    generation: described(
      count,
      "The newest version that the deletion concerns; it concerns all before it as well.",
    ),
    document_hash: described(
      hash,
      "Of the sealed document, which is kept; of an ordered purge, a hash that names the order.",
    ),
    number: described(count, "Its place among the pushes and removals of the business."),
    ground: described(
      nullable(anyText),
      "The ground in law of a purge that operators ordered; null for a deletion by the business.",
    ),
    deleted_at: moment(
      "When the deletion took effect: when its document was accepted or, if it waited for an operator, released; or when the purge was ordered.",
    ),
    due_at: described(timestamp, "When the purge begins."),
    limit_at: moment("30 days after `deleted_at`."),
    state: described(
      oneOf(["owed", "due", "purged"]),
      "`due`: it should be done. `/ops/purges` of the node on which the business lives says what it waits for.",
    ),
    proof: purgeProof,
  }),
);

export const purgePage = object({
  business_uuid: anyText,
  purges: described(listOf(purgeState), "The deletions and ordered purges in their order."),
  next_after: described(nullable(count), "For the next page; null on the last."),
});

// The shapes of what operators are shown of blocks, groups and brands.

export const blockState = named(
  "BlockState",
  object({
    business_uuid: uuid,
    legal_name: anyText,
    blocked: described(
      listOf(
        object({
          group: anyText,
          companies: described(
            listOf(
              object({
                uuid,
                legal_name: anyText,
                former: described(flag, "It has left the group, and the block follows it."),
              }),
            ),
            "Whom the block meets: 10 at most.",
          ),
        }),
      ),
      "In the order in which they were blocked.",
    ),
    change: changeNumber,
  }),
);
const brandNames = listOf(anyText);
export const brandState = named(
  "BrandState",
  object({
    business_uuid: uuid,
    legal_name: anyText,
    owned: described(brandNames, "What its served business files name in `brands_owned`."),
    sold: described(brandNames, "What they name in `brands_sold`."),
    confirmed: described(
      brandNames,
      "What was confirmed as its own. Those among `owned` are protected while its certificate is active.",
    ),
    change: changeNumber,
  }),
);
export const groupState = named(
  "GroupState",
  object({
    company_uuid: uuid,
    legal_name: anyText,
    group: anyText,
    former_groups: described(listOf(anyText), "Groups that it left, whose blocks follow it."),
    change: changeNumber,
  }),
);

// The shapes of what operators are shown of takedowns and accounts.

const takedown = object({
  business_uuid: uuid,
  record_id: described(nullable(anyText), "Null for everything of the business."),
  statement_of_reasons: anyText,
  taken_down_at: timestamp,
  lifted_at: described(nullable(timestamp), "Null while it is in force."),
});
export const takedownState = named(
  "TakedownState",
  object({
    business_uuid: uuid,
    legal_name: anyText,
    record_id: nullable(anyText),
    takedown: described(nullable(takedown), "The newest takedown; null if there never was one."),
    change: changeNumber,
  }),
);
export const takedownList = object({
  takedowns: described(listOf(takedown), "Those in force, as far as this region has heard, newest first."),
  total: count,
});
export type TakedownList = Of<typeof takedownList>;

const operatorEntry = object({
  entry_id: anyText,
  kind: oneOf(["top_up", "correction"]),
  amount: anyText,
  currency: anyText,
  by: anyText,
  reason: anyText,
  at: timestamp,
});
export const operatorStatement = named(
  "OperatorStatement",
  object({ ...statementMembers, entries: listOf(operatorEntry) }),
);

const daysLeft = described(
  nullable(integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
  "Whole days for which the balance lasts at the rate of the last day in which anything was charged; null if nothing ever was.",
);
export const accountList = named(
  "AccountList",
  object({
    accounts: described(
      listOf(
        object({
          company_uuid: uuid,
          legal_name: described(nullable(anyText), "Null where this region does not have the company yet."),
          currency: anyText,
          balance: anyText,
          available: anyText,
          used_last_day: described(anyText, "What was charged in the last 24 hours."),
          days_left: daysLeft,
          is_low: described(flag, "Whether it lasts for less than seven days."),
          last_top_up: described(
            nullable(object({ amount: anyText, at: timestamp })),
            "Null if nothing was paid in but by corrections.",
          ),
        }),
      ),
      "Those that run low first.",
    ),
    next_after: described(nullable(uuid), "For the next page; null on the last."),
    is_complete: described(
      flag,
      "False where there are more than 2,000, of which that many were looked at, or one cannot be asked now.",
    ),
  }),
);

// The shapes of what operators are shown of their lists.

const holds = described(anyText, "What is in it, in a few words.");

export const listState = named(
  "ListState",
  object({
    list: oneOf(listNames),
    source: described(
      oneOf(["act", "file", "none"]),
      "`act`: what operators set, which counts on every node. `file`: the file of this node, which counts until the first act.",
    ),
    version: described(nullable(count), "Number of the act; null for a file."),
    sha256: nullable(hash),
    bytes: nullable(count),
    holds: nullable(holds),
    since: described(nullable(timestamp), "When it was set, or when this node read its file."),
    by: nullable(anyText),
    reason: nullable(anyText),
    unused_file: described(flag, "The settings of this node name a file as well, which is not used."),
    fault: described(nullable(anyText), "Why something newer is not in force on this node."),
  }),
);
export type ListState = Of<typeof listState>;

export const listStates = object({ lists: listOf(listState) });

export const listHistory = object({
  list: listState,
  versions: described(
    listOf(
      object({
        version: count,
        sha256: hash,
        bytes: count,
        holds,
        by: anyText,
        reason: anyText,
        set_at: timestamp,
      }),
    ),
    "What operators set, the newest first, 100 at most. All prices and terms are kept, and ten versions of the others.",
  ),
});
export type ListHistory = Of<typeof listHistory>;

/** An answer with its subject under its name. */
export function under<N extends string, T>(name: N, subject: Shape<T>) {
  return object({ [name]: subject }) as Shape<unknown> as Shape<Readonly<Record<N, T>>>;
}

/** The outcome of an action without a moment from which on it is in force. */
export function changed<N extends string, T>(name: N, subject: Shape<T>) {
  const outcome = object({ changed: described(flag, "False where it was so before."), [name]: subject });
  return outcome as Shape<unknown> as Shape<{ readonly changed: boolean } & Readonly<Record<N, T>>>;
}

// The answers of the transparency log's reads (specification, «C. Public verification API»).

import { leafTypes } from "../log/entries.ts";
import {
  anyText,
  described,
  hash,
  integer,
  listOf,
  named,
  type Of,
  object,
  oneOf,
  optional,
  region,
} from "../shape.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const size = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const path = listOf(hash);
const checkpoint = described(anyText, "The signed note of the tree that the proof leads to.");

export const inclusionAnswer = named(
  "InclusionAnswer",
  object({
    leaf: described(hash, "The leaf that was asked for."),
    leaf_type: oneOf(leafTypes),
    leaf_index: described(count, "Place of the entry in the log; for a receipt, that of its batch."),
    tree_size: size,
    proof: described(path, "Audit path from the entry to the root (RFC 9162 §2.1.3)."),
    checkpoint,
    subject: described(
      anyText,
      "Whose entry it is: the business, of a receipt batch its region and name, of a checkpoint the log's origin.",
    ),
    batch: optional(
      described(
        object({
          region,
          name: anyText,
          root: described(hash, "The `leaf` of the batch's entry."),
          leaf_index: count,
          tree_size: size,
          proof: described(path, "Audit path from the receipt to the batch's root."),
        }),
        "The lower level of a receipt's proof.",
      ),
    ),
  }),
);

export type InclusionAnswer = Of<typeof inclusionAnswer>;

export const witnessesAnswer = named(
  "LogWitnessesAnswer",
  object({
    quorum: described(
      count,
      "How many of them have to cosign a checkpoint before it is served; 0 of none where there are none.",
    ),
    witnesses: listOf(
      object({
        name: described(anyText, "The name in its signature lines."),
        key: described(anyText, "Its verifier key (C2SP signed-note), of type 0x04."),
      }),
    ),
  }),
);

export type LogWitnessesAnswer = Of<typeof witnessesAnswer>;

export const consistencyAnswer = named(
  "ConsistencyAnswer",
  object({
    from_size: size,
    to_size: size,
    proof: described(path, "RFC 9162 §2.1.4."),
    checkpoint: described(
      anyText,
      "The latest signed note, also for an earlier `second`: it does not show the tree of that size.",
    ),
  }),
);

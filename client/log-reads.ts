// What the client reads of the transparency log.

import {
  type InclusionAnswer,
  inclusionAnswer,
  type LogWitnessesAnswer,
  witnessesAnswer,
} from "../protocol/wire/receipts.ts";
import { ofForm } from "./business-client.ts";
import { SvcProblemError } from "./errors.ts";
import type { JsonAnswer } from "./json-answer.ts";
import type { SvcClient } from "./service-client.ts";

type Reader = Pick<SvcClient, "verificationRead">;

/** The proof of a leaf; null where the log does not contain it, or not yet. Throws what {@link SvcClient} throws. */
export async function readInclusion(client: Reader, query: string): Promise<InclusionAnswer | null> {
  try {
    const answer = await client.verificationRead(`/v1/log/inclusion?${query}`);
    return ofForm(inclusionAnswer, answer as JsonAnswer<InclusionAnswer>).body;
  } catch (error) {
    if (error instanceof SvcProblemError && error.status === 404) return null;
    throw error;
  }
}

/** The verifier keys of the witnesses that the log names. Throws what {@link SvcClient} throws. */
export async function readWitnessKeys(client: Reader): Promise<readonly string[]> {
  const answer = await client.verificationRead("/v1/log/witnesses");
  const { body } = ofForm(witnessesAnswer, answer as JsonAnswer<LogWitnessesAnswer>);
  return body.witnesses.map(({ key }) => key);
}

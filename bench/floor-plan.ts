// What the floor server is given so that it does the same work as ours: answers captured from ours, and the lengths
// of what was verified, signed and stored for them.

import { parseBase64 } from "../protocol/bytes.ts";
import { pae, payloadTypes } from "../protocol/dsse.ts";
import type { FloorPlan } from "./floor/serve.ts";
import { Connection } from "./load.ts";
import { type Caller, makeRequests, type RequestPlan, signatureBaseLength, targetOf } from "./requests.ts";

/** Captures the answers of our node to these requests, and plans a floor that does the same amount of work for them. */
export async function captureAnswers(
  baseUrl: string,
  caller: Caller,
  plans: readonly RequestPlan[],
): Promise<Omit<FloorPlan, "file">> {
  const requests = await makeRequests(baseUrl, caller, plans);
  const connection = await Connection.open(targetOf(baseUrl));
  const bodies: Uint8Array[] = [];
  try {
    for (const request of requests) {
      const answer = await connection.exchange(request);
      if (answer.status !== 200) throw new Error(`answer ${answer.status}: ${answer.body().slice(0, 500)}`);
      bodies.push(Buffer.from(answer.body()));
    }
  } finally {
    connection.close();
  }
  const [body, plan, request] = [bodies[0], plans[0], requests[0]];
  if (body === undefined || plan === undefined || request === undefined)
    throw new Error("nothing was captured");
  const { receipt } = JSON.parse(Buffer.from(body).toString()) as { receipt: { payload: string } };
  const payload = parseBase64(receipt.payload) ?? new Uint8Array();
  return {
    signatureBaseLength: signatureBaseLength(baseUrl, plan, request),
    receiptLength: pae(payloadTypes["receipt.v3"], payload).length,
    envelopeLength: JSON.stringify(receipt).length,
    bodies,
  };
}

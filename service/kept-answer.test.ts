import { describe, expect, it } from "vitest";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { noNonce } from "./authentication/authenticate.ts";
import { answerWithReceipt, type Prepared } from "./retrieval/receipts.ts";

const receipts: Parameters<typeof answerWithReceipt>[0] = {
  sharesCommits: true,
  begin: rubbish(null),
  sign: rubbish(null),
  unsigned: rubbish(null),
  keep: async () => ({ retract: async () => {} }),
};

function asked(kept: Promise<void>, note: () => void) {
  const receipt: Prepared["receipt"] = rubbish({});
  const prepared: Prepared = { body: "{}", receipt, kept, answered: note };
  return answerWithReceipt(
    receipts,
    () => noNonce,
    async () => prepared,
  );
}

describe("an answer with more to keep than its receipt", () => {
  it("is handed out only once that is durable", async () => {
    const order: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const answered = asked(promise, () => order.push("answered"));
    await new Promise(setImmediate);
    order.push("durable");
    resolve();
    expect(await answered).toMatchObject({ kind: "answer", status: 200 });
    expect(order).toEqual(["durable", "answered"]);
  });

  it("is refused if that fails", async () => {
    const failed = Promise.reject(new Error("the disk is full"));
    await expect(asked(failed, () => {})).rejects.toThrow("the disk is full");
  });
});

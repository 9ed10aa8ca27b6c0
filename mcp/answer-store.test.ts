import { describe, expect, it } from "vitest";
import { AnswerStore, answerLengthMax, answersMax, type KeptAnswer } from "./tool.ts";

const fetched = (text: string): KeptAnswer => ({ kind: "fetched", text, requestHash: null });

describe("the answers that verify can check (A1)", () => {
  it("are the newest 64, whether each has one name or two", () => {
    const store = new AnswerStore();
    for (let n = 0; n <= answersMax; n += 1) store.keep([`svc_${n}`, `ret_${n}`], fetched(`answer ${n}`));
    const kept = (name: string) =>
      Array.from({ length: answersMax + 1 }, (_, n) => store.find(`${name}_${n}`));
    for (const name of ["svc", "ret"]) {
      const [oldest, ...others] = kept(name);
      expect(oldest).toBeNull();
      expect(others.map((answer) => answer?.text)).toEqual(
        Array.from({ length: 64 }, (_, n) => `answer ${n + 1}`),
      );
    }
  });

  it("of a record that is fetched again and again are under its id the newest, and each under its retrieval", () => {
    const store = new AnswerStore();
    for (let n = 0; n <= answersMax; n += 1) store.keep(["svc_a", `ret_${n}`], fetched(`answer ${n}`));
    expect(store.find("svc_a")?.text).toBe(`answer ${answersMax}`);
    expect([store.find("ret_0"), store.find("ret_1")?.text]).toEqual([null, "answer 1"]);
  });

  it("have at most a mebibyte of characters each", () => {
    const store = new AnswerStore();
    store.keep(["whole"], fetched("x".repeat(answerLengthMax)));
    store.keep(["longer"], fetched("x".repeat(answerLengthMax + 1)));
    expect([store.find("whole")?.text.length, store.find("longer")]).toEqual([1_048_576, null]);
  });
});

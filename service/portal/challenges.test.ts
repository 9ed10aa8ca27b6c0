import { expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { createChallenges } from "./challenges.ts";

const minuteMs = 60_000;
const bound = { person_id: "p", session: "s" };
const act = { act: "passkey.add", name: "phone" };

function challengesAt(nowMs: number) {
  const clock = { now: () => nowMs };
  return createChallenges(new Uint8Array(32).fill(7), { crypto: nativeCrypto, clock });
}

it("takes a challenge for five minutes, which nobody makes longer (CH2)", () => {
  const { ticket, challenge } = challengesAt(0).issue(act, bound);
  const at = (nowMs: number, given = ticket) => challengesAt(nowMs).expected(act, bound, given);
  expect(at(5 * minuteMs - 1)).toMatchObject({ ok: true, value: { challenge } });
  expect(at(5 * minuteMs)).toMatchObject({ ok: false, code: "challenge_expired" });
  const [nonce = ""] = ticket.split(".");
  const longer = at(5 * minuteMs, `${nonce}.${6 * minuteMs}`);
  expect(longer.ok && longer.value.challenge !== challenge).toBe(true);
  for (const given of ["", ".", `${nonce}.`, `.${minuteMs}`, `${ticket}.1`, `${nonce}.1e9`, `${nonce}.-1`])
    expect(at(0, given)).toMatchObject({ ok: false, code: "challenge_expired" });
});

it("gives every challenge a ticket of its own, so that one answer is taken once (CH2)", () => {
  const challenges = challengesAt(0);
  const [first, second] = [challenges.issue(act, bound), challenges.issue(act, bound)];
  expect(first.challenge).not.toBe(second.challenge);
  const swapped = challenges.expected(act, bound, second.ticket);
  expect(swapped.ok && swapped.value.challenge).toBe(second.challenge);
});

it("takes the code of a form for twelve hours (CH3)", () => {
  const code = challengesAt(0).formCode("s");
  const at = (nowMs: number, given = code, session = "s") => challengesAt(nowMs).isFormCode(session, given);
  expect([at(0), at(720 * minuteMs - 1), at(720 * minuteMs)]).toEqual([true, true, false]);
  const [, mac = ""] = code.split(".");
  for (const given of ["", ".", `${721 * minuteMs}.${mac}`, `${720 * minuteMs}.`, `1e9.${mac}`, mac])
    expect(at(0, given)).toBe(false);
  expect(at(0, code, "t")).toBe(false);
});

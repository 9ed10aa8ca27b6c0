// What is known of conversations: how often each asked today, and nothing else (specification, «Retrieval API»,
// `session_ref`). It serves repeat limits and the recognition of fraud.
//   S1. A `session_ref` is replaced on arrival by its HMAC-SHA-256 under a salt of the UTC day. The salt is 32 random bytes
//       that exist in the memory of this process alone: no file, no store, no log and no other node has them.
//   S2. When the day is over, the salt is overwritten, and every mark of the day is forgotten with it. Nothing that was
//       kept can be compared with what comes later, not even by somebody who knows the `session_ref`.
//   S3. Marks are of one company: the same `session_ref` of two companies is two sessions.
//   S4. Nobody is shown a mark, and no business a number that follows from one.
//   S5. Memory is bounded: of more than `sessionsMax` sessions, those that asked longest ago count as new.

import type { CryptoPort } from "../crypto/port.ts";
import { toBase64Url, utf8 } from "../protocol/bytes.ts";
import { BoundedMap } from "../std/bounded-map.ts";

/** A session that searches more often than this in one day is no conversation of a person. */
export const sessionSearchesMax = 500;
export const sessionsMax = 20_000;
const saltBytes = 32;
/** Enough for a day's sessions never to be confused. */
const markBytes = 16;

interface Session {
  searches: number;
  readonly subjects: Set<string>;
}

/** How many different subjects of one session count in a day. */
export const sessionSubjectsMax = 20;

export class SessionMarks {
  readonly #crypto: Pick<CryptoPort, "hmacSha256" | "randomBytes">;
  readonly #sessions: BoundedMap<string, Session>;
  #salt: Uint8Array | null = null;
  #day = "";
  #excessive = 0;

  constructor(crypto: Pick<CryptoPort, "hmacSha256" | "randomBytes">, max = sessionsMax) {
    this.#crypto = crypto;
    this.#sessions = new BoundedMap(max);
  }

  /** The day of the salt; empty while there is none. */
  get day(): string {
    return this.#day;
  }

  /** How many searches were beyond {@link sessionSearchesMax}. */
  get excessive(): number {
    return this.#excessive;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** What stands for the session on that day, `YYYY-MM-DD` (S1). */
  mark(company: string, sessionRef: string, day: string): string {
    this.turn(day);
    this.#salt ??= this.#crypto.randomBytes(saltBytes);
    const mac = this.#crypto.hmacSha256(this.#salt, utf8(`${company}\n${sessionRef}`));
    return toBase64Url(mac.subarray(0, markBytes));
  }

  /** Ends every day before this one (S2). */
  turn(day: string): void {
    if (day <= this.#day) return;
    this.#salt?.fill(0);
    this.#salt = null;
    this.#sessions.clear();
    this.#day = day;
  }

  /**
   * Counts a search of the session, and returns which of its subjects count: each once a day, up to {@link sessionSubjectsMax}, and
   * none once the session searches too often.
   */
  search(mark: string, subjects: readonly string[]): readonly string[] {
    const session = this.#sessions.get(mark) ?? { searches: 0, subjects: new Set<string>() };
    this.#sessions.set(mark, session);
    session.searches += 1;
    if (session.searches > sessionSearchesMax) {
      this.#excessive += 1;
      return [];
    }
    const fresh = subjects.filter((each) => !session.subjects.has(each));
    const counted = fresh.slice(0, sessionSubjectsMax - session.subjects.size);
    for (const each of counted) session.subjects.add(each);
    return counted;
  }
}

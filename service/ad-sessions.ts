// Conversations that are shown ads and sponsored rows.
//   AS1. What a conversation was shown is known by its mark alone, an HMAC under a salt that is another one each day.

import { adSessionRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { toBase64Url, utf8 } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { adRenderMs, adRepeatMs } from "../protocol/limits.ts";

export interface AdSessionDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly crypto: Pick<CryptoPort, "hmacSha256">;
  readonly region: string;
  /** The secret from which each day's salt follows. */
  readonly sessionKey: Uint8Array;
}

export interface AdSessions {
  /** The conversation's names: today's first, and yesterday's while what it was served then may still count. None without a label. */
  namesOf(company: string, sessionRef: string | undefined, servedAtMs: number): readonly string[];
  /** The ads that are left out of what the conversation is served now. */
  shownIn(names: readonly string[]): Promise<ReadonlySet<string>>;
}

/** How long ago something was served at most that a conversation must not see again: it may have been rendered until its end. */
const shownInMs = adRepeatMs + adRenderMs + 60_000;

export function createAdSessions({ actors, crypto, region, sessionKey }: AdSessionDeps): AdSessions {
  return {
    namesOf: (company, sessionRef, servedAtMs) => {
      if (sessionRef === undefined) return [];
      const days = [servedAtMs, servedAtMs - shownInMs].map((ms) => formatTimestamp(ms).slice(0, 10));
      return [...new Set(days)].map((day) => {
        const salt = crypto.hmacSha256(sessionKey, utf8(`ad sessions\n${day}`));
        const mark = crypto.hmacSha256(salt, utf8(`${company}\n${sessionRef}`)).subarray(0, 16);
        return adSessionRef(toBase64Url(mark), region).id;
      });
    },
    shownIn: async (names) => {
      const shown = await Promise.all(
        names.map((id) => actors.ask({ kind: "ad-session", id }, { type: "shown.read" })),
      );
      return new Set(shown.flatMap(({ ads }) => ads));
    },
  };
}

// The tokens of ads: an item of a pool, for the company that was served it, until an instant. They are authenticated by a secret that
// all nodes share, so they are stored nowhere, and a wrong one is refused without asking anything.
// Also the sessions of conversations.
//   AT1. A token names its event, its pool, its region, its item, the item's ad and campaign, and its end, and counts for one company.
//   AT2. The same item has the same token, however often it is asked for.
//   AT3. What a token says needs no look-up: a render goes straight to its campaign, and a click proves its render.

import { adSessionRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { CryptoPort } from "../../crypto/port.ts";
import { parseBase64Url, parseUtf8, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { adRenderMs, adRepeatMs } from "../../protocol/limits.ts";

export type AdEvent = "render" | "click";

export interface AdToken {
  readonly event: AdEvent;
  readonly retrievalId: string;
  readonly region: string;
  readonly index: number;
  readonly ad: TokenAd;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

export interface TokenAd {
  readonly ad_id: string;
  readonly business_uuid: string;
  readonly campaign_id: string;
}

export interface AdTokens {
  tokenOf(company: string, token: AdToken): string;
  /** Null for a text that is no token of this company. An expired one is opened like any other. */
  open(company: string, event: AdEvent, text: string): AdToken | null;
}

export const adTokenPattern = /^svc_ad[rc]1\.[A-Za-z0-9_-]{1,400}\.[A-Za-z0-9_-]{43}$/;
const prefixes = { render: "svc_adr1", click: "svc_adc1" } as const;
const payloadForm =
  /^(ret_[0-9a-f]{32}) ([a-z]+-[a-z]+[0-9]+) ([0-9]{1,2}) ([0-9]{13,15}) (ad_[a-z2-7]{26}) ([0-9a-f-]{36}) ([^ ]{1,64})$/;

/** Tokens of one ad in one answer, for one company: a text with a MAC by `secret`, which every node can open. */
export function createAdTokens({ hmacSha256 }: CryptoPort, secret: Uint8Array): AdTokens {
  const macBytes = (company: string, event: AdEvent, payload: string): Uint8Array =>
    hmacSha256(secret, utf8(`ad ${event}\n${company}\n${payload}`));
  return {
    tokenOf: (company, { event, retrievalId, region, index, expiresAtMs, ad }) => {
      const named = `${ad.ad_id} ${ad.business_uuid} ${ad.campaign_id}`;
      const payload = toBase64Url(utf8(`${retrievalId} ${region} ${index} ${expiresAtMs} ${named}`));
      return `${prefixes[event]}.${payload}.${toBase64Url(macBytes(company, event, payload))}`;
    },
    open: (company, event, text) => {
      const [prefix, payload = "", mac = ""] = text.split(".");
      if (prefix !== prefixes[event] || !adTokenPattern.test(text)) return null;
      const sent = parseBase64Url(mac);
      if (sent === null || !isSame(sent, macBytes(company, event, payload))) return null;
      const bytes = parseBase64Url(payload);
      const found = bytes === null ? null : payloadForm.exec(parseUtf8(bytes) ?? "");
      if (found === null) return null;
      const [
        ,
        retrievalId = "",
        region = "",
        index,
        expires,
        ad_id = "",
        business_uuid = "",
        campaign_id = "",
      ] = found;
      const ad = { ad_id, business_uuid, campaign_id };
      return { event, retrievalId, region, index: Number(index), expiresAtMs: Number(expires), ad };
    },
  };
}

/** Takes as long wherever they differ. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < b.length; at += 1) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return difference === 0;
}

// Conversations that are shown ads and sponsored rows.
//   AS1. What a conversation was shown is known by its mark alone, an HMAC under a salt that is another one each day.

export interface AdSessionDeps {
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
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

/** The conversations that are shown ads, known by marks from which nobody learns the `session_ref`. */
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

// The addresses of the documented API that the pages read, the same that scripts use.

export interface ActorName {
  readonly kind: string;
  readonly id: string;
}

export function apiOf(
  { kind, id }: ActorName,
  rest = "",
  query: Readonly<Record<string, string | number>> = {},
): string {
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const name = `${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
  return `/ops/actors/${name}${rest}${asked.size === 0 ? "" : `?${asked}`}`;
}

/** Server-sent events: the counts of actors. */
export const liveCounts = "/ops/live/counts";

/** Server-sent events: one actor. */
export function liveActor({ kind, id }: ActorName): string {
  return `/ops/live/actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}

/** Server-sent events: the road of a push, from one of its chunks on, or of the newest ones. */
export function livePush(businessUuid: string, pushId: string, fromChunk: number | null): string {
  const name = `${encodeURIComponent(businessUuid)}/${encodeURIComponent(pushId)}`;
  return `/ops/live/pushes/${name}${fromChunk === null ? "" : `?from_chunk=${fromChunk}`}`;
}

/** What the API refused: its status, and its problem document's detail as the message. */
export class AnswerError extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** A read of the API. Throws {@link AnswerError}. */
export async function readJson<T>(address: string, init: RequestInit = {}): Promise<T> {
  const answer = await fetch(address, { headers: { accept: "application/json" }, ...init });
  const body = (await answer.json()) as T & { readonly detail?: string };
  if (!answer.ok) throw new AnswerError(answer.status, body.detail ?? `${answer.status}`);
  return body;
}

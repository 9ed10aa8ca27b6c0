// Notices to a business's owners and admins about its pushes. The push's actor has each delivered, after the commit that made it
// true and until a delivery succeeds: at least once, and in the ordinary case once.

/** A port: one channel of notices. It may be asked for the same notice again, which has the same id. */
export interface NoticeChannel {
  /** Throws if the notice was not delivered and may be later. */
  deliver(notice: PushNotice): Promise<void>;
}

export interface PushNotice {
  readonly v: 1;
  /** Identifies the notice, however often it is delivered: `<push_id>.<state>`. */
  readonly notice_id: string;
  readonly business_uuid: string;
  readonly push_id: string;
  readonly state: "complete" | "failed" | "held";
  readonly records: number;
  readonly counts: {
    readonly accepted: number;
    readonly updated: number;
    readonly rejected: number;
    readonly held: number;
  };
  /** Why a push failed. */
  readonly error: { readonly code: string; readonly detail: string } | null;
  /** Why a push is held: the codes of its reasons. */
  readonly held_reasons: readonly string[];
  readonly status_url: string;
  /** When the push reached this state. */
  readonly at: string;
}

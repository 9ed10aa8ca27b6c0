// What a push needs, and what it reports while it runs.

import type { UploadingClient } from "./bulk.ts";
import type { BatchResult, PushJournal } from "./push-state.ts";
import type { PushStatus, SvcClient } from "./service-client.ts";
import type { SigningKey } from "./signing-key.ts";

export type PushEvent =
  | {
      readonly type: "push.opened";
      readonly records: number;
      readonly batches: number;
      readonly settled_batches: number;
      readonly settled_records: number;
    }
  | {
      readonly type: "batch.uploading" | "batch.uploaded";
      readonly batch: number;
      readonly records: number;
    }
  | {
      readonly type: "batch.sealed";
      readonly batch: number;
      readonly push_id: string;
      readonly seq: number;
      readonly sealed_again: boolean;
    }
  | {
      readonly type: "batch.sent";
      readonly batch: number;
      readonly push_id: string;
      readonly records: number;
    }
  | {
      readonly type: "batch.progress";
      readonly batch: number;
      readonly push_id: string;
      readonly settled: number;
      readonly records: number;
      readonly counts: PushStatus["counts"];
    }
  | {
      readonly type: "batch.finished";
      readonly batch: number;
      readonly push_id: string;
      readonly records: number;
      readonly result: BatchResult;
    }
  | { readonly type: "waiting"; readonly seconds: number; readonly reason: string };

export interface PushDeps {
  readonly client: Pick<SvcClient, "publishProducts" | "pushStatus" | "sealContext"> &
    Partial<UploadingClient>;
  readonly key: SigningKey;
  readonly journal: PushJournal;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** How long to wait for an unavailable service before the push stops; it can then be run again. */
  readonly patienceMs: number;
  /** Distinguishes this run's requests from those of earlier runs. Printable ASCII. */
  readonly runId: string;
  /** Records in a batch; if it is given, no bulk files are used. */
  readonly recordsPerBatch?: number;
  readonly onEvent?: (event: PushEvent) => void;
}

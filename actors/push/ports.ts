// The ports that a push actor's activities need.

import type { CryptoPort, SignerAt } from "../../crypto/port.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { MerkleTree } from "../../protocol/merkle.ts";
import type { ContentLists } from "../../protocol/records/content-lists.ts";
import type { RecordStore } from "../../storage/record-store.ts";

export interface PushPorts {
  readonly records: RecordStore;
  readonly crypto: CryptoPort;
  readonly projection: SignerAt;
  readonly sidecar: SignerAt;
  readonly trees: { load(pushId: string, records: number): Promise<MerkleTree>; drop(pushId: string): void };
  /** Leaves that were judged at admission and are still in memory, with their record ids; each is returned once. */
  readonly parsed: {
    take(
      push: string,
      leafIndex: number,
    ): { readonly record: JsonObject; readonly recordId: string } | undefined;
    drop(push: string): void;
  };
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** The lists that the content rules use. */
  readonly lists: ContentLists;
  /** Whether pushes that nobody waits for are processed here; absent where they always are. */
  readonly background?: { readonly isOn: boolean };
  /** The region in which pushes are processed: their business is at home here. */
  readonly region: string;
  /** The regions whose indexes are currently notified. */
  readonly regions: () => readonly string[];
}

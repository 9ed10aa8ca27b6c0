// What a push actor's work needs from outside.

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
  /** Leaves that were judged at admission and are still at hand, with their record ids; given once each. */
  readonly parsed: {
    take(
      push: string,
      leafIndex: number,
    ): { readonly record: JsonObject; readonly recordId: string } | undefined;
    drop(push: string): void;
  };
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** Lists that the content rules judge by. */
  readonly lists: ContentLists;
  /** The region that pushes are processed in: their business is at home here. */
  readonly region: string;
  /** Regions whose indexes are told now. */
  readonly regions: () => readonly string[];
}

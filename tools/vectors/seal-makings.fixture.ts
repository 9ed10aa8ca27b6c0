// What the cases about seals have in common: a record, a batch of five that it is in, and whole inputs to change.

import {
  batchSeal,
  passkeySeal,
  publishedKeys,
  recordBytes,
  sealedMandate,
} from "../../verifier/business.fixture.ts";
import { base64, type World } from "./world.fixture.ts";

export const bytes = recordBytes();
export const batch = [
  recordBytes({ business_product_id: "b" }),
  bytes,
  ...["c", "d", "e"].map((id) => recordBytes({ business_product_id: id })),
];

/** What cases about seals are made of. */
export function makings(world: World) {
  const { service, business } = world.production;
  const common = {
    uuid: business.uuid,
    certificates: [business.issued.envelope],
    business_keys: publishedKeys(service, business),
  };
  const of = (content: Uint8Array, seal: unknown, changes: object = {}) => ({
    bytes_base64: base64(content),
    seal,
    ...common,
    ...changes,
  });
  const mandates = [{ envelope: sealedMandate(business), revoked_at: null }];
  return {
    service,
    business,
    of,
    mandates,
    keys: (...listed: Parameters<typeof publishedKeys>[2] & {}) => ({
      business_keys: publishedKeys(service, business, listed),
    }),
    single: (changes: object = {}) => of(bytes, passkeySeal(business, bytes), changes),
    pushed: (changes: object = {}) => of(bytes, batchSeal(business, batch, 1), { mandates, ...changes }),
  };
}

// What a node takes and answers images of ads by, built from its services.

import { nativeCrypto } from "../../crypto/native.ts";
import { createAcceptImage, createUploadImage, type UploadImage } from "../../service/ad-images.ts";
import { ImageCache } from "../../service/image-cache.ts";
import { createImageLinks, type ImageLinks } from "../../service/image-links.ts";
import { createImageRate } from "../../service/image-rate.ts";
import { createReadImage, type ReadImage } from "../../service/image-read.ts";
import type { NodeServices } from "../services.ts";
import { createImageDecoder } from "./decode-image.ts";

export function uploadImageOf(services: NodeServices): UploadImage {
  const { imageStore: store } = services;
  const accept = createAcceptImage({ store, decode: createImageDecoder(), sha256: nativeCrypto.sha256 });
  return createUploadImage(accept, createImageRate(services));
}

export function readImageOf(services: NodeServices, baseUrl: string): ReadImage {
  const links = imageLinksOf(services, baseUrl);
  return createReadImage({ store: services.imageStore, links, cache: new ImageCache(services) });
}

/** `baseUrl` is the public address of the retrieval surface. */
export function imageLinksOf(
  { imageLinkKey: secret, clock }: Pick<NodeServices, "imageLinkKey" | "clock">,
  baseUrl: string,
): ImageLinks {
  return createImageLinks({ crypto: nativeCrypto, secret, baseUrl, now: clock.now });
}

// Refusals of images of ads.

import { crc32, deflateSync } from "node:zlib";
import { concatBytes, utf8 } from "../../../protocol/bytes.ts";
import { imageBytesMax, imageSideMax } from "../../../protocol/limits.ts";
import { type Attempts, type Refused, refusedBy, type Trial } from "./trial.ts";

const path = "/v1/ads/images";

const send =
  (body: Uint8Array) =>
  async (trial: Trial): Promise<Refused> => {
    const { publisher: caller } = await trial.everyday;
    const url = `${trial.sandbox.business_url}${path}`;
    const headers = { "content-type": "image/png" };
    return refusedBy(await trial.send({ url, method: "POST", caller, tag: "svc-push", body, headers }));
  };

/** A grey PNG of one line, wider than an image of an ad may be. */
function widePng(): Uint8Array {
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, imageSideMax + 1);
  view.setUint32(4, 1);
  head[8] = 8;
  const line = deflateSync(new Uint8Array(imageSideMax + 2));
  return concatBytes(
    new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    ...[chunk("IHDR", head), chunk("IDAT", line), chunk("IEND", new Uint8Array())],
  );
}

/** Length, type, data and checksum (PNG §5.3). */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const named = concatBytes(utf8(type), data);
  const whole = new Uint8Array(named.length + 8);
  const view = new DataView(whole.buffer);
  view.setUint32(0, data.length);
  whole.set(named, 4);
  view.setUint32(named.length + 4, crc32(named));
  return whole;
}

export const imageRefusals: Attempts = {
  "media_type_unsupported/image_type_unsupported": send(utf8('<svg xmlns="http://www.w3.org/2000/svg"/>')),
  "record_too_large/image_too_large": send(new Uint8Array(imageBytesMax + 1)),
  "request_invalid/image_dimensions": send(widePng()),
  "request_invalid/image_invalid": send(widePng().slice(0, 40)),
};

// The images of ads: a business sends them in signed requests, and the servers that show an ad fetch them by signed links.

import type { FastifyRequest } from "fastify";
import { type ImageMediaType, imageMediaTypes } from "../../protocol/image-type.ts";
import {
  imageBytesMax,
  imageBytesPerDay,
  imagePixelsMax,
  imageSideMax,
  imagesPerDay,
} from "../../protocol/limits.ts";
import { adImage } from "../../protocol/wire/ad-requests.ts";
import type { UploadImage } from "../../service/ads/ad-images.ts";
import type { ReadImage } from "../../service/ads/image-read.ts";
import { type Refused, refusedWith } from "../../service/answer.ts";
import { parameter } from "../public-read.ts";
import { isRefused, parseQuery, send, single } from "../request-parts.ts";
import { inPath, inQuery, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessPush, type Callers } from "../signed.ts";

const [mediaType, ...otherMediaTypes] = imageMediaTypes;
const imageBytes = { mediaType, otherMediaTypes, schema: { type: "string", format: "binary" } } as const;

const uploadDoc: RouteDoc = {
  summary: "Send an image of an ad",
  description: `The body is the image itself: one still PNG, JPEG or WebP of at most ${imageBytesMax} bytes, ${imageSideMax} pixels each way and ${imagePixelsMax} pixels together. It is decoded as a whole, and stored exactly as it came; a creative names it by the hash in the answer. Sending it again changes nothing. A business may send ${imagesPerDay} images of ${imageBytesPerDay} bytes together in 24 hours. A refusal has the \`reason\` \`image_type_unsupported\`, \`image_too_large\`, \`image_dimensions\`, \`image_invalid\` or \`image_store_full\`.`,
  parameters: [sandboxKey],
  body: imageBytes,
  answers: { 201: { description: "The image is stored", body: adImage, headers: ["Cache-Control"] } },
  problems: ["request_invalid", "record_too_large", "request_timeout", "media_type_unsupported"],
};

/** `POST /v1/ads/images`: the bytes of a picture, answered by its hash (201) or by why it is none. */
export function uploadImageRoute(callers: Callers, upload: UploadImage): Route {
  return businessPush(callers, "/v1/ads/images", uploadDoc, {
    bytesMax: imageBytesMax,
    reason: "image_too_large",
    mediaTypeFault: notAnImage,
    answer: ({ authenticated, body, request }) =>
      upload({
        caller: authenticated.caller,
        bytes: body,
        declaredMediaType: request.headers["content-type"] ?? null,
      }),
  });
}

function notAnImage(request: FastifyRequest): Refused | null {
  const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (imageMediaTypes.includes(type as ImageMediaType)) return null;
  const detail = `Content-Type must be ${imageMediaTypes.join(", ")}.`;
  return refusedWith("media_type_unsupported", detail, {
    pointer: "/headers/content-type",
    reason: "image_type_unsupported",
  });
}

const readDoc: RouteDoc = {
  summary: "An image of an ad",
  description:
    "The bytes that the advertiser sent, by the link in the ad's item, which is valid for 15 minutes: fetch it from your server, and compare the hash of what you receive with the one in the item. A link that is expired or forged gets the same 404 as one to an image that is not here.",
  parameters: [
    inPath("hash", "SHA-256 of the image, in hexadecimal.", { type: "string", pattern: "^[0-9a-f]{64}$" }),
    inQuery("expires", "Unix seconds.", { type: "string", pattern: "^[1-9][0-9]{9,11}$" }, "required"),
    inQuery(
      "token",
      "What makes the link valid.",
      { type: "string", pattern: "^[A-Za-z0-9_-]{43}$" },
      "required",
    ),
    {
      name: "If-None-Match",
      in: "header",
      description: "ETags that the caller holds: 304 when one of them is current.",
      schema: { type: "string" },
    },
  ],
  answers: {
    200: {
      description: "The image",
      body: imageBytes,
      mediaType,
      otherMediaTypes,
      headers: ["Cache-Control", "ETag", "Content-Security-Policy"],
    },
    304: { description: "Not changed", body: null, headers: ["Cache-Control", "ETag"] },
  },
  problems: ["request_invalid", "not_found"],
};

/** `GET /v1/ads/images/{hash}`, by a link that expires after 15 minutes. */
export function readImageRoute(read: ReadImage): Route {
  return {
    method: "GET",
    path: "/v1/ads/images/:hash",
    tags: [],
    doc: readDoc,
    handle: async (request, reply) => {
      const query = parseQuery(request.raw.url ?? "", ["expires", "token"]);
      if (isRefused(query)) return send(reply, query);
      const ifNoneMatch = single(request.headers["if-none-match"]);
      return send(reply, await read({ hex: parameter(request, "hash"), ifNoneMatch, ...query }));
    },
  };
}

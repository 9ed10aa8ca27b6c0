// The token that lets its bearer upload the file of one bulk upload. It is derived from a secret of the service, so it is
// stored nowhere, and a wrong one is refused without asking anything.

import type { CryptoPort } from "../crypto/port.ts";
import { toBase64Url, utf8 } from "../protocol/bytes.ts";
import { isUploadId, isUuidV4 } from "../protocol/identifiers.ts";

export interface UploadTokens {
  tokenOf(businessUuid: string, uploadId: string): string;
  /** The business whose upload this is; null for a token that is not the upload's. */
  businessOf(uploadId: string, token: string): string | null;
}

export function createUploadTokens(
  { hmacSha256 }: Pick<CryptoPort, "hmacSha256">,
  secret: Uint8Array,
): UploadTokens {
  const macOf = (business: string, uploadId: string): Uint8Array =>
    hmacSha256(secret, utf8(`bulk upload\n${business}\n${uploadId}`));
  const tokenOf = (business: string, uploadId: string): string =>
    `${business}.${toBase64Url(macOf(business, uploadId))}`;
  return {
    tokenOf,
    businessOf: (uploadId, token) => {
      const business = token.slice(0, 36);
      if (!isUploadId(uploadId) || !isUuidV4(business)) return null;
      // MACs of both texts are compared, so that the time taken tells nothing about either.
      const [sent, right] = [token, tokenOf(business, uploadId)].map((text) =>
        hmacSha256(secret, utf8(text)),
      );
      return sent !== undefined && right !== undefined && toBase64Url(sent) === toBase64Url(right)
        ? business
        : null;
    },
  };
}

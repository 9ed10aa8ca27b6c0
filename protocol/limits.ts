// The limits of requests (specification, «Limits»), each in one place: what judges, what is published and what a client keeps
// to follow from here.

/** Records of one batch. */
export const batchRecordsMax = 10_000;
/** Characters of one record in base64, wherever a request has one. */
export const recordCharactersMax = 204_800;
/** Bytes of a request that publishes. */
export const publishBytesMax = 33_554_432;
/** Bytes of any other signed request. */
export const requestBytesMax = 16_384;
/** Bytes of a verification: a record with its seal, sidecar and row. */
export const verifyBytesMax = 286_720;
/** Bytes of a request for a sandbox grant. */
export const grantBytesMax = 4_096;
/** Batches of so many records are processed in the request. */
export const inlineRecordsMax = 50;
/** Rows of one search. */
export const searchRowsMax = 50;
/** Results on one page of a push's status. */
export const pushPageMax = 100;
/** Characters of a sandbox grant. */
export const grantLengthMax = 8_192;
/** What is sent as `Idempotency-Key`. */
export const idempotencyKeyPattern = /^[\x20-\x7e]{1,255}$/;

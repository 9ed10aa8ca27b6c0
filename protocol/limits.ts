// The limits (specification, «Limits»), each defined in one place: what is enforced, what is published and what a client
// observes all follow from here. Those of the search grammar are with the grammar (collections/).

/** Longest lifetime of a request's signature, and how far its `created` may lie in the future, in seconds. */
export const signatureLifeMaxSeconds = 300;
export const createdAheadMaxSeconds = 30;
/** Maximum difference between the `sealed_at` of a seal and the moment at which the service received it. */
export const sealedAtSkewMs = 300_000;
/** Longest validity of a mandate. */
export const mandateDaysMax = 92;
export const mandateLifeMaxMs = mandateDaysMax * 86_400_000;

/** Maximum number of records in a batch. */
export const batchRecordsMax = 10_000;
/** Maximum length of one record in base64 characters, wherever a request contains one. */
export const recordCharactersMax = 204_800;
/** Maximum size in bytes of a publish request. */
export const publishBytesMax = 33_554_432;
/** Maximum size in bytes of a bulk file, as it is uploaded. */
export const bulkFileBytesMax = 268_435_456;
/** Maximum number of records in a bulk file. */
export const bulkRecordsMax = 100_000;
/** Maximum number of uploads of one business whose files may still arrive, or are kept and not imported yet. */
export const openUploadsMax = 32;
/** How long a bulk upload takes a file: it must begin within this time. */
export const bulkUploadValidMs = 3_600_000;
/** How many files an upload refuses before it takes none any more. */
export const uploadTriesMax = 5;
/** When an upload ends that has no file: twice as long, so that a file that began at the last moment can arrive. */
export const bulkUploadOpenMs = 7_200_000;
/** How long a file is kept that is not imported. */
export const bulkFileKeptMs = 7 * 86_400_000;
/** Maximum size in bytes of any other signed request. */
export const requestBytesMax = 16_384;
/** Maximum number of withdrawals in a request, and its size in bytes. */
export const withdrawalsMax = 50;
export const withdrawalsBytesMax = 262_144;
/** Maximum size in bytes of a verification request: a record with its seal, sidecar and row. */
export const verifyBytesMax = 286_720;
/** Maximum size in bytes of a request for a sandbox grant. */
export const grantBytesMax = 4_096;
/** Batches of up to this many records are processed within the request. */
export const inlineRecordsMax = 50;
/** The same while background processing is unavailable. */
export const inlineFallbackMax = 500;
/** Maximum number of rows in one search. */
export const searchRowsMax = 50;
/** Maximum number of results on one page of a push's status. */
export const pushPageMax = 100;
/** Maximum number of results on one page of the validation of a file. */
export const validatedPageMax = 10_000;
/** Maximum number of push attempts on one page. */
export const attemptsPageMax = 100;
/** For how many days push attempts can be read. */
export const attemptsKeptDays = 90;
/** Maximum number of refused batches of a business that are kept in an hour. */
export const refusalsPerHour = 50;
/** Maximum number of entries on one page of a catalogue. */
export const cataloguePageMax = 250;
/** Number of entries of a catalogue that may be read as often as the key's request rate allows. */
export const catalogueFreeEntries = 1_000;
/** How many times an hour a node lets one business read on after its first {@link catalogueFreeEntries} entries. */
export const catalogueReadsPerHour = 12;
/** Maximum length of the cursor of a catalogue. */
export const cursorLengthMax = 512;
/** Maximum length of a business's own id of a record, in characters: the catalogue read takes it in its path. */
export const ownIdLengthMax = 256;
/** Maximum length of a sandbox grant in characters. */
export const grantLengthMax = 8_192;
/** The allowed form of an `Idempotency-Key`. */
export const idempotencyKeyPattern = /^[\x20-\x7e]{1,255}$/;

/** Maximum number of domains of one business whose control is confirmed. */
export const watchedDomainsMax = 100;

/** Maximum number of ads in a pool. */
export const poolAdsMax = 20;
/** Maximum number of keywords that a pool is asked for by, and of characters of one, as of those of an ad. */
export const poolKeywordsMax = 10;
export const keywordLengthMax = 64;
/** Bytes of a request to the routes of ads. */
export const adRequestBytesMax = 65_536;
/** How long after its pool an ad may be rendered, in milliseconds. */
export const adRenderMs = 600_000;
/** How long after its render an ad may be clicked, in milliseconds. */
export const adClickMs = 86_400_000;
/** For how long a conversation is not shown an ad again, in milliseconds. */
export const adRepeatMs = 3_600_000;
/** Maximum number of ads of a campaign, and of campaigns that a request may name. */
export const campaignAdsMax = 1_000;
/** Maximum size in bytes of an image of an ad. */
export const imageBytesMax = 2_097_152;
/** Maximum width and height of an image of an ad in pixels, and the most pixels that it may have in all. */
export const imageSideMax = 4_096;
export const imagePixelsMax = 8_388_608;
/** What the colour profile of an image has at most, in bytes, inflated where it was compressed. */
export const colourProfileBytesMax = 1_048_576;
/** Images that a node lets one business send in 24 hours, and how many bytes they may have together. */
export const imagesPerDay = 500;
export const imageBytesPerDay = 268_435_456;
/** Maximum size in bytes of a file of evidence, and how many an application has. */
export const evidenceBytesMax = 10_485_760;
export const evidenceFilesMax = 20;
/** Maximum size in bytes of a list that operators set. */
export const listBytesMax = 33_554_432;
/** How long a signed link to an image is valid. */
export const imageLinkValidSeconds = 900;

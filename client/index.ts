// The public API of the package; README.md describes it. Nothing else of the package is to be imported.

export { AnchorsError, type VerifyOptions, verify } from "../verifier/verify.ts";

export { type SealedBatch, type SealFacts, sealBatch, sealLeaves } from "./batch.ts";
export { type BulkImportRequest, type BulkUpload, type UploadedFile, uploadFile } from "./bulk.ts";
export {
  type Business,
  type BusinessOptions,
  createBusiness,
  type PushOptions,
  type Records,
} from "./business.ts";
export type {
  AdImage,
  AttemptsPage,
  CatalogueEntry,
  CataloguePage,
  CatalogueRecord,
  DailyAnalytics,
  Demand,
  Envelope,
  HeldPush,
  HeldPushes,
  OwnDomain,
  PushAttempt,
  RemovalOutcome,
  ValidationOutcome,
  WhoIsAsking,
} from "./business-answers.ts";
export type {
  AnalyticsQuery,
  AttemptsQuery,
  CatalogueQuery,
  DemandQuery,
  HoldsQuery,
  PublishRequest,
  PushPage,
  RemovalRequest,
} from "./business-client.ts";
export { type JoinedRecord, joinCountries } from "./country-feeds.ts";
export { documentFaults, sealFault } from "./documents/document-check.ts";
export {
  type DocumentOptions,
  type Documents,
  type DocumentType,
  documentTypes,
  readDocuments,
} from "./documents/read-documents.ts";
export { SvcConnectionError, SvcProblemError } from "./errors.ts";
export {
  type AnchorsChoice,
  type AnswerFiles,
  type CatalogueFiles,
  evidenceOf,
  type FileVerdict,
  isAnswerFile,
  isCatalogueFile,
  isSealedFile,
  isShownPriceFile,
  isStatementFile,
  proveShownPrice,
  type Report,
  type SealedFiles,
  type ShownPriceChoice,
  type ShownPriceProof,
  verifyAnswerFile,
  verifyCatalogueFile,
  verifyEvidenceFile,
  verifySealedFile,
  verifyStatementFile,
} from "./evidence.ts";
export {
  FeedError,
  type FeedItem,
  type FeedNote,
  type NoteCode,
  type NoteEffect,
} from "./feeds/feed-item.ts";
export { type FeedMapping, feedMappingSchema, parseFeedMapping } from "./feeds/feed-mapping.ts";
export { type Feed, type FeedFormat, type FeedOptions, feedFormats, readFeed } from "./feeds/read-feed.ts";
export { catalogueEntries, heldPushes, ownReceipts, pushAttempts, pushResults, watchPush } from "./pages.ts";
export { productFaults } from "./product-check.ts";
export { collectProofs, type ProofsCaller, ProofsMissingError } from "./proofs.ts";
export {
  decideWithdrawal,
  type LiveProduct,
  type PushPlan,
  planPush,
  type RemovalLimit,
} from "./push-plan.ts";
export type { PushDeps, PushEvent } from "./push-run.ts";
export { PushMismatchError, runPush } from "./push-run.ts";
export type { BatchResult, BatchState, PushJournal, PushState } from "./push-state.ts";
export { fileJournal, memoryJournal } from "./push-state.ts";
export {
  checkReceipt,
  type PresentedReceipt,
  type ReceiptCheckOptions,
  readPresented,
} from "./receipt-check.ts";
export { type JsonValue, type RecordSet, recordBytes, recordSet, selectRecords } from "./record-set.ts";
export { type RemovalFacts, removeRecords, type SealedRemoval, sealRemoval } from "./removal.ts";
export { type Patience, retryUntil } from "./retry-until.ts";
export type { Fetch, SenderOptions } from "./sender.ts";
export {
  type CompanyEvent,
  type CompanyEvents,
  createSvcClient,
  type EventsQuery,
  type FetchedRecord,
  type JsonAnswer,
  type OwnReceipt,
  type PublishOutcome,
  type PushStatus,
  type ReceiptsAnswer,
  type ReceiptsQuery,
  type RecordAnswer,
  type SearchAnswer,
  type SearchRequest,
  type SearchRow,
  type SvcClient,
  type SvcClientOptions,
  type UsageAnswer,
  type UsageLine,
  type UsageQuery,
} from "./service-client.ts";
export type { SignedRequest } from "./sign-request.ts";
export {
  createSigner,
  importSigningKey,
  type RequestParts,
  type Signer,
  type SignerOptions,
} from "./sign-request.ts";
export { generatePrivateJwk, type SigningKey } from "./signing-key.ts";
export { type Validation, validateRecords } from "./validate-run.ts";

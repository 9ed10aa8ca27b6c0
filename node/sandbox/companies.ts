// Sample: two AI companies, each with one key per algorithm.

import { everydayKey, type SampleCompany } from "./sample.ts";

export const firstCompany: SampleCompany = {
  name: "first-company",
  uuid: "4a6e81c3-d790-4b25-8e1f-c03b5d927f60",
  legalName: "Parallax Answers, Inc.",
  country: "US",
  note: "The one that searches speak as unless told otherwise.",
  keys: [everydayKey("Ed25519"), everydayKey("ES256")],
};

/** The bookshop blocks this company. */
export const secondCompany: SampleCompany = {
  name: "second-company",
  uuid: "e17b3f08-2a5d-4c94-9f6b-7d48a0e6c21b",
  legalName: "Oriel Assistants SAS",
  country: "FR",
  note: "The bookshop blocks it, so it finds nothing of the bookshop.",
  keys: [everydayKey("ES256"), everydayKey("Ed25519")],
};

export const sampleCompanies: readonly SampleCompany[] = [firstCompany, secondCompany];

// The names of the companies that the service certified, from the register that a node follows: businesses and AI
// companies. With them the brands of the businesses.
//   F1. A company is included while the newest issuance of its certificate, by its change in the register, is active: a
//       company whose certificate is revoked, closed or withdrawn is no longer protected.
//   F2. A brand is included while an operator has confirmed it as the business's own, a served business file of the business names it
//       in `brands_owned`, and the company is (F1).
//   F3. The same entries give the same names, regardless of order and repetition.
// Memory is bounded by the number of companies: for each, the changes and, while it is active, its legal name and words; and by the
// number of brands that the actor of a business keeps (C2 in actors/business/brands.ts).

import type { CertificateFacts, PartyFacts } from "../actors/messages/business.ts";
import { parseCertificate } from "../protocol/certificate.ts";
import { type Envelope, openEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { brandWords, companyWords } from "../protocol/records/company-name-rule.ts";
import { type BusinessBrands, type CertifiedNames, noBrands } from "../protocol/records/content-lists.ts";
import { createNameIndex } from "../protocol/records/name-index.ts";
import type { RegisterEntry } from "../storage/register-store.ts";

export interface FollowedNames extends CertifiedNames {
  /** The companies whose legal name contains the text, in any case of letters; walks all of them. */
  named(text: string, limit: number): readonly string[];
  /** Applies an entry of the certificate table or of the party table. */
  put(entry: RegisterEntry): void;
}

interface Company {
  /** The changes of the newest entries that were applied. */
  readonly certified: number;
  readonly described: number;
  /** Null if the newest issuance is not active. */
  readonly legalName: string | null;
  readonly brands: BusinessBrands;
  /** The confirmed brands that a served file names. */
  readonly owned: readonly string[];
}

const unknown: Company = { certified: 0, described: 0, legalName: null, brands: noBrands, owned: [] };

export function createCertifiedNames(): FollowedNames {
  const companies = new Map<string, Company>();
  const index = createNameIndex();
  return {
    index,
    legalNameOf: (uuid) => companies.get(uuid)?.legalName ?? null,
    brandsOf: (uuid) => companies.get(uuid)?.brands ?? noBrands,
    named: (text, limit) => {
      const wanted = text.toLowerCase();
      const found: string[] = [];
      for (const [uuid, { legalName }] of companies) {
        if (found.length === limit) break;
        if (legalName?.toLowerCase().includes(wanted) === true) found.push(uuid);
      }
      return found;
    },
    put: (entry) => {
      const before = companies.get(entry.partition) ?? unknown;
      const after = entry.table === "party" ? described(before, entry) : certified(before, entry);
      if (after === before) return;
      companies.set(entry.partition, after);
      const [left, come] = [namesOf(before), namesOf(after)];
      if (left.join("\n") === come.join("\n")) return;
      for (const name of left) index.remove(name.split(" "));
      for (const name of come) index.add(name.split(" "));
    },
  };
}

/** The protected names of a company, each as its folded words. */
function namesOf({ legalName, owned }: Company): readonly string[] {
  if (legalName === null) return [];
  const words = [companyWords(legalName), ...owned.map(brandWords)].map((each) => each.join(" "));
  return [...new Set(words)].filter((each) => each !== "");
}

function certified(company: Company, { change, body }: RegisterEntry): Company {
  if (company.certified >= change) return company;
  return { ...company, certified: change, legalName: activeName(JSON.parse(body) as CertificateFacts) };
}

function described(company: Company, { change, body }: RegisterEntry): Company {
  if (company.described >= change) return company;
  const { brands } = JSON.parse(body) as PartyFacts;
  // Most parties declare nothing.
  if (brands === undefined && company === unknown) return company;
  const { confirmed = [], sold = [], owned = [] } = brands ?? {};
  const confirmedWords = new Set(confirmed.map((name) => brandWords(name).join(" ")));
  return {
    ...company,
    described: change,
    brands: confirmed.length + sold.length === 0 ? noBrands : { confirmed, sold },
    owned: owned.filter((name) => confirmedWords.has(brandWords(name).join(" "))),
  };
}

function activeName({ status, envelope }: CertificateFacts): string | null {
  if (status !== "active") return null;
  const payload = openEnvelope(JSON.parse(envelope) as Envelope, payloadTypes["certificate.v1"]);
  const certificate = payload.ok ? parseCertificate(payload.value) : payload;
  // A later format is for nodes that know it: this one keeps following the register.
  return certificate.ok ? certificate.value.legal_name : null;
}

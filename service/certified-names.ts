// The names of the companies that the service certified, from the register that a node follows: businesses and AI
// companies.
//   F1. A company is included while the newest issuance of its certificate, by its change in the register, is active: a
//       company whose certificate is revoked, closed or withdrawn is no longer protected.
//   F2. The same entries give the same names, regardless of order and repetition.
// Memory is bounded by the number of companies: for each, the change and, while it is active, its legal name and words.

import type { CertificateFacts } from "../actors/messages/business.ts";
import { parseCertificate } from "../protocol/certificate.ts";
import { type Envelope, openEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { companyWords } from "../protocol/records/company-name-rule.ts";
import type { CertifiedNames } from "../protocol/records/content-lists.ts";
import { createNameIndex } from "../protocol/records/name-index.ts";
import type { RegisterEntry } from "../storage/register-store.ts";

export interface FollowedNames extends CertifiedNames {
  /** The companies whose legal name contains the text, in any case of letters; walks all of them. */
  named(text: string, limit: number): readonly string[];
  /** Applies an entry of the certificate table. */
  put(entry: RegisterEntry): void;
}

interface Company {
  readonly change: number;
  /** Null if the newest issuance is not active. */
  readonly legalName: string | null;
}

export function createCertifiedNames(): FollowedNames {
  const companies = new Map<string, Company>();
  const index = createNameIndex();
  return {
    index,
    legalNameOf: (uuid) => companies.get(uuid)?.legalName ?? null,
    named: (text, limit) => {
      const wanted = text.toLowerCase();
      const found: string[] = [];
      for (const [uuid, { legalName }] of companies) {
        if (found.length === limit) break;
        if (legalName?.toLowerCase().includes(wanted) === true) found.push(uuid);
      }
      return found;
    },
    put: ({ partition: uuid, change, body }) => {
      const known = companies.get(uuid);
      if (known !== undefined && known.change >= change) return;
      const legalName = activeName(JSON.parse(body) as CertificateFacts);
      companies.set(uuid, { change, legalName });
      if (known?.legalName === legalName) return;
      if (known !== undefined && known.legalName !== null) index.remove(companyWords(known.legalName));
      if (legalName !== null) index.add(companyWords(legalName));
    },
  };
}

function activeName({ status, envelope }: CertificateFacts): string | null {
  if (status !== "active") return null;
  const payload = openEnvelope(JSON.parse(envelope) as Envelope, payloadTypes["certificate.v1"]);
  const certificate = payload.ok ? parseCertificate(payload.value) : payload;
  // A later format is for nodes that know it: this one keeps following the register.
  return certificate.ok ? certificate.value.legal_name : null;
}

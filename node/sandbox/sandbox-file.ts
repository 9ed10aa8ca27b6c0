// `sandbox.json` in the home folder of a node: everything that a stranger needs to try things out. Its members are fixed;
// every `note` says in a sentence what its sample is for.

import type { Anchors } from "../../protocol/keys/anchors.ts";

export interface Sandbox {
  readonly environment: "sandbox";
  /** The base URLs, without trailing slash. */
  readonly base_url: string;
  readonly business_url: string;
  readonly verify_url: string;
  readonly mcp_url: string;
  readonly ops_url: string;
  readonly portal_url: string;
  readonly anchors: Anchors;
  readonly businesses: readonly SandboxBusiness[];
  readonly ai_companies: readonly SandboxCompany[];
}

export interface SandboxBusiness {
  readonly business_uuid: string;
  readonly legal_name: string;
  readonly country: string;
  /** The certificate in force. */
  readonly cert_id: string;
  readonly note: string;
  readonly integration_keys: readonly SandboxIntegrationKey[];
  readonly mandates: readonly SandboxMandate[];
  /** The passkey of its owner, in software. */
  readonly owner: SandboxOwner;
}

export interface SandboxOwner {
  readonly key_id: string;
  /** For trials only: nobody else has the private half of a passkey. */
  readonly private_jwk: Readonly<Record<string, string>>;
  readonly note: string;
}

export interface SandboxMandate {
  readonly mandate_id: string;
  readonly key_id: string;
  readonly note: string;
}

export interface SandboxCompany {
  readonly ai_company_uuid: string;
  readonly legal_name: string;
  readonly note: string;
  readonly keys: readonly SandboxKey[];
}

export interface SandboxKey {
  readonly key_id: string;
  readonly alg: "Ed25519" | "ES256";
  /** For trials only: production refuses a sandbox key. */
  readonly private_jwk: Readonly<Record<string, string>>;
  /** The value to send as `SVC-Sandbox-Key` with every sandbox request. */
  readonly grant: string;
  readonly note: string;
}

export interface SandboxIntegrationKey extends SandboxKey {
  /** Its newest mandate; null for a key without one. */
  readonly mandate_id: string | null;
}

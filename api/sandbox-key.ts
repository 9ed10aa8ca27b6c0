import { grantLengthMax } from "../protocol/limits.ts";
import type { Parameter } from "./route.ts";

/** The header that every signed surface accepts in the sandbox (specification, «Sandbox»). */
export const sandboxKey: Parameter = {
  name: "SVC-Sandbox-Key",
  in: "header",
  description:
    "Sandbox only. The grant of the signing key; the first signed request that carries it registers the key.",
  schema: { type: "string", minLength: 1, maxLength: grantLengthMax },
};

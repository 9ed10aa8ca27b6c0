// What a decision of the business actor sees.

import type { businessMachine } from "../../machines/business.ts";
import type { ViewOf } from "../system/definition.ts";

export type BusinessView = ViewOf<typeof businessMachine>;

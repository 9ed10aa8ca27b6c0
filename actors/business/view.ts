// The view that a decision of the business actor gets.

import type { businessMachine } from "../../machines/business.ts";
import type { ViewOf } from "../system/definition.ts";

export type BusinessView = ViewOf<typeof businessMachine>;

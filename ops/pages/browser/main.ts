// The script of the operators' pages: it brings their islands to life.

import { hydrateIslands } from "../../../web/browser/hydrate.ts";
import { islands } from "../views/islands.ts";

hydrateIslands(islands);

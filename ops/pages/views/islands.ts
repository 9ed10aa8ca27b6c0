// The islands of the operators' pages, by the names under which the server renders them.

import { Actor } from "./actor.ts";
import { Nodes } from "./nodes.ts";
import { Overview } from "./overview.ts";
import { SignIn } from "./sign-in.ts";

export const islands = { actor: Actor, nodes: Nodes, overview: Overview, "sign-in": SignIn };

// The islands of the operators' pages, by the names under which the server renders them.

import { Actor } from "./actor.ts";
import { ClusterActs } from "./cluster-acts.ts";
import { Overview } from "./overview.ts";
import { SignIn } from "./sign-in.ts";

export const islands = { actor: Actor, "cluster-acts": ClusterActs, overview: Overview, "sign-in": SignIn };

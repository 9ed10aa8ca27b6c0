// The islands of the operators' pages, by the names under which the server renders them.

import { Actor } from "./actor.ts";
import { Applications } from "./applications.ts";
import { Key } from "./key.ts";
import { Nodes } from "./nodes.ts";
import { OperatorLists } from "./operator-lists.ts";
import { Overview } from "./overview.ts";
import { PartyActs } from "./parties.ts";
import { Party } from "./party.ts";
import { Refusals } from "./refusals.ts";
import { SignIn } from "./sign-in.ts";
import { Takedowns } from "./takedowns.ts";

export const islands = {
  actor: Actor,
  applications: Applications,
  key: Key,
  lists: OperatorLists,
  nodes: Nodes,
  overview: Overview,
  party: Party,
  "party-acts": PartyActs,
  refusals: Refusals,
  "sign-in": SignIn,
  takedowns: Takedowns,
};

// `svc ops act`: acts on one actor or node, after showing it and asking. If it is not as it was shown by then, nothing is done.

import { actorDetail, nodeList } from "../../ops/inspection-shapes.ts";
import { anyText, object } from "../../protocol/shape.ts";
import { type Arguments, type Command, exitCodes, UsageError } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { connectOps, type OpsConnection, opsAddress } from "../ops-connection.ts";
import { visible } from "../terminal.ts";
import { actorAddress } from "./show.ts";

export const opsAct: Command = {
  name: "ops act",
  usage: "ACT KIND/ID",
  summary: "retry, cancel, release or passivate an actor, drain a node, move a home … (for operators)",
  details: [
    "  svc ops act retry|passivate|release|cancel KIND/ID",
    "  svc ops act drain NODE",
    "  svc ops act move PARTY_UUID REGION        svc ops act rebuild COLLECTION",
    "  svc ops act declare-dead REGION --successor REGION [--force]    svc ops act put-in REGION    svc ops act rejoin REGION",
    "",
    "  Shows an actor or a node as it is and asks; what is not as it was shown by then stays as it is. The audit log records who and why.",
  ],
  options: `${actOptions}
    --successor REGION  declare-dead: the region that takes over
    --force             declare-dead: although the region's nodes still write heartbeats
    --yes               do not ask
    --json              print the answer as JSON${opsAddress}`,
  run: async (call) => {
    const by = requiredText(call, "by", opsAct);
    const reason = requiredText(call, "reason", opsAct);
    const { terminal } = call;
    const ops = await connectOps(call, by);
    const plan = await planOf(call, ops);
    const lines = plan.lines.map((line) => visible(`  ${line}`));
    if (!(await isAgreed(call, ops.url, lines))) return exitCodes.negative;
    const answer = await ops.post(plan.path, { ...plan.members, reason }, object({ outcome: anyText }));
    terminal.print(call.flag("json") ? JSON.stringify(answer) : `Done: ${visible(answer.outcome)}.`);
    return exitCodes.done;
  },
};

interface Plan {
  readonly path: string;
  readonly members: object;
  /** What is shown before the question. */
  readonly lines: readonly string[];
}

const onActor = ["retry", "passivate", "release", "cancel"];

async function planOf(args: Arguments, ops: OpsConnection): Promise<Plan> {
  const [act = "", ...names] = args.positionals;
  const [name = "", second = ""] = names;
  const count = act === "move" ? 2 : 1;
  if (names.length !== count) throw new UsageError("See: svc help ops act");
  const [successor, force] = [args.text("successor"), args.flag("force")];
  if (act !== "declare-dead" && (force || successor !== null))
    throw new UsageError(`${force ? "--force" : "--successor"} is for declare-dead alone.`);
  if (act === "declare-dead" && successor === null)
    throw new UsageError("--successor is missing: name the region that takes over. See: svc help ops act");
  if (onActor.includes(act)) return planActor(act, name, ops);
  if (act === "drain") return planDrain(name, ops);
  const region = { region: name };
  const plans: Readonly<Record<string, Plan>> = {
    move: {
      path: "/ops/cluster/moves",
      members: { party: name, to: second },
      lines: [`The home of ${name} moves to ${second}.`],
    },
    rebuild: {
      path: "/ops/cluster/rebuild",
      members: { collection: name },
      lines: [`The index of ${name} of this node's region is rebuilt beside the one that serves.`],
    },
    "declare-dead": {
      path: "/ops/cluster/declare-dead",
      members: { ...region, successor, force },
      lines: [
        `The region ${name} is declared dead, which cannot be taken back: ${successor} serves its parties from now on.`,
        `The data centre of ${name} leaves the keyspace. What ${name} took and no other region has is lost.`,
        "It must not come back by itself: stop its nodes and machines, and never start its old data again.",
        ...(force ? ["Its nodes may still run; what it took and no other region has is lost."] : []),
      ],
    },
    "put-in": {
      path: "/ops/cluster/put-in",
      members: region,
      lines: [`The data centre of ${name} is added again.`],
    },
    rejoin: { path: "/ops/cluster/rejoin", members: region, lines: [`The region ${name} takes part again.`] },
  };
  const plan = Object.hasOwn(plans, act) ? plans[act] : undefined;
  if (plan !== undefined) return plan;
  throw new UsageError(`${JSON.stringify(act)} is not an act. See: svc help ops act`);
}

async function planActor(act: string, name: string, ops: OpsConnection): Promise<Plan> {
  const address = `/ops/actors/${actorAddress(name)}`;
  const { status, states, head, waits } = await ops.get(address, actorDetail);
  const why = waits.map(({ words }) => words);
  const seen = states.join(" ");
  return {
    path: `${address}/${act}`,
    members: { expected: { status, states, head } },
    lines: [`${act} ${name}, which is ${status}${seen === "" ? "" : `, in ${seen}`}.`, ...why],
  };
}

async function planDrain(incarnation: string, ops: OpsConnection): Promise<Plan> {
  const { nodes } = await ops.get("/ops/nodes", nodeList);
  const found = nodes.find((node) => node.incarnation === incarnation);
  if (found === undefined) throw new UsageError(`There is no node ${incarnation}. See: svc ops nodes`);
  const { state, region } = found;
  return {
    path: `/ops/nodes/${encodeURIComponent(incarnation)}/drain`,
    members: { expected: { state } },
    lines: [`The node ${incarnation} of ${region}, which is ${state}, hands its actors over and stops.`],
  };
}

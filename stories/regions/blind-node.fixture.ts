// The program `svc` as a node that can be made blind: after SIGUSR2 it believes that it still holds its lease, and keeps
// seeing the last view. So it never notices that others have taken over, and only the fence protects the data. For tests.

import { ClusterView } from "../../cluster/cluster-view.ts";
import { Lease, MemberLifecycle } from "../../cluster/member-lifecycle.ts";

/** What a blind node prints once it is blind. */
export const blindness = "This node is blind.";

let isBlind = false;
process.on("SIGUSR2", () => {
  isBlind = true;
  console.log(blindness);
});

const { isHeld } = Lease.prototype;
Lease.prototype.isHeld = function (nowMs) {
  return isBlind || isHeld.call(this, nowMs);
};
const { see } = ClusterView.prototype;
ClusterView.prototype.see = function (view) {
  if (!isBlind) see.call(this, view);
};
const { viewRead, standingsRead } = MemberLifecycle.prototype;
MemberLifecycle.prototype.viewRead = function (view, beganMs) {
  if (!isBlind) viewRead.call(this, view, beganMs);
};
MemberLifecycle.prototype.standingsRead = function (standings) {
  if (!isBlind) standingsRead.call(this, standings);
};

if (import.meta.main) await import("../../cli/main.ts");

import { describe, expect, it } from "vitest";
import { loadConfig, loadSecrets } from "../node/configuration/config.ts";
import { type ClusterPlan, nodePlaces, planNodes, portsSpan } from "./cluster-nodes.ts";

const plan: ClusterPlan = {
  regions: [
    { region: "eu-west1", cassandra: "127.0.7.1", elastic: "http://127.0.7.1:9200" },
    { region: "us-east1", cassandra: "127.0.7.2", elastic: "http://127.0.7.1:9201" },
  ],
  folder: "/data/cluster",
  portBase: 7400,
  replication: 1,
  secret: "7c1f90b2d4e85a6307be1f42c98d3a567c1f90b2d4e85a63",
};

describe("the nodes of the local cluster", () => {
  it("are two in each region, with settings that a node takes", () => {
    const configs = planNodes(plan).map((node) => ({ node, config: loadConfig({}, node.env) }));
    expect(configs.map(({ node, config }) => [node.name, config.region, config.portBase])).toEqual([
      ["eu-west1-a", "eu-west1", 7400],
      ["eu-west1-b", "eu-west1", 7410],
      ["us-east1-a", "us-east1", 7420],
      ["us-east1-b", "us-east1", 7430],
    ]);
    for (const { node, config } of configs) {
      const engines = plan.regions.find((each) => each.region === config.region);
      expect(config.cluster?.cassandra.contactPoints).toEqual([engines?.cassandra]);
      expect(config.cluster?.elasticsearch.url).toBe(`${engines?.elastic}/`);
      expect(config.cluster?.regions).toEqual(["eu-west1", "us-east1"]);
      expect(config.cluster?.cassandra.replication).toEqual({ "eu-west1": 1, "us-east1": 1 });
      expect(loadSecrets(config, node.env)?.cluster).toBe(plan.secret);
    }
  });

  it("share the keys, and nothing else that only one may have", () => {
    const nodes = planNodes(plan);
    const distinct = (pick: (node: (typeof nodes)[number]) => string | undefined): number =>
      new Set(nodes.map(pick)).size;
    expect(distinct((node) => node.env["SVC_KEYS"])).toBe(1);
    expect(distinct((node) => node.home)).toBe(4);
    const taken = nodes.flatMap((node) => [...node.urls, `http://${node.env["SVC_NODE_LISTEN"]}`]);
    expect(new Set(taken).size).toBe(28);
    const places = nodePlaces(plan.portBase, plan.regions.length);
    expect(places.map(({ address, port }) => `http://${address}:${port}`).sort()).toEqual(taken.sort());
    expect(places.at(-1)?.port).toBe(plan.portBase + portsSpan(plan.regions.length));
    expect(nodes.filter((node) => node.env["SVC_SAMPLES"] === "yes").length).toBe(1);
  });
});

import { describe, expect, it } from "vitest";
import { loadConfig, loadSecrets } from "./config.ts";

const given = {
  SVC_STORE: "cassandra",
  SVC_REGION: "eu-west1",
  SVC_REGIONS: "eu-west1,us-east1",
  SVC_CASSANDRA: "10.0.0.1,10.0.0.2:9142",
  SVC_ELASTICSEARCH: "http://10.0.0.3:9200",
  SVC_CLUSTER_SECRET: "7c1f90b2d4e85a6307be1f42c98d3a56",
};

describe("a node among others", () => {
  it("is configured by its environment", () => {
    const config = loadConfig(
      { home: "/h" },
      { ...given, SVC_CASSANDRA_REPLICATION: "eu-west1:3, us-east1:2" },
    );
    expect(config.cluster).toMatchObject({
      name: "svc",
      regions: ["eu-west1", "us-east1"],
      cassandra: {
        contactPoints: ["10.0.0.1", "10.0.0.2:9142"],
        keyspace: "svc",
        replication: { "eu-west1": 3, "us-east1": 2 },
      },
      elasticsearch: { url: "http://10.0.0.3:9200/" },
      listen: { host: "127.0.0.1", port: 7390 },
      address: "127.0.0.1:7390",
      replicateBeforeAck: false,
      bindKeysToHome: false,
    });
    expect(loadSecrets(config, given)).toMatchObject({
      cluster: given.SVC_CLUSTER_SECRET,
      cassandraPassword: null,
    });
  });

  it("binds keys to the home of their party where it is told to", () => {
    const bound = (SVC_KEY_REGION_BINDING: string) =>
      loadConfig({}, { ...given, SVC_KEY_REGION_BINDING }).cluster?.bindKeysToHome;
    expect([bound("home"), bound("none")]).toEqual([true, false]);
  });

  it("keeps secrets out of the configuration", () => {
    const env = { ...given, SVC_CASSANDRA_USERNAME: "svc", SVC_CASSANDRA_PASSWORD: "hush-hush" };
    const config = loadConfig({}, env);
    expect(JSON.stringify(config)).not.toMatch(/hush-hush|7c1f90b2d4e8/);
    expect(loadSecrets(config, env)).toMatchObject({ cassandraPassword: "hush-hush" });
  });

  it("knows a second secret while the secret changes", () => {
    const env = { ...given, SVC_CLUSTER_SECRET_ALSO: "fedcba98e5b07c1d42963f8a0d17be64" };
    const config = loadConfig({}, env);
    expect(loadSecrets(config, env)?.alsoCluster).toBe("fedcba98e5b07c1d42963f8a0d17be64");
    expect(loadSecrets(config, given)?.alsoCluster).toBeNull();
    expect(JSON.stringify(config)).not.toContain("fedcba");
  });

  it("is alone without SVC_STORE", () => {
    const config = loadConfig({}, {});
    expect(config.cluster).toBeNull();
    expect(loadSecrets(config, {})).toBeNull();
  });

  it.each([
    [{ SVC_STORE: "postgres" }, /SVC_STORE.*sqlite or cassandra/],
    [{ SVC_STORE: "sqlite" }, /SVC_REGIONS.*SVC_STORE=cassandra/],
    [{ SVC_REGIONS: "eu-west1,US" }, /SVC_REGIONS.*"US"/],
    [{ SVC_REGIONS: "us-east1" }, /SVC_REGIONS.*lacks eu-west1/],
    [{ SVC_REGIONS: "eu-west1,eu-west1" }, /SVC_REGIONS.*twice/],
    [{ SVC_CASSANDRA: "" }, /SVC_CASSANDRA: is missing/],
    [{ SVC_CASSANDRA: "ten thousand" }, /SVC_CASSANDRA.*HOST:PORT/],
    [{ SVC_CASSANDRA_KEYSPACE: "Svc-1" }, /SVC_CASSANDRA_KEYSPACE/],
    [{ SVC_CASSANDRA_REPLICATION: "eu-west1:3" }, /SVC_CASSANDRA_REPLICATION.*us-east1/],
    [{ SVC_CASSANDRA_REPLICATION: "asia:3" }, /SVC_CASSANDRA_REPLICATION.*"asia:3"/],
    [{ SVC_ELASTICSEARCH: undefined }, /SVC_ELASTICSEARCH: is missing/],
    [{ SVC_ELASTICSEARCH: "http://u:p@h:1" }, /SVC_ELASTICSEARCH.*without a password/],
    [{ SVC_NODE_LISTEN: "7390" }, /SVC_NODE_LISTEN.*HOST:PORT/],
    [{ SVC_NODE_ADDRESS: "node 1:7390" }, /SVC_NODE_ADDRESS.*HOST:PORT/],
    [{ SVC_CLUSTER_NAME: "A" }, /SVC_CLUSTER_NAME/],
    [{ SVC_REPLICATE_BEFORE_ACK: "1" }, /SVC_REPLICATE_BEFORE_ACK.*yes or no/],
    [{ SVC_KEY_REGION_BINDING: "yes" }, /SVC_KEY_REGION_BINDING.*home or none/],
    [{ SVC_NODE_TLS_KEY_FILE: "/k" }, /SVC_NODE_TLS_CERT_FILE: is missing/],
    [{ SVC_CASSANDRA_TLS_NAME: "cassandra.internal" }, /SVC_CASSANDRA_CA_FILE: is missing/],
    [{ SVC_CASSANDRA_KEY_FILE: "/k", SVC_CASSANDRA_CERT_FILE: "/c" }, /SVC_CASSANDRA_CA_FILE: is missing/],
    [{ SVC_CASSANDRA_CA_FILE: "/ca", SVC_CASSANDRA_CERT_FILE: "/c" }, /SVC_CASSANDRA_KEY_FILE: is missing/],
    [{ SVC_SAMPLES: "some" }, /SVC_SAMPLES.*yes or no/],
    [{ SVC_CLUSTER_SECRET: undefined }, /SVC_CLUSTER_SECRET.*32 characters/],
    [{ SVC_CLUSTER_SECRET: "a".repeat(32) }, /SVC_CLUSTER_SECRET.*few different/],
    [{ SVC_CLUSTER_SECRET: "0123456789abcdef0123456789abcdef" }, /SVC_CLUSTER_SECRET.*repeats itself/],
    [{ SVC_CLUSTER_SECRET: "short" }, /SVC_CLUSTER_SECRET.*32 characters/],
    [{ SVC_CLUSTER_SECRET_ALSO: "short" }, /SVC_CLUSTER_SECRET_ALSO.*32 characters/],
    [{ SVC_CLUSTER_SECRET_ALSO: given.SVC_CLUSTER_SECRET }, /SVC_CLUSTER_SECRET_ALSO.*is the secret itself/],
    [{ SVC_CASSANDRA_USERNAME: "svc" }, /SVC_CASSANDRA_PASSWORD: is missing/],
    [{ SVC_ELASTICSEARCH_PASSWORD: "p" }, /SVC_ELASTICSEARCH_USERNAME: is missing/],
  ])("refuses %j, naming the setting and the fix", (change, message) => {
    const env: Record<string, string | undefined> = { ...given, ...change };
    expect(() => loadSecrets(loadConfig({}, env), env)).toThrow(message);
  });
});

describe("a production node among others", () => {
  const production: Record<string, string | undefined> = {
    ...given,
    SVC_ENVIRONMENT: "production",
    SVC_CLUSTER_SECRET: undefined,
  };
  const nodeTls = {
    SVC_NODE_TLS_KEY_FILE: "/k",
    SVC_NODE_TLS_CERT_FILE: "/c",
    SVC_NODE_TLS_CA_FILE: "/ca",
  };
  const tls = {
    ...nodeTls,
    SVC_CASSANDRA_CA_FILE: "/ca",
    SVC_ELASTICSEARCH: "https://10.0.0.3:9200",
  };

  it("speaks nothing in the clear unless it is told channel by channel", () => {
    expect(() => loadConfig({}, production)).toThrow(/SVC_CASSANDRA_INSECURE.*SVC_CASSANDRA_CA_FILE/);
    const one = { ...production, SVC_CASSANDRA_INSECURE: "yes" };
    expect(() => loadConfig({}, one)).toThrow(/SVC_ELASTICSEARCH_INSECURE.*https/);
    const two = { ...one, SVC_ELASTICSEARCH_INSECURE: "yes" };
    expect(loadConfig({}, { ...two, ...nodeTls }).plainText).toEqual(["cassandra", "elasticsearch"]);
    expect(() => loadConfig({}, { ...two, ...nodeTls, SVC_CASSANDRA_INSECURE: "sure" })).toThrow(
      /SVC_CASSANDRA_INSECURE.*yes or no/,
    );
  });

  it("speaks to other nodes by mutual TLS alone, whatever it has for a secret", () => {
    const rest = { ...production, ...tls };
    for (const name of Object.keys(nodeTls)) {
      expect(() => loadConfig({}, { ...rest, [name]: undefined })).toThrow(
        new RegExp(`^${name}: is missing`),
      );
    }
    const without = { ...rest, ...Object.fromEntries(Object.keys(nodeTls).map((name) => [name, undefined])) };
    for (const more of [{}, { SVC_CLUSTER_SECRET: given.SVC_CLUSTER_SECRET }, { SVC_NODE_INSECURE: "yes" }])
      expect(() => loadConfig({}, { ...without, ...more })).toThrow(
        /^SVC_NODE_TLS_CERT_FILE: .*only over mutual TLS/,
      );
  });

  it("has no secret of the cluster, and is told so", () => {
    const env = { ...production, ...tls };
    const config = loadConfig({}, env);
    expect(loadSecrets(config, env)).toMatchObject({ cluster: null, alsoCluster: null });
    for (const setting of ["SVC_CLUSTER_SECRET", "SVC_CLUSTER_SECRET_ALSO"])
      expect(() => loadSecrets(config, { ...env, [setting]: given.SVC_CLUSTER_SECRET })).toThrow(
        new RegExp(`^${setting}: has no effect where nodes have certificates`),
      );
  });

  it("starts with TLS everywhere, and in a sandbox without", () => {
    expect(loadConfig({}, { ...production, ...tls }).plainText).toEqual([]);
    expect(loadConfig({}, { ...production, ...tls, SVC_CASSANDRA_INSECURE: "yes" }).plainText).toEqual([]);
    expect(loadConfig({}, given).plainText).toEqual([]);
  });

  it("is told that such a setting says nothing to a node alone", () => {
    expect(() => loadConfig({}, { SVC_CASSANDRA_INSECURE: "yes" })).toThrow(
      /SVC_CASSANDRA_INSECURE.*SVC_STORE=cassandra/,
    );
  });
});

// Files that may break one rule, each with its reason. An exemption that is no longer needed fails the test.

export interface Exemption {
  readonly path: string;
  readonly rule: string;
  readonly reason: string;
}

export const exemptions: readonly Exemption[] = [
  {
    path: "protocol/rubbish.fixture.ts",
    rule: "type-claim",
    reason: "This is how tests say that they send rubbish.",
  },
  ...["document-targets", "signed-file-targets", "work-target"].map((name) => ({
    path: `tools/fuzz/${name}.ts`,
    rule: "imports",
    reason: "Fuzzing is a test, which also runs by itself: it begins with genuine documents of the fixtures.",
  })),
  {
    path: "tools/vectors.ts",
    rule: "imports",
    reason: "It writes down what the tests have: the public test vectors are made of the fixtures.",
  },
];

import { describe } from "vitest";
import { rowIndexConformance } from "../row-index.conformance.ts";
import { hasElastic, openFresh } from "./elastic.fixture.ts";

describe.skipIf(!hasElastic)("with an Elasticsearch that SVC_TEST_ELASTIC names", () => {
  rowIndexConformance("the index in Elasticsearch", () => openFresh());
});

import { actorStoreConformance } from "../../storage/actor-store.conformance.ts";
import { eventStoreConformance, type OpenEventStore } from "../../storage/event-store.conformance.ts";
import { insightStoreConformance } from "../../storage/insight-store.conformance.ts";
import { logStoreConformance } from "../../storage/log-store.conformance.ts";
import { receiptStoreConformance } from "../../storage/receipt-store.conformance.ts";
import { recordStoreConformance } from "../../storage/record-store.conformance.ts";
import { registerStoreConformance } from "../../storage/register-store.conformance.ts";
import { stagingAreaConformance } from "../../storage/staging-area.conformance.ts";
import { Random } from "../kernel/random.ts";
import { openSimActorStore } from "./actor-store.ts";
import { openSimEventStore, openSimInsightStore } from "./event-store.ts";
import { openSimLogStore } from "./log-store.ts";
import { openSimReceiptStore } from "./receipt-store.ts";
import { openSimRecordStore } from "./record-store.ts";
import { openSimRegisterStore } from "./register-store.ts";
import { openSimStagingArea } from "./staging-area.ts";
import { calmStoreModel, type StoreClient } from "./store-model.ts";

/** A handle on a model that outlives it, as a process's handle on its disks. */
function opener<S>(open: (client: StoreClient) => S) {
  interface Handle {
    readonly store: S;
    reopen(): Promise<Handle>;
    close(): Promise<void>;
  }
  return async (): Promise<Handle> => {
    const model = calmStoreModel(Random.of(1), Date.now);
    const handle = (): Handle => ({
      store: open({ model, life: null, region: "eu-west1" }),
      reopen: async () => handle(),
      close: async () => {},
    });
    return handle();
  };
}

actorStoreConformance("the simulator's model of Cassandra", opener(openSimActorStore));
recordStoreConformance("the simulator's records", opener(openSimRecordStore));
receiptStoreConformance("the simulator's receipts", opener(openSimReceiptStore));
registerStoreConformance("the simulator's register", opener(openSimRegisterStore));
logStoreConformance("the simulator's log", opener(openSimLogStore));
stagingAreaConformance("the simulator's staging area", async () => {
  const model = calmStoreModel(Random.of(1), Date.now);
  const handle = () => openSimStagingArea({ model, life: null, region: "eu-west1" });
  return { area: handle(), handle: async () => handle(), close: async () => {} };
});
insightStoreConformance("the simulator's insight store", opener(openSimInsightStore), true);
eventStoreConformance(
  "the simulator's event store",
  async () => {
    let passedMs = 0;
    const model = calmStoreModel(Random.of(1), Date.now);
    const handle = (): OpenEventStore => ({
      store: openSimEventStore({ model, life: null, region: "eu-west1" }, () => Date.now() + passedMs),
      reopen: async () => handle(),
      close: async () => {},
      pass: (ms) => {
        passedMs += ms;
      },
    });
    return handle();
  },
  true,
);

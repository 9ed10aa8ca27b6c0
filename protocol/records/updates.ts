// svc/updates/1. The members follow from what the specification filters and sorts («Filter fields»).

import { code, form, longText, optional, text, timestamp } from "./fields.ts";
import { httpsUrlForm } from "./https-url.ts";
import { coreMembers, type RecordType } from "./record-type.ts";
import { taxonomyList } from "./vocabularies/taxonomy.ts";

export const updates: RecordType = {
  collection: "updates",
  version: 1,
  title: "Update",
  members: {
    ...coreMembers("svc/updates/1"),
    headline: text(200, "What is new, in one line."),
    body: longText(2_000, "What is new."),
    update_type: code(taxonomyList("update_types"), "Kind of update."),
    relevant_until: optional(timestamp("When it stops being news.")),
    update_url: optional(form(httpsUrlForm, "Page of the update.")),
  },
  rules: [],
};

// Mutants of uploads and imports, each with one guard removed.

import { deciding, type Mutant, mutant } from "./mutant.ts";

export const bulkMutants: readonly Mutant[] = [
  mutant("importedFileStays", "the file of a finished import is not removed", (changed) => ({
    activities: (given) => ({
      ...given,
      removeStagedFile: async () => {
        changed();
        return null;
      },
    }),
  })),
  mutant(
    "fileGoesAtItsImport",
    "a file is removed when its import begins",
    deciding("bulk-upload", (truly, command, view) => {
      const decision = truly(command, view);
      const isBegun = command.type === "import.begin" && decision.events?.length === 1;
      return isBegun
        ? { ...decision, events: [...(decision.events ?? []), { type: "import.ended" }] }
        : decision;
    }),
  ),
  mutant(
    "twoFilesAreTaken",
    "two senders at once both have their file taken",
    deciding("bulk-upload", (truly, command, view) => {
      const decision = truly(command, view);
      const { upload } = view.snapshot.context;
      const { status } = decision.reply as { readonly status?: string };
      if (status !== "refused" || upload === null) return decision;
      // The sender goes on with these: without them its key is refused, whatever became of the claim.
      const { record_type, key_id } = upload;
      if (command.type === "upload.begin") return { reply: { status: "begun", record_type, key_id } };
      return command.type === "upload.finish" ? { reply: { status: "uploaded" } } : decision;
    }),
  ),
];

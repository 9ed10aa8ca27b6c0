// How much random testing a run of the suite does: `npm test` tries a small dose, so that it is over in minutes, and
// `npm run test:all` the full one, which it asks for with SVC_TEST_DOSE=full.

const smallDoseShare = 1 / 10;

export function isFullDose(): boolean {
  return process.env["SVC_TEST_DOSE"] === "full";
}

/** How many of the `full` runs, inputs or milliseconds this run of the suite takes; at least one. */
export function dose(full: number): number {
  return isFullDose() ? full : Math.ceil(full * smallDoseShare);
}

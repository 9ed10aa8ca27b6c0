// The nearest name to a wrong one, as the service suggests it.

export { nearestName } from "../protocol/nearest.ts";

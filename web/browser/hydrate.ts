// Brings the islands of a page to life.

import { type ComponentType, h, hydrate } from "preact";
import { islandAttribute, propertiesAttribute } from "../island.ts";

/** The component of each island by its name; its properties are those that the server rendered it with. */
export type Islands = Readonly<Record<string, ComponentType<never>>>;

export function hydrateIslands(islands: Islands): void {
  for (const element of document.querySelectorAll(`[${islandAttribute}]`)) {
    const component = islands[element.getAttribute(islandAttribute) ?? ""];
    if (component === undefined) continue;
    const properties = JSON.parse(element.getAttribute(propertiesAttribute) ?? "{}") as object;
    hydrate(h(component as ComponentType<object>, properties), element);
  }
}

// Islands: the parts of a page that go on living in the browser. The server renders them with the same component and the same
// properties, so a page is complete before its script runs, and without it.

import { type ComponentChild, type ComponentType, h } from "preact";

/** The attributes by which a browser finds an island. */
export const islandAttribute = "data-island";
export const propertiesAttribute = "data-properties";

/** `properties` are sent as JSON. */
export function island<P extends object>(
  name: string,
  component: ComponentType<P>,
  properties: P,
): ComponentChild {
  const attributes = { [islandAttribute]: name, [propertiesAttribute]: JSON.stringify(properties) };
  return h("div", { class: "island", ...attributes }, h(component as ComponentType<object>, properties));
}

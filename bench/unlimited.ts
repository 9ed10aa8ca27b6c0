// The benchmark measures how much a node can do, not how much it lets one caller request.

export const unlimited: Readonly<Record<string, string>> = Object.freeze({
  SVC_KEY_REQUESTS_PER_SECOND: "0",
  SVC_KEY_QUERY_COST_PER_MINUTE: "0",
  SVC_ADDRESS_CONNECTIONS_MAX: "0",
  SVC_CONNECTION_REQUESTS_MAX: "0",
});

// The place of the hosted tool server. This version offers no tool servers, and says so.

import type { FastifyInstance } from "fastify";
import { buildServer, type HttpDeps } from "./http-server.ts";
import { notOfferedRoute } from "./not-offered.ts";

export interface ToolsDeps {
  readonly http: HttpDeps;
  readonly mcpUrl: string;
}

export function buildTools(deps: ToolsDeps): FastifyInstance {
  const info = {
    title: "Public tool server",
    description: "Tool servers are not offered by this version of the service.",
    servers: [deps.mcpUrl],
  };
  const path = "/v1/mcp/public";
  const routes = [
    notOfferedRoute("POST", path, "Tool servers"),
    notOfferedRoute("DELETE", path, "Tool servers"),
  ];
  return buildServer(deps.http, { name: "tools", info, routes, isPublic: false });
}

// What the TypeScript SDK of the 1.x line sees of a server: `node probe_sdk1.mjs FOLDER JSON`, with the folder of the
// Node packages. Prints the report that `judging.assert_saw_everything` reads.
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ToolListChangedNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");
const { seen } = await import("./probe.mjs");

const told = JSON.parse(process.argv[3]);
const client = new Client({ name: "judge", version: "1" });
const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
const transport = told.url
  ? new StreamableHTTPClientTransport(new URL(told.url), { requestInit: { headers: told.headers } })
  : new StdioClientTransport({ command: told.command[0], args: told.command.slice(1), env: told.env });
await client.connect(transport);
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
console.log(JSON.stringify(await seen(client, call, changed, told)));
await client.close();
process.exit(0);

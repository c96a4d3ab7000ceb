// What the TypeScript client of the 2.x line sees of a server: `node probe_client2.mjs FOLDER JSON MODE`, where the mode
// is `auto`, `legacy` or a version to pin. Prints the report that `judging.assert_saw_everything` reads.
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
const { seen } = await import("./probe.mjs");

const told = JSON.parse(process.argv[3]);
const mode = process.argv[4];
let resolveChanged;
const changed = new Promise((resolve) => (resolveChanged = resolve));
const client = new Client(
  { name: "judge", version: "1" },
  {
    versionNegotiation: { mode: /^\d/.test(mode) ? { pin: mode } : mode },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: resolveChanged } },
  },
);
const transport = told.url
  ? new StreamableHTTPClientTransport(new URL(told.url), { requestInit: { headers: told.headers } })
  : new StdioClientTransport({ command: told.command[0], args: told.command.slice(1), env: told.env });
await client.connect(transport);
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
console.log(JSON.stringify(await seen(client, call, changed, told)));
await client.close();
process.exit(0);

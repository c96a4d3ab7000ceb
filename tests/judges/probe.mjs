// The calls that both TypeScript clients make, and what they report of them.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const plain = (result) => ({
  isError: Boolean(result.isError),
  structuredContent: result.structuredContent ?? null,
  text: result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n"),
});

const names = async (client) => (await client.listTools()).tools.map((tool) => tool.name);

/** Uses every kind of tool; `call(name, arguments, options)` is the client's way to call one. */
export async function seen(client, call, changed, told) {
  const asked = (name, args, options) =>
    call(name, args, options).then(plain, (error) => ({ isError: false, error: String(error) }));
  const report = { server: client.getServerVersion()?.name, tools: await names(client) };
  report.protocol = client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? null;
  report.sum = await asked("add_numbers", { a: 2, b: 3 });
  report.search = await asked("search_tools", { query: "add two numbers" });
  report.describe = await asked("describe_tool", { name: "add_numbers" });
  report.through = await asked("call_tool", { name: "add_numbers", arguments: { a: 40, b: 2 } });
  report.failed = await asked("fail_always", { n: 7 });
  report.misfit = await asked("add_numbers", { a: "two", b: 3 });
  report.unknown = await asked("no_such_tool", {});
  report.progress = [];
  const slow = asked("wait_tenths", { n: 25 }, { onprogress: (step) => report.progress.push(step) });
  const started = performance.now();
  const stop = new AbortController();
  setTimeout(() => stop.abort("the judge has seen enough"), 500);
  report.cancelled = await asked("spin_forever", { n: 1 }, { signal: stop.signal });
  report.cancelled.seconds = (performance.now() - started) / 1000;
  report.after = await asked("add_numbers", { a: 2, b: 3 });
  // A call that waited here would hold up the progress of the slow one until its result is there.
  await promisify(execFile)(told.register[0], told.register.slice(1), { env: told.registerEnv });
  const late = new Promise((resolve) => setTimeout(resolve, 10_000, "late"));
  report.listChanged = (await Promise.race([changed, late])) !== "late";
  report.toolsAfter = await names(client);
  report.late = await asked(told.lateTool, { n: 7 });
  report.slow = await slow;
  return report;
}

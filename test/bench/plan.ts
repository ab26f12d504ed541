// The reconciler's core on manifests that change nothing: CPU time and memory for 100, 1,000 and 10,000 documents.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Group } from './group.ts';
import type { Row } from './report.ts';

const sizes = [100, 1000, 10_000];
const rounds = 5;
const child = fileURLToPath(new URL('processes/plan-child.js', import.meta.url));
const run = promisify(execFile);

export const planGroup: Group = async ({ say, signal }) => {
  const rows: Row[] = [];
  for (const size of sizes) {
    say(`plan: ${size} documents`);
    const cpu: number[] = [];
    const memory: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // One process each: a real plan runs once, in a command that has just started, not in warm code.
      const { stdout } = await run(process.execPath, ['--expose-gc', child, String(size)], { signal });
      const found = JSON.parse(stdout) as { cpuMs: number; grownMb: number };
      cpu.push(found.cpuMs);
      memory.push(found.grownMb);
    }
    const limit = size === 10_000 ? { atMost: 1000 } : {};
    rows.push(
      { group: 'plan', what: `plan ${size} unchanged documents, CPU`, unit: 'ms', samples: { core: cpu }, ...limit },
      { group: 'plan', what: `plan ${size} unchanged documents, memory`, unit: 'MB', samples: { core: memory } },
    );
  }
  return rows;
};

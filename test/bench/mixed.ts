// One apply of many objects of five kinds, containers started, by the whole program on a simulated daemon: time, and processor time of both.
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Group } from './group.ts';
import { processorMs, startGantryd, temporaryDir } from './servers.ts';

const run = promisify(execFile);
const cliPath = fileURLToPath(new URL('../../bin/gantry.js', import.meta.url));
const pool = 'gantry-bench';

export const mixedGroup: Group = async ({ containers, say, signal }) => {
  const count = 10 * containers;
  const dir = await temporaryDir();
  const gantryd = await startGantryd(join(dir, 'state'), 'sim');
  try {
    say(`mixed: apply of ${count} objects`);
    const stack = join(dir, 'stack.yaml');
    await writeFile(stack, documents(count).join('\n---\n'));
    const env = { ...process.env, XDG_STATE_HOME: join(dir, 'cli') };
    const args = ['-f', stack, '--host', `unix://${gantryd.socket}`];
    const gantry = (...words: readonly string[]) =>
      run(process.execPath, [cliPath, ...words, ...args], { env, signal, maxBuffer: 2 ** 30 });
    const cpu = () => processorMs(gantryd.child.pid ?? 0) + processorMs('self', 'children');
    const cpuBefore = cpu();
    const startedAt = performance.now();
    await gantry('apply', '-y');
    const ms = performance.now() - startedAt;
    const cpuEach = (cpu() - cpuBefore) / count;
    const { stdout } = await gantry('plan');
    if (!stdout.startsWith('No changes')) throw new Error(`the plan after it is not empty: ${stdout.slice(0, 200)}`);
    const row = { group: 'mixed', unit: 'ms' as const };
    return [
      { ...row, what: `apply of ${count} mixed objects`, samples: { gantry: [ms] }, atMost: 100_000 },
      { ...row, what: 'CPU of program and daemon, each object', samples: { gantry: [cpuEach] }, atMost: 5 },
    ];
  } finally {
    await gantryd.stop();
    await rm(dir, { recursive: true, force: true });
  }
};

/** Networks, profiles and volumes, and seven tenths containers that use them. */
function documents(count: number): readonly string[] {
  const [networks, others] = [Math.ceil(count / 50), Math.floor((count * 3) / 20)];
  const range = (length: number, text: (index: number) => string) => Array.from({ length }, (_, index) => text(index));
  return [
    `kind: storage_pool\nname: ${pool}\ndriver: dir`,
    ...range(
      networks,
      (index) =>
        `kind: network\nname: gtybm${index}\ntype: bridge\nconfig: { ipv4.address: 10.${100 + Math.floor(index / 250)}.${index % 250}.1/24, ipv4.nat: "false", ipv6.address: none }`,
    ),
    ...range(
      others,
      (index) =>
        `kind: profile\nname: p${index}\nconfig: { user.index: "${index}" }\ndevices: { root: { type: disk, path: /, pool: ${pool} } }`,
    ),
    ...range(
      others,
      (index) => `kind: storage_volume\npool: ${pool}\nname: v${index}\nconfig: { user.index: "${index}" }`,
    ),
    ...range(count - 1 - networks - 2 * others, (index) => {
      const nic = `eth0: { type: nic, nictype: bridged, parent: gtybm${index % networks}, name: eth0 }`;
      const disk = `data: { type: disk, path: /data, pool: ${pool}, source: v${index % others} }`;
      const devices = index % 5 === 0 ? `{ ${nic}, ${disk} }` : `{ ${nic} }`;
      return `kind: container\nname: c${index}\nprofiles: [p${index % others}]\nsource: { type: none }\nconfig: { limits.cpu: "${1 + (index % 4)}" }\ndevices: ${devices}`;
    }),
  ];
}

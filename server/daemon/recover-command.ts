// gantryd recover: has the running daemon restore lost records from the copies in the pools.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Recovery, RecoveryPost } from '../api/server/recovery.ts';
import { recoveryLines } from '../api/server/recovery-lines.ts';
import { askDaemon, type HostTask, runHostCommand } from './host-command.ts';

const usage = `Usage: gantryd recover --state-dir DIR [--pool NAME=DRIVER:SOURCE]... [--yes]

For a host whose records are lost: finds its pools, and brings back the containers, snapshots, backups, custom volumes, profiles,
projects, networks and images that the pools have copies of. The daemon of DIR must run. Without --yes it only says what it finds.
What no copy tells of is listed and left alone. It can be run again at any time.

Options:
  --state-dir DIR             the state directory of gantryd
  --pool NAME=DRIVER:SOURCE   a pool that nothing in DIR knows any more, as in data=btrfs:/dev/sdb; may be repeated
  --yes                       do it
`;

export const runRecoverCommand = (argv: readonly string[]): Promise<number> =>
  runHostCommand({ name: 'recover', usage, argv }, readTask);

function readTask(args: string[]): HostTask | string {
  const options = {
    'state-dir': { type: 'string' },
    pool: { type: 'string', multiple: true },
    yes: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args, options, strict: true, allowPositionals: false });
  const stateDir = values['state-dir'];
  if (stateDir === undefined) return '--state-dir is required';
  const pools = (values.pool ?? []).map((text) => /^([^=:]+)=([a-z]+)(?::(.+))?$/.exec(text) ?? text);
  const wrong = pools.find((pool): pool is string => typeof pool === 'string');
  if (wrong !== undefined) return `--pool must be NAME=DRIVER:SOURCE, is ${wrong}`;
  const body: RecoveryPost = {
    apply: values.yes,
    pools: pools.map(([, name = '', driver = '', source]) => {
      return { name, driver, config: source === undefined ? {} : { source } };
    }),
  };
  return { run: () => recover(join(resolve(stateDir), 'unix.socket'), body) };
}

async function recover(socketPath: string, body: RecoveryPost): Promise<{ text: string; isGood: boolean }> {
  const found = (await askDaemon<Recovery>({ socketPath, method: 'POST', path: '/1.0/recovery', body })) as Recovery;
  const hint = found.applied || found.recovered.length === 0 ? [] : ['Say --yes to bring this back.'];
  return { text: [...recoveryLines(found), ...hint].join('\n'), isGood: found.problems.length === 0 };
}

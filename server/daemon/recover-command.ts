// gantryd recover: has the running daemon bring back what was lost of its records, from the copies in the pools.
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Recovery, RecoveryPost } from '../api/server/recovery.ts';
import { recoveryLines } from '../api/server/recovery-lines.ts';
import { errorText } from '../lib/shared/reason.ts';

const exitCodes = { ok: 0, failed: 1, usage: 64 } as const;

const usage = `Usage: gantryd recover --state-dir DIR [--pool NAME=DRIVER:SOURCE]... [--yes]

For a host whose records are lost: finds its pools, and brings back the containers, snapshots, backups, custom volumes, profiles,
projects, networks and images that the pools have copies of. The daemon of DIR must run. Without --yes it only says what it finds.
What no copy tells of is listed and left alone. It can be run again at any time.

Options:
  --state-dir DIR             the state directory of gantryd
  --pool NAME=DRIVER:SOURCE   a pool that nothing in DIR knows any more, as in data=btrfs:/dev/sdb; may be repeated
  --yes                       do it
`;

interface Wish {
  readonly socketPath: string;
  readonly body: RecoveryPost;
}

export async function runRecoverCommand(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(usage);
    return exitCodes.ok;
  }
  const wish = readWish(argv);
  if (typeof wish === 'string') {
    process.stderr.write(`gantryd recover: ${wish}\n\n${usage}`);
    return exitCodes.usage;
  }
  try {
    const found = await ask(wish);
    const hint = found.applied || found.recovered.length === 0 ? [] : ['Say --yes to bring this back.'];
    process.stdout.write(`${[...recoveryLines(found), ...hint].join('\n')}\n`);
    return found.problems.length === 0 ? exitCodes.ok : exitCodes.failed;
  } catch (error) {
    process.stderr.write(`gantryd recover: ${errorText(error)}\n`);
    return exitCodes.failed;
  }
}

function readWish(argv: readonly string[]): Wish | string {
  const options = {
    'state-dir': { type: 'string' },
    pool: { type: 'string', multiple: true },
    yes: { type: 'boolean', default: false },
  } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: false });
    const stateDir = values['state-dir'];
    if (stateDir === undefined) return '--state-dir is required';
    const pools = (values.pool ?? []).map((text) => /^([^=:]+)=([a-z]+)(?::(.+))?$/.exec(text) ?? text);
    const wrong = pools.find((pool): pool is string => typeof pool === 'string');
    if (wrong !== undefined) return `--pool must be NAME=DRIVER:SOURCE, is ${wrong}`;
    return {
      socketPath: join(resolve(stateDir), 'unix.socket'),
      body: {
        apply: values.yes,
        pools: pools.map(([, name = '', driver = '', source]) => {
          return { name, driver, config: source === undefined ? {} : { source } };
        }),
      },
    };
  } catch (error) {
    return errorText(error);
  }
}

function ask({ socketPath, body }: Wish): Promise<Recovery> {
  return new Promise((done, fail) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ socketPath, method: 'POST', path: '/1.0/recovery', agent: false, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', fail).on('end', () => {
        const answer = JSON.parse(text) as { readonly metadata?: Partial<Recovery> & { readonly message?: string } };
        if (response.statusCode === 200) done(answer.metadata as Recovery);
        else fail(new Error(answer.metadata?.message ?? `the daemon answered ${response.statusCode}`));
      });
    });
    sent.on('error', (error) =>
      fail(new Error(`No daemon answers on ${socketPath}: start gantryd first`, { cause: error })),
    );
    sent.end(JSON.stringify(body));
  });
}

// npm run bench: the same work on gantryd and, where it runs, on LXD; prints the figures, the ratios and the missed targets.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { lxcAvailable } from '../../server/drivers/runtime/lxc/host.ts';
import { errorText } from '../../server/lib/shared/reason.ts';
import { clusterGroup } from './cluster.ts';
import { clusterCrowdGroup } from './cluster-crowd.ts';
import { containersGroup } from './containers.ts';
import { controllerGroup } from './controller.ts';
import { crowdGroup } from './crowd.ts';
import { daemonGroup } from './daemon.ts';
import type { BenchContext, Group } from './group.ts';
import { imagesGroup } from './images.ts';
import { lifeGroup } from './life.ts';
import { listsGroup } from './lists.ts';
import { mixedGroup } from './mixed.ts';
import { planGroup } from './plan.ts';
import { pageGroup } from './page.ts';
import { median, misses, ratio, table, verdict, type Row, type Verdict } from './report.ts';
import { networksGroup } from './networks/networks.ts';
import { openGantryd, openLxd, type Server } from './servers.ts';
import { requestsGroup } from './requests.ts';
import { snapshotsGroup } from './snapshots.ts';
import { reconcileGroup } from './reconcile.ts';
import { terraformGroup } from './terraform.ts';

const groups: Readonly<Record<string, Group>> = {
  plan: planGroup,
  terraform: terraformGroup,
  reconcile: reconcileGroup,
  mixed: mixedGroup,
  page: pageGroup,
  controller: controllerGroup,
  // Before the other groups make and delete thousands of files.
  images: imagesGroup,
  life: lifeGroup,
  snapshots: snapshotsGroup,
  crowd: crowdGroup,
  networks: networksGroup,
  daemon: daemonGroup,
  containers: containersGroup,
  lists: listsGroup,
  requests: requestsGroup,
  cluster: clusterGroup,
  'cluster-crowd': clusterCrowdGroup,
};

/** They start their own servers. */
const ownServers = ['plan', 'terraform', 'reconcile', 'mixed', 'controller', 'page', 'cluster', 'cluster-crowd'];

const usage = `Usage: npm run bench -- [GROUP...] [--only GROUP[,GROUP]] [--count N] [--json]

Groups: ${Object.keys(groups).join(', ')}. --count is the number of containers (default 1000).
LXD is compared with when it answers at $LXD_DIR/unix.socket (default /var/lib/lxd).
`;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  say(errorText(error));
  return 1;
});

async function main(argv: string[]): Promise<number> {
  const options = {
    only: { type: 'string' },
    count: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const named = [...positionals, ...(values.only?.split(',') ?? [])];
  const wanted = named.length > 0 ? named : Object.keys(groups);
  const unknown = wanted.filter((name) => groups[name] === undefined);
  const containers = Number(values.count ?? '1000');
  if (values.help === true || unknown.length > 0 || !Number.isInteger(containers) || containers < 1) {
    process.stderr.write(usage);
    return values.help === true ? 0 : 64;
  }
  const rows = await measure(wanted, containers);
  print(rows, values.json === true);
  return 0;
}

/** In every case, also after an interrupt: every server is emptied and those started here are stopped. */
async function measure(wanted: readonly string[], containers: number): Promise<readonly Row[]> {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      say(`${name}: cleaning up`);
      abort.abort(new Error(`interrupted by ${name}`));
    });
  }
  const servers: Server[] = [];
  try {
    if (wanted.some((name) => !ownServers.includes(name))) await open(servers);
    const context: BenchContext = { servers, containers, say, signal: abort.signal };
    const rows: Row[] = [];
    for (const name of wanted) {
      abort.signal.throwIfAborted();
      say(`load average ${loadavg()[0]?.toFixed(1)}`);
      rows.push(...((await groups[name]?.(context)) ?? []));
    }
    return rows;
  } finally {
    for (const server of servers) {
      await server.close().catch((error: unknown) => say(`cleaning up ${server.name} failed: ${String(error)}`));
    }
  }
}

async function open(servers: Server[]): Promise<void> {
  const lxc = process.getuid?.() === 0 ? await lxcAvailable() : { ok: false as const, reason: 'it needs root' };
  if (lxc.ok) servers.push(await openGantryd('lxc'));
  else say(`skipped: gantryd with real containers: ${lxc.reason}`);
  servers.push(await openGantryd('sim'));
  const lxd = await openLxd();
  if (lxd !== undefined) servers.push(lxd);
}

function print(rows: readonly Row[], json: boolean): void {
  if (json) {
    const measured = rows.map((row) => ({
      ...row,
      servers: Object.entries(row.samples).map(([name, samples]) => ({
        name,
        median: median(samples),
        ratio: ratio(row, name) ?? null,
        verdict: verdict(row, name),
      })),
    }));
    process.stdout.write(`${JSON.stringify(measured, null, 2)}\n`);
    return;
  }
  const missed = misses(rows);
  process.stdout.write(`\n${table(rows)}\n\n`);
  if (missed.length > 0) process.stdout.write(`Missed:\n${missed.map((line) => `- ${line}`).join('\n')}\n`);
  const verdicts = rows.flatMap((row) => Object.keys(row.samples).map((name) => verdict(row, name)));
  const count = (wanted: Verdict): number => verdicts.filter((one) => one === wanted).length;
  process.stdout.write(
    `Targets: ${count('met')} met, ${missed.length} missed, ${count('not compared')} not compared for want of LXD.\n`,
  );
}

// `gantry doctor`: checks everything that a run needs, one line each, with a remedy for each problem. Only --recover changes the
// server.
import type { Command, Context, Output, Run } from '../../session/context.ts';
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../../../../server/client/client.ts';
import { ClientError } from '../../../../server/client/client-error.ts';
import type { Server } from '../../../../server/api/server/server.ts';
import type { Warning } from '../../../../server/api/server/warning.ts';
import type { Recovery } from '../../../../server/api/server/recovery.ts';
import { recoveryLines } from '../../../../server/api/server/recovery-lines.ts';
import { version } from '../../../../server/api/version.ts';
import type { DoctorOptions } from './setup-verbs.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { answersOf } from '../../hosts/ask-hosts.ts';
import { worstCode } from '../../hosts/each-host.ts';
import { hostOf } from '../../session/host.ts';
import { paintFor } from '../../output/paint.ts';
import { confirm } from '../../session/confirm.ts';
import { withClient } from '../../session/connect.ts';
import { CliError } from '../../errors/usage-error.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

interface Finding {
  readonly name: string;
  readonly level: 'ok' | 'warning' | 'error';
  readonly text: string;
  readonly remedy?: string;
  /** Name of the host, with several hosts; absent for findings about this machine. */
  readonly host?: string;
}

/** Checks this machine once, then each host. */
export const doctor: Run<DoctorOptions> = async (context, _args, fleet) => {
  const answers = await answersOf(context, fleet, (own) => daemonFindings(own));
  const local = await localFindings(context);
  const each = answers.map((one) => {
    if (one.failure === undefined) return { ...one.value, host: one.host };
    const finding: Finding = { name: 'connection', level: 'error', text: one.failure.message };
    return { findings: [finding], code: one.failure.code, host: one.host };
  });
  const there = each.flatMap(({ host, findings }) =>
    host === undefined ? findings : findings.map((one) => ({ host: host.name, ...one })),
  );
  showFindings(context, fleet === undefined ? [...there, ...local] : [...local, ...there]);
  return worstCode([codeOf(local), ...each.map(({ code }) => code)]);
};

const codeOf = (findings: readonly Finding[]): ExitCode =>
  findings.some(({ level }) => level === 'error') ? exitCodes.error : exitCodes.ok;

/** Findings about this program and this machine. */
const localFindings = async (context: Output): Promise<readonly Finding[]> => [program(), await state(context)];

async function daemonFindings(
  context: Context<DoctorOptions>,
): Promise<{ readonly findings: readonly Finding[]; readonly code: ExitCode }> {
  try {
    const findings = await withClient(context, (client) => daemon(context, client));
    return { findings, code: codeOf(findings) };
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode === exitCodes.usage) throw error;
    const finding: Finding = { name: 'daemon', level: 'error', text: error.message, remedy: remedyOf(context) };
    return { findings: [finding], code: exitCodes.unreachable };
  }
}

function program(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isOld = major < 20 || (major === 20 && minor < 19);
  const text = `gantry ${version} on Node ${process.versions.node}`;
  return isOld
    ? { name: 'program', level: 'error', text, remedy: 'use Node 20.19 or newer' }
    : { name: 'program', level: 'ok', text };
}

/** Journals are stored there; without them an interrupted run cannot be resumed. */
async function state(context: Output): Promise<Finding> {
  const { stateDirectory } = await import('../../../engine/runs/journal.ts');
  const directory = stateDirectory(context.io.env);
  const probe = join(directory, `.doctor-${randomBytes(4).toString('hex')}`);
  try {
    await makeFolder(directory);
    await writeFile(probe, '', { flag: 'wx' });
    await rm(probe);
    return { name: 'state', level: 'ok', text: `${directory} is writable` };
  } catch (error) {
    const why = reasonOf(error);
    const text = `${directory} cannot be written: ${why}`;
    return {
      name: 'state',
      level: 'warning',
      text,
      remedy: 'name another with XDG_STATE_HOME: journals of runs are kept there',
    };
  }
}

/** Always mentions that another host can be selected. */
const remedyOf = ({ options, io }: Context<DoctorOptions>): string =>
  options.embedded !== undefined
    ? 'see the messages of the daemon above'
    : `tried ${hostOf(options, io)}; --host or GANTRY_HOST select another`;

async function daemon(context: Context<DoctorOptions>, client: Client): Promise<readonly Finding[]> {
  const beforeMs = context.io.nowMs();
  const answer = await client.http.open({ method: 'GET', path: '/1.0' }, context.stop);
  const afterMs = context.io.nowMs();
  answer.body.resume();
  const { metadata } = await client.server(context.stop);
  const reached: Finding = { name: 'daemon', level: 'ok', text: `${client.host} answers in ${afterMs - beforeMs} ms` };
  const clock = clockFinding(answer.headers['date'], beforeMs, afterMs);
  const trust = trustFinding(metadata);
  if (trust.level === 'error') return [reached, trust, clock];
  if (context.options.recover === true) return [reached, ...(await recovered(context, client))];
  const found = [reached, trust, ...serverFindings(metadata), clock, await locks(context, metadata)];
  return [...found, ...(await warnings(context, client, metadata))];
}

/** Shows what can be recovered before it asks. */
async function recovered(context: Context<DoctorOptions>, client: Client): Promise<readonly Finding[]> {
  const found = await client.recover({}, context.stop);
  if (found.recovered.length === 0) return recoveryFindings(found);
  if (!context.isJson) for (const line of recoveryLines(found)) context.out(line);
  await confirm(context, 'Write these records?', 'Recovering records');
  return recoveryFindings(await client.recover({ apply: true }, context.stop));
}

export function recoveryFindings(found: Recovery): readonly Finding[] {
  const level = found.problems.length > 0 ? 'error' : found.unknown.length + found.kept.length > 0 ? 'warning' : 'ok';
  return recoveryLines(found).map((text) => ({ name: 'recovery', level, text }));
}

/** Pure, like the functions below. */
export function trustFinding({ auth }: Pick<Server, 'auth'>): Finding {
  return auth === 'trusted'
    ? { name: 'trust', level: 'ok', text: 'the server trusts this client' }
    : {
        name: 'trust',
        level: 'error',
        text: 'the server does not trust this client',
        remedy:
          'give --client-cert and --client-key of a certificate that it trusts, or add this one to its certificates',
      };
}

/** Without these a plan cannot be applied safely, or at all. */
const needed = ['etag', 'patch', 'network', 'storage'];

export function serverFindings({
  environment,
  api_extensions: extensions,
  api_version: api,
}: Pick<Server, 'api_extensions' | 'api_version'> & {
  readonly environment: Pick<
    Server['environment'],
    'server' | 'server_version' | 'driver' | 'driver_version' | 'kernel_version' | 'storage'
  >;
}): readonly Finding[] {
  const what = `${environment.server} ${environment.server_version}`;
  const missing = needed.filter((one) => !extensions.includes(one));
  const isSame = environment.server !== 'gantry' || environment.server_version === version;
  const isSim = environment.driver === 'sim';
  return [
    {
      name: 'version',
      level: isSame ? 'ok' : 'warning',
      text: `${what}, API ${api}`,
      ...(isSame ? {} : { remedy: `this program is ${version}: use the same release of both` }),
    },
    missing.length === 0
      ? { name: 'extensions', level: 'ok', text: `${extensions.length} API extensions, including all required ones` }
      : {
          name: 'extensions',
          level: 'error',
          text: `the server lacks the API extensions ${missing.join(', ')}`,
          remedy: 'use a newer server',
        },
    {
      name: 'runtime',
      level: isSim ? 'warning' : 'ok',
      text: `${environment.driver} ${environment.driver_version}, kernel ${environment.kernel_version}, storage ${environment.storage || 'none'}`,
      ...(isSim ? { remedy: 'containers are simulated: start gantryd as root with --runtime lxc for real ones' } : {}),
    },
  ];
}

const maxSkewMs = 30_000;

/** The Date header has whole seconds. */
export function clockFinding(date: unknown, beforeMs: number, afterMs: number): Finding {
  const serverMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(serverMs)) return { name: 'clock', level: 'warning', text: 'the server reports no time' };
  const skewMs = Math.max(0, beforeMs - serverMs - 1000, serverMs - afterMs);
  const seconds = Math.round(skewMs / 1000);
  if (skewMs <= maxSkewMs) return { name: 'clock', level: 'ok', text: 'both clocks agree' };
  return {
    name: 'clock',
    level: 'warning',
    text: `the server's clock is ${seconds} s ${serverMs > afterMs ? 'ahead' : 'behind'}`,
    remedy: 'set both clocks: locks of sets expire by them',
  };
}

async function locks(context: Output, { config }: Partial<Server>): Promise<Finding> {
  const { lockIn, isOverdue } = await import('../../../engine/notes/lock.ts');
  const { lockKey } = await import('../../../core/ownership/set-state.ts');
  const sets = Object.keys(config ?? {}).flatMap((key) =>
    key.startsWith(lockKey('')) ? [key.slice(lockKey('').length)] : [],
  );
  const held = sets.flatMap((set) => {
    const lock = lockIn(config ?? {}, set);
    return lock === undefined
      ? []
      : [`${set} by ${lock.who}${isOverdue(lock, context.io.nowMs()) ? ' (overdue)' : ''}`];
  });
  if (held.length === 0) return { name: 'locks', level: 'ok', text: 'no set is locked' };
  const remedy = 'wait for the run to end; gantry force-unlock removes the lock of a dead run';
  return { name: 'locks', level: 'warning', text: `locked: ${held.join(', ')}`, remedy };
}

/** Empty if the server has no warnings API or denies it to this client. */
async function warnings(context: Command, client: Client, server: Pick<Server, 'api_extensions'>) {
  if (!server.api_extensions.includes('warnings')) return [];
  try {
    return warningFindings(await client.warnings(context.stop));
  } catch (error) {
    if (error instanceof ClientError && error.status === 403) return [];
    throw error;
  }
}

const shownWarnings = 20;

/** Unacknowledged warnings, the severe ones first. */
export function warningFindings(all: readonly Warning[]): readonly Finding[] {
  const order = ['high', 'moderate', 'low'];
  const open = all
    .filter(({ status }) => status === 'new')
    .toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  if (open.length === 0) return [{ name: 'warnings', level: 'ok', text: 'the server warns of nothing new' }];
  const shown = open.slice(0, shownWarnings).map((warning): Finding => {
    const where = [warning.entity_url, warning.location === 'none' ? '' : `on ${warning.location}`].filter(Boolean);
    const what = [warning.type, ...where].join(' ');
    return { name: 'warnings', level: 'warning', text: `${warning.severity}: ${what}: ${warning.last_message}` };
  });
  const more = open.length - shown.length;
  return more === 0 ? shown : [...shown, { name: 'warnings', level: 'warning', text: `and ${more} more` }];
}

function showFindings(context: Output, findings: readonly Finding[]): void {
  if (context.isJson) return context.jsonObjects({ findings });
  const paint = paintFor(context.color);
  const tints = { ok: paint.green, warning: paint.yellow, error: paint.red } as const;
  const width = Math.max(...findings.map(({ host }) => host?.length ?? 0));
  const isOfSeveral = findings.some(({ host }) => host !== undefined);
  for (const { name, level, text, remedy, host = '' } of findings) {
    const where = isOfSeveral ? `${host.padEnd(width)} ` : '';
    context.out(`${tints[level](level.padEnd(8))} ${where}${name.padEnd(11)} ${text}`);
    if (remedy !== undefined) context.out(`${' '.repeat(21 + where.length)}-> ${remedy}`);
  }
}

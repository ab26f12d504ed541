// `gantry wait`: waits until containers are ready, as their manifests or the command line say; for scripts.
import type { Context, Run } from '../../session/context.ts';
import { NotReadyError } from '../../../../server/client/wait/readiness.ts';
import { pause } from '../../../../server/lib/shared/deadline.ts';
import type { WaitCondition } from '../../../../server/api/container/wait-condition.ts';
import type { Client } from '../../../../server/client/client.ts';
import { waitFor } from '../../../../server/client/wait/wait-for.ts';
import type { JsonObject } from '../../../core/documents/document.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import type { WaitOptions } from './object-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { parseContainer } from '../../flags/parse-values.ts';
import { loadSet } from '../../session/load-set.ts';
import { withClient } from '../../session/connect.ts';
import { CliError, ExpiredError, usageError } from '../../errors/usage-error.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const waitMs = 60_000;

interface ContainerWait {
  readonly name: string;
  readonly project?: string;
  readonly conditions: readonly WaitCondition[];
}

/** Waits for the conditions one after the other, each with its timeout from the manifest or 60 s. */
export const wait: Run<WaitOptions> = async (context, args) => {
  const { for: words = ['ready'] } = context.options;
  const names = args.map(containerOf);
  const wanted: readonly ContainerWait[] = words.includes('ready')
    ? await declared(context, names)
    : names.map((name) => ({ name, conditions: [] }));
  const asked = words.filter((word) => word !== 'ready').map(conditionOf);
  if (wanted.length === 0) throw usageError('name the containers: gantry wait container/NAME');
  return withClient(context, async (client) => {
    for (const one of wanted) {
      const all = [...(one.conditions.length === 0 && asked.length === 0 ? [running] : one.conditions), ...asked];
      const inside = one.project === undefined ? client : client.inProject(one.project);
      for (const condition of all) await hold(context, inside, one.name, condition);
      context.out(`container/${one.name} is ready`);
    }
    return exitCodes.ok;
  });
};

const running: WaitCondition = { type: 'running', timeoutMs: waitMs };

async function hold(context: Context, client: Client, name: string, condition: WaitCondition): Promise<void> {
  let lastNote = '';
  const onProgress = (text: string): void => {
    if (text !== lastNote) context.note(`container/${name}: ${text}`);
    lastNote = text;
  };
  try {
    await waitFor({ client, nowMs: context.io.nowMs, pause, onProgress }, name, condition, context.stop);
  } catch (error) {
    const { aborted, reason } = context.stop;
    if (aborted && reason instanceof ExpiredError) {
      const last = lastNote === '' ? '' : ` (${lastNote})`;
      const message = `container/${name} is not ready after --timeout ${context.options.timeout ?? ''}${last}`;
      throw new CliError(message, exitCodes.notReady, error);
    }
    if (!(error instanceof NotReadyError)) return refuseMissing('container', name)(error);
    throw new CliError(`container/${name}: ${error.message}`, exitCodes.notReady, error);
  }
}

const containerOf = (text: string): string => parseContainer(text, 'gantry wait');

/** The waits of the manifests; without names, of all containers that should run. Named containers need no manifest. */
async function declared(context: Context<WaitOptions>, names: readonly string[]): Promise<readonly ContainerWait[]> {
  const hasManifests = (context.options.file ?? []).length > 0;
  if (!hasManifests && names.length > 0) return names.map((name) => ({ name, conditions: [running] }));
  const { documents } = await loadSet(context, [], false);
  const found = documents.filter(
    ({ kind, name, state }) =>
      kind === 'container' && (names.length === 0 ? state !== 'stopped' : names.includes(name)),
  );
  const missing = names.find((name) => !found.some((document) => document.name === name));
  if (missing !== undefined) throw usageError(`container/${missing} is not declared in the manifests`);
  return found.map(({ name, project, manage }) => ({
    name: plainName(name, project),
    ...withoutUndefined({ project }),
    conditions: [running, ...manage.wait],
  }));
}

/** `running`, `ipv4`, `ipv4=eth0`, `tcp=80`, `file=/path`, `cloud_init`: as in `manage.wait`. */
function conditionOf(word: string): WaitCondition {
  const [name = '', ...rest] = word.split('=');
  const value = rest.join('=');
  const limited = { timeoutMs: waitMs };
  const nic = value === '' ? {} : { nic: value };
  const simple: Readonly<JsonObject> = { running: true, cloud_init: true };
  if (Object.hasOwn(simple, name) && value === '')
    return { type: name === 'running' ? 'running' : 'cloud-init', ...limited };
  if (name === 'ipv4' || name === 'ipv6') return { type: name, ...nic, ...limited };
  if (name === 'file' && value.startsWith('/')) return { type: 'file', path: value, ...limited };
  const port = Number(value);
  if (name === 'tcp' && Number.isInteger(port) && port > 0 && port < 65_536) return { type: 'tcp', port, ...limited };
  throw usageError(
    `--for ${JSON.stringify(word)} is not one of ready, running, ipv4[=NIC], ipv6[=NIC], tcp=PORT, file=/PATH, cloud_init`,
  );
}

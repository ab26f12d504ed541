// `gantry controller status`: the sets of a controller with their revisions and hosts, once or at each change.
import { pause } from '../../../../server/lib/shared/deadline.ts';
import type { Overview, SetStatus, Suspension } from '../../../controller/contract/index.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { Context, Run } from '../../session/context.ts';
import { short } from './answer.ts';
import { readOverview, withApi, type ControllerApi } from './controller-api.ts';
import type { StatusOptions } from './controller-verbs.ts';

/** Waits this long after an event, since events come in bursts. */
const quietMs = 300;
const againMs = 2000;

export const showStatus: Run<StatusOptions> = (context, [set]) => {
  const format = formatOf(context.options.output, ['table', 'json']);
  return withApi(context, async (api) => {
    const first = await readOverview(api, set);
    print(context, first, format);
    if (context.options.watch === true) await watch(context, api, set, format);
    return context.stop.aborted ? exitCodes.interrupted : codeOf(first);
  });
};

/** 1 when a set failed, so that a script need not read the table. */
const codeOf = ({ sets }: Overview): ExitCode =>
  sets.some(({ status }) => status === 'failed') ? exitCodes.error : exitCodes.ok;

async function watch(
  context: Context<StatusOptions>,
  api: ControllerApi,
  set: string | undefined,
  format: 'table' | 'json',
): Promise<void> {
  const { stop } = context;
  let shown = '';
  while (!stop.aborted) {
    try {
      for await (const _event of api.events(stop)) {
        await pause(quietMs, stop);
        const overview = await readOverview(api, set);
        const text = JSON.stringify(overview.sets);
        if (text !== shown) print(context, overview, format);
        shown = text;
      }
    } catch (error) {
      if (stop.aborted) return;
      context.note(error instanceof Error ? error.message : String(error));
    }
    await pause(againMs, stop).catch(() => undefined);
  }
}

function print(context: Context<StatusOptions>, overview: Overview, format: 'table' | 'json'): void {
  if (context.isJson) return context.json(JSON.stringify({ '@level': 'info', type: 'controller_status', ...overview }));
  if (format === 'json') return context.out(JSON.stringify(overview, null, 2));
  const { controller, sets, sources } = overview;
  const role = controller.isActive
    ? 'active'
    : `waiting: ${controller.holder === undefined ? 'no controller is active' : `${controller.holder} is active`}`;
  const rows = sets.flatMap((one) => rowsOf(one));
  const head = ['SET', 'HOST', 'STATUS', 'REVISION', 'OBJECTS', 'MESSAGE'];
  const broken = sources.flatMap(({ name, error }) => (error === undefined ? [] : [`source ${name}: ${error}`]));
  const problems = sets.flatMap(({ name, problems: found }) => found.map((text) => `set ${name}: ${text}`));
  context.out(`Controller ${controller.name}: ${role}`);
  const waiting = sets.flatMap(({ name, approvalGate }) =>
    approvalGate === undefined ? [] : [`awaits approval: ${name} (gantry controller approve ${name})`],
  );
  for (const text of waiting) context.out(text);
  context.out(renderTable(head, rows, paintFor(context.color)));
  const unread = (controller.config?.problems ?? []).map((text) => `configuration: ${text}`);
  const held = sets.flatMap(({ suspensions }) => suspensions.map(suspensionText));
  for (const text of [...unread, ...broken, ...problems, ...held]) context.out(text);
}

/** Includes the id, which `gantry controller resume SET ID` needs. */
function suspensionText({ id, set, host, address, path, reason, by, until }: Suspension): string {
  const what = [address, path].filter((word) => word !== undefined).join(' ');
  const where = `${what === '' ? '' : ` ${what}`}${host === undefined ? '' : ` on ${host}`}`;
  return `suspended: ${set}${where}${until === undefined ? '' : ` until ${until}`} by ${by}: ${reason} (id ${id})`;
}

function rowsOf({ name, status, revision, message, hosts }: SetStatus): readonly (readonly string[])[] {
  const whole = [name, `${hosts.length}`, status, short(revision), '', message ?? ''];
  const each = hosts.map((host) => {
    const { total, synced } = host.objects;
    return ['', host.host, host.status, short(host.appliedRevision), `${synced}/${total}`, host.error ?? ''];
  });
  return [whole, ...each];
}

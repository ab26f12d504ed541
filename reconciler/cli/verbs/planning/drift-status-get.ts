// `gantry drift|status|get --hosts`: runs the command for one host on each, and merges the answers.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import type { Shown } from '../objects/columns.ts';
import { columnsOf, formats } from '../objects/get.ts';
import type { GetOptions } from '../objects/object-verbs.ts';
import type { DriftOptions, StatusOptions } from './planning-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { StatusRow } from './status.ts';
import { outcomeWord } from '../../hosts/each-host.ts';
import { worstCodeOf, errorOf, askHosts, hostsToAsk, rowsOf, type HostAnswer } from '../../hosts/ask-hosts.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { firstLine } from './render-plans.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';

export const driftFleet: RunOnHosts<DriftOptions> = async (context, fleet, args) => {
  if (context.options.watch === true) return (await import('./watch.ts')).watchFleet(context, fleet, args);
  const { drift } = await import('./drift.ts');
  const loaded = (await loadHosts(context, fleet, args)).filter(({ isUnselected }) => !isUnselected);
  const output = context.isJson ? undefined : (context.options.output ?? 'text');
  const form = { isJson: context.isJson, ...(output === undefined ? {} : { output }) };
  const answers = await askHosts(context, loaded, (own) => drift(own, args), form);
  if (output === 'json') {
    const hosts = answers.map((one) => ({
      host: one.host.name,
      address: one.host.address,
      ...(one.failure === undefined ? (JSON.parse(one.value.text) as object) : errorOf(one)),
    }));
    context.io.stdout.write(`${JSON.stringify({ format_version: '1.0', hosts }, null, 2)}\n`);
  } else if (!context.isJson) {
    const paint = paintFor(context.color);
    for (const one of answers) {
      if (one.failure !== undefined) continue;
      const head = output === 'markdown' ? `## ${one.host.name}` : paint.bold(`Host ${one.host.name}`);
      context.out(`${head} (${one.host.address})\n${output === 'markdown' ? '\n' : ''}${one.value.text.trimEnd()}\n`);
    }
    context.out(driftSummary(answers));
  }
  return worstCodeOf(answers);
};

function driftSummary(answers: readonly HostAnswer[]): string {
  const names = (fits: (one: HostAnswer) => boolean): string =>
    answers
      .filter(fits)
      .map(({ host }) => host.name)
      .join(', ');
  const drifted = names((one) => one.failure === undefined && one.value.code === exitCodes.changes);
  const unheard = names((one) => one.failure !== undefined);
  const what = drifted === '' ? 'No host drifted' : `Drifted: ${drifted}`;
  return `${what}${unheard === '' ? '' : `; not checked: ${unheard}`}.`;
}

export const statusFleet: RunOnHosts<StatusOptions> = async (context, fleet, args) => {
  const { status } = await import('./status.ts');
  const loaded = (await loadHosts(context, fleet, args)).filter(({ isUnselected }) => !isUnselected);
  const answers = await askHosts(context, loaded, (own) => status(own, args), { isJson: true });
  if (context.isJson) {
    const rows = answers.flatMap((one) => rowsOf<StatusRow>(one).map((row) => ({ host: one.host.name, ...row })));
    const failed = answers.flatMap((one) =>
      one.failure === undefined ? [] : [{ host: one.host.name, ...errorOf(one) }],
    );
    context.io.stdout.write(`${JSON.stringify([...rows, ...failed])}\n`);
  } else {
    const rows = answers.flatMap((one) =>
      one.failure === undefined
        ? rowsOf<StatusRow>(one).map(({ address, state, sync, addresses }) => [
            one.host.name,
            address,
            state,
            sync,
            addresses.join(' '),
          ])
        : [[one.host.name, '', outcomeWord(one.failure.code), '', firstLine(one.failure.message)]],
    );
    context.out(renderTable(['HOST', 'OBJECT', 'STATE', 'MANIFEST', 'ADDRESSES'], rows, paintFor(context.color)));
  }
  return worstCodeOf(answers);
};

export const getFleet: RunOnHosts<GetOptions> = async (context, fleet, args) => {
  const { get } = await import('../objects/get.ts');
  const format = context.isJson ? 'json' : formatOf(context.options.output, formats);
  const columns = columnsOf(args, context.options);
  const answers = await askHosts(context, hostsToAsk(context, fleet), (own) => get(own, args, format === 'table'), {
    isJson: false,
    output: 'json',
  });
  const found = answers.flatMap((one) => rowsOf<Shown>(one).map((object) => ({ host: one.host.name, object })));
  const { stdout } = context.io;
  if (format === 'name') stdout.write(found.map(({ host, object }) => `${host}/${columns.nameOf(object)}\n`).join(''));
  else if (format === 'yaml')
    stdout.write(found.map(({ host, object }) => `---\n${yamlText({ host, ...object })}`).join(''));
  else if (format === 'json')
    stdout.write(
      `${JSON.stringify(
        found.map(({ host, object }) => ({ host, ...object })),
        null,
        context.isJson ? 0 : 2,
      )}\n`,
    );
  else {
    const rows = found.map(({ host, object }) => [host, ...columns.row(object)]);
    context.out(renderTable(['HOST', ...columns.head], rows, paintFor(context.color)));
  }
  return worstCodeOf(answers);
};

// `gantry diff|history|doctor --hosts`: runs the command for one host on each, and merges the answers.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import type { OpenContext } from '../../session/context.ts';
import { formatOf } from '../../flags/output-flags.ts';
import type { HistoryOptions } from '../applying/applying-verbs.ts';
import type { DiffOptions } from './planning-verbs.ts';
import type { DoctorOptions } from '../setup/setup-verbs.ts';
import { showDiff } from './diff.ts';
import { codeOfFindings, daemonFindings, localFindings, showFindings, type Finding } from '../setup/doctor.ts';
import { history, historyHead, rowOf, type HistoryEntry } from '../applying/history.ts';
import { withDiffCodes, worstDiffCode } from '../../errors/diff-codes.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { Fleet } from '../../hosts/choose-hosts.ts';
import { eachHost, worstCode, outcomeWord } from '../../hosts/each-host.ts';
import { worstCodeOf, codesOf, errorOf, askHosts, hostsToAsk, rowsOf } from '../../hosts/ask-hosts.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { firstLine } from './render-plans.ts';

/** One patch, in which names begin with that of the host. */
export const diffFleet = (
  context: OpenContext<DiffOptions>,
  fleet: Fleet,
  args: readonly string[],
): Promise<ExitCode> =>
  withDiffCodes(async () => {
    const loaded = (await loadHosts(context, fleet, args)).filter(({ isUnselected }) => !isUnselected);
    const { isJson } = context;
    const answers = await askHosts(
      context,
      loaded,
      (own, one) => withDiffCodes(() => showDiff(own, one.loaded, `${one.host.name}/`)),
      { isJson },
    );
    const { stdout } = context.io;
    if (isJson) {
      const hosts = answers.map((one) => ({ host: one.host.name, ...rowsOf<object>(one)[0], ...errorOf(one) }));
      stdout.write(`${JSON.stringify({ hosts })}\n`);
    } else for (const one of answers) stdout.write(one.failure === undefined ? one.value.text : '');
    return worstDiffCode(codesOf(answers));
  });

export const historyFleet: RunOnHosts<HistoryOptions> = async (context, fleet) => {
  const { isJson, io } = context;
  const format = formatOf(context.options.output, ['table', 'json']);
  const answers = await askHosts(context, hostsToAsk(context, fleet), (own) => history(own, []), {
    isJson: false,
    output: 'json',
  });
  const entries = answers.flatMap((one) =>
    rowsOf<HistoryEntry>(one).map((entry) => ({ host: one.host.name, ...entry })),
  );
  const silent = answers.flatMap((one) =>
    one.failure === undefined ? [] : [{ host: one.host.name, ...errorOf(one) }],
  );
  if (isJson) for (const entry of [...entries, ...silent]) io.stdout.write(`${JSON.stringify(entry)}\n`);
  else if (format === 'json') io.stdout.write(`${JSON.stringify([...entries, ...silent], null, 2)}\n`);
  else {
    const rows = answers.flatMap((one) => {
      const { name } = one.host;
      if (one.failure !== undefined)
        return [[name, '', '', '', '', '', outcomeWord(one.failure.code), firstLine(one.failure.message)]];
      const own = rowsOf<HistoryEntry>(one).map((entry) => [name, ...rowOf(entry)]);
      return own.length === 0 ? [[name, '', '', '', '', '', 'none yet']] : own;
    });
    context.out(renderTable(['HOST', ...historyHead], rows, paintFor(context.color)));
  }
  return worstCodeOf(answers);
};

/** Checks this machine once, then each host. */
export const doctorFleet: RunOnHosts<DoctorOptions> = async (context, fleet) => {
  const local = await localFindings(context);
  const hosts = hostsToAsk(context, fleet);
  const outcomes = await eachHost(
    fleet.chosen,
    async (host) => daemonFindings(hosts.find((one) => one.host === host)?.context ?? context),
    context.stop,
  );
  const each = outcomes.map((outcome) => {
    const named = (one: Finding): Finding => ({ host: outcome.host.name, ...one });
    if (outcome.failure === undefined) {
      const { findings, isReached } = outcome.value;
      return { findings: findings.map(named), code: isReached ? codeOfFindings(findings) : exitCodes.unreachable };
    }
    const { message, code } = outcome.failure;
    return { findings: [named({ name: 'connection', level: 'error', text: message })], code };
  });
  showFindings(context, [...local, ...each.flatMap(({ findings }) => findings)]);
  return worstCode([codeOfFindings(local), ...each.map(({ code }) => code)]);
};

// `gantry controller history`, `logs`, `plan`, `diff`, `explain`: reports of a running controller. Changes nothing.
import type {
  ControllerEvent,
  LogLevel,
  LogLine,
  ObjectDetail,
  ObjectPage,
  ObjectSummary,
  Preview,
  RunRecord,
} from '../../../controller/contract/index.ts';
import { different, withDiffCodes } from '../../errors/diff-codes.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { parseCount } from '../../flags/parse-values.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { Context, Run, RunOf } from '../../session/context.ts';
import { printAnswer, short } from './answer.ts';
import { inSet, readOverview, setIn, withApi, withQuery, type ControllerApi } from './controller-api.ts';
import type {
  DiffOptions,
  controllerExplain,
  HistoryOptions,
  LogsOptions,
  controllerPlan,
} from './controller-verbs.ts';
import { explainSet } from './explain-set.ts';
import { detailText, previewText } from './report-texts.ts';
import { mapAtMost } from '../../../../server/lib/shared/concurrency-limit.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const showHistory: Run<HistoryOptions> = (context, [set = '']) =>
  withApi(context, async (api) => {
    const limit = parseCount('--limit', context.options.limit);
    const runs = await api.get<readonly RunRecord[]>(withQuery(inSet(set, 'history'), { limit }));
    const head = ['TIME', 'REVISION', 'OUTCOME', 'BY', 'CHANGES', 'REASON'];
    const text = () => renderTable(head, runs.map(rowOf), paintFor(context.color));
    printAnswer(context, { type: 'controller_history', value: runs, text });
    return exitCodes.ok;
  });

function rowOf({ at, revision, outcome, by, changes, reason, message, tries }: RunRecord): readonly string[] {
  const counts = `+${changes.create} ~${changes.update} -${changes.delete}`;
  const often = tries === undefined ? '' : ` (${tries} times)`;
  return [
    at,
    short(revision),
    `${outcome}${often}`,
    by,
    counts,
    message === undefined ? reason : `${reason}: ${message}`,
  ];
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export const showLogs: Run<LogsOptions> = (context, [set]) =>
  withApi(context, async (api) => {
    const { level = 'info', follow, limit } = context.options;
    const from = levels.indexOf(level as LogLevel);
    if (from === -1) throw usageError(`--level ${JSON.stringify(level)} is not one of ${levels.join(', ')}`);
    if (set !== undefined) await readOverview(api, set);
    const asked = { set, level, limit: parseCount('--limit', limit) };
    // The stream opens before the list is read, so that no line is lost in between.
    const events = follow === true ? prefetched(api.events(context.stop)) : undefined;
    const earlier = await api.get<readonly LogLine[]>(withQuery('/api/v1/logs', asked));
    for (const line of earlier) printLine(context, line);
    if (events === undefined) return exitCodes.ok;
    const shown = new Set(earlier.map((line) => JSON.stringify(line)));
    for await (const event of events)
      if (isWanted(event, set, from) && !shown.has(JSON.stringify(event.line))) printLine(context, event.line);
    return context.stop.aborted ? exitCodes.interrupted : exitCodes.unreachable;
  });

/** The same events, with the first one already requested. */
function prefetched<T>(events: AsyncGenerator<T, void, void>): AsyncIterable<T> {
  const first = events.next();
  first.catch(() => undefined);
  return {
    async *[Symbol.asyncIterator]() {
      const { done, value } = await first;
      if (done === true) return;
      yield value;
      yield* events;
    },
  };
}

const isWanted = (
  event: ControllerEvent,
  set: string | undefined,
  from: number,
): event is Extract<ControllerEvent, { type: 'log' }> =>
  event.type === 'log' && levels.indexOf(event.line.level) >= from && (set === undefined || event.line.set === set);

function printLine(context: Context, { at, level, message, set, host, source }: LogLine): void {
  const fields = { '@level': level, '@message': message, '@timestamp': at, type: 'log', set, host, source };
  const about = [set, host, source].filter((word) => word !== undefined).join(' ');
  context.json(JSON.stringify(fields));
  context.out(`${at} ${level.padEnd(5)} ${message}${about === '' ? '' : ` (${about})`}`);
}

export const showPlan: RunOf<typeof controllerPlan> = (context, [set = '']) =>
  withApi(context, async (api) => {
    const { branch, host, detailedExitcode } = context.options;
    const { sets } = await readOverview(api, set);
    const ref = branch ?? sets[0]?.revision;
    if (ref === undefined) throw usageError(`the set ${set} has no revision yet: name one with --branch`);
    const preview = await api.post<Preview>(inSet(set, 'preview'), {
      ref,
      ...withoutUndefined({ hosts: host }),
    });
    printAnswer(context, { type: 'controller_plan', value: preview, text: () => previewText(set, preview) });
    return codeOfPlan(preview, detailedExitcode === true);
  });

function codeOfPlan({ problems, hosts }: Preview, isDetailed: boolean): ExitCode {
  if (problems.length > 0 || hosts.some(({ error }) => error !== undefined)) return exitCodes.error;
  const objects = hosts.flatMap((host) => host.objects);
  if (objects.some(({ guard }) => guard !== undefined)) return exitCodes.guard;
  return isDetailed && objects.length > 0 ? exitCodes.changes : exitCodes.ok;
}

/** Max objects shown to people, since each needs a request. JSON has all. */
const maxDetails = 200;
const atOnce = 8;

export const showDiff: Run<DiffOptions> = (context, [set = '', address]) =>
  withDiffCodes(() =>
    withApi(context, async (api) => {
      const { on } = context.options;
      const objects = await objectsOf(api, set, on);
      const named = objects.filter((object) => address === undefined || object.address === address);
      if (address !== undefined && named.length === 0) throw commandError(`The set ${set} has no ${address}`);
      const apart = named.filter(({ status }) => status !== 'synced');
      const isText = !context.isJson && formatOf(context.options.output, ['text', 'json']) === 'text';
      const details = await detailsOf(api, set, isText ? apart.slice(0, maxDetails) : apart);
      const left = apart.length - details.length;
      const more = left > 0 ? [`and ${left} more objects: -o json has them all`] : [];
      const text = () =>
        apart.length === 0
          ? `${address ?? `The set ${set}`} is as declared.`
          : [...details.map(detailText), ...more].join('\n');
      printAnswer(context, { type: 'controller_diff', value: details, text });
      return apart.length === 0 ? exitCodes.ok : different;
    }),
  );

export async function objectsOf(
  api: ControllerApi,
  set: string,
  host: string | undefined,
): Promise<readonly ObjectSummary[]> {
  const found: ObjectSummary[] = [];
  let after: string | undefined;
  do {
    const page = await api.get<ObjectPage>(withQuery(inSet(set, 'objects'), { host, after, limit: 20_000 }));
    found.push(...page.objects);
    after = page.next;
  } while (after !== undefined);
  return found;
}

const detailsOf = (
  api: ControllerApi,
  set: string,
  objects: readonly ObjectSummary[],
): Promise<readonly ObjectDetail[]> =>
  mapAtMost(atOnce, objects, ({ host, address }) => api.get(withQuery(inSet(set, 'object'), { host, address })));

export const explain: RunOf<typeof controllerExplain> = (context, [set = '']) =>
  withApi(context, async (api) => {
    const overview = await readOverview(api);
    const found = setIn(overview, set);
    const reasons = explainSet(found, overview);
    const text = () => [`${set} is ${found.status}.`, ...reasons].join('\n');
    printAnswer(context, { type: 'controller_explain', value: { set, status: found.status, reasons }, text });
    return exitCodes.ok;
  });

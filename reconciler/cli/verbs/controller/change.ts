// `gantry controller sync`, `suspend`, `resume`, `rollback`: change the sets of a running controller.
import type { Operation, Resumed, Suspension } from '../../../controller/contract/index.ts';
import { usageError } from '../../errors/usage-error.ts';
import { parseContainerOrAddress, parseDuration } from '../../flags/parse-values.ts';
import type { Context, Run, RunOf } from '../../session/context.ts';
import { starPattern } from '../../../core/text/star-pattern.ts';
import { inSet, withApi } from './controller-api.ts';
import { objectsOf } from './reports.ts';
import type { ApiOptions, RollbackOptions, controllerSuspend, controllerSync } from './controller-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const sync: RunOf<typeof controllerSync> = async (context, [set = '']) => {
  const { host, reason, takeOver } = context.options;
  const body = {
    ...withoutUndefined({ hosts: host, reason }),
    ...(takeOver === true ? { takeOver } : {}),
  };
  const operation = await post<Operation>(context, set, 'sync', body);
  context.out(`The set ${set} is compared and applied now (run ${operation.id}).`);
};

export const suspend: RunOf<typeof controllerSuspend> = async (context, [set = '']) => {
  const { on, field, reason, for: duration } = context.options;
  if (reason === undefined) throw usageError('--reason says to others why the set is left alone');
  const object = context.options.object === undefined ? undefined : patternOf(context.options.object);
  const forMs = parseDuration('--for', duration);
  const made = await post<Suspension>(context, set, 'suspend', {
    reason,
    ...withoutUndefined({ host: on, address: object, path: field }),
    ...(forMs === undefined ? {} : { until: new Date(context.io.nowMs() + forMs).toISOString() }),
  });
  const what =
    made.address === undefined ? `The set ${set}` : `${made.address}${made.path === undefined ? '' : ` ${made.path}`}`;
  const until = made.until === undefined ? '' : ` until ${made.until}`;
  context.out(`${what} is left alone${until}; gantry controller resume ${set} ${made.id} ends it.`);
  if (object !== undefined && (await isUnknown(context, set, on, object)))
    context.note(`The set ${set} has no ${object} now`);
};

/** A name alone is that of a container, and a kind may be a short form, unless a star stands for any kind. */
const patternOf = (text: string): string =>
  text === '*' || text.slice(0, text.indexOf('/')).includes('*') ? text : parseContainerOrAddress(text);

const isUnknown = (context: Context<ApiOptions>, set: string, host: string | undefined, object: string) =>
  withApi(context, async (api) => {
    const pattern = starPattern(object);
    return (await objectsOf(api, set, host)).every(({ address }) => !pattern.test(address));
  }).catch(() => false);

export const resume: Run<ApiOptions> = async (context, [set = '', id]) => {
  const { resumed } = await post<Resumed>(context, set, 'resume', id === undefined ? {} : { id });
  context.out(resumed.length === 0 ? `The set ${set} was not suspended.` : `The set ${set} is resumed.`);
};

export const rollback: Run<RollbackOptions> = async (context, [set = '', revision = '']) => {
  const { host, reason } = context.options;
  if (reason === undefined) throw usageError('--reason says to others why the set goes back');
  const body = { revision, reason, ...withoutUndefined({ hosts: host }) };
  const operation = await post<Operation>(context, set, 'rollback', body);
  context.out(
    `The set ${set} goes back to ${operation.revision ?? revision}; gantry controller resume ${set} ends it.`,
  );
};

const post = <T>(context: Context<ApiOptions>, set: string, action: string, body: object): Promise<T> =>
  withApi(context, async (api) => {
    const answer = await api.post<T>(inSet(set, action), body);
    context.json(JSON.stringify(answer));
    return answer;
  });

// gantry_container: a system container, with its power, files and commands.
import { listByKind } from '../shared/listing.ts';
import { isNotFound, isRefused } from '../../../server/client/client-error.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { needCluster, needExtension } from '../../connection/link.ts';
import { failure } from '../../framework/diagnostic.ts';
import { isImported } from '../../framework/import-mark.ts';
import type { Value } from '../../framework/value.ts';
import { containerAttributes, type Source } from './container-attributes.ts';
import { addedLimitMs } from './container-limits.ts';
import { planContainer } from './container-plan.ts';
import { restartContainer, startContainer, stopContainer, thawContainer } from './container-power.ts';
import { readRenamed } from './holder.ts';
import { checkSource, mayBeOrigin } from './same-source.ts';
import { isUp } from '../../../server/client/facts/containers.ts';
import { isFrozen, readContainer } from './container-state.ts';
import { isWaiting, readTarget } from '../shared/placement.ts';
import { forgetRestart, isRestartPending } from './pending-restart.ts';
import { moveTarget } from './container-place.ts';
import { gantryResource } from '../shared/common-attributes.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { noteStart, withoutOwed } from './container-commands.ts';
import { secretToWrite } from '../shared/write-only-config.ts';
import { renameKind } from '../shared/rename.ts';
import { checkPlanned, keepEtag, performDelete } from '../shared/write.ts';
import {
  backupProblems,
  fileProblems,
  policyProblems,
  secretProblems,
  sourceProblems,
  waitProblems,
} from './container-checks.ts';
import { readFiles, writeFiles } from './container-file-map.ts';
import { importShape, parseContainerId } from './container-import.ts';
import {
  afterStart,
  changeObject,
  makeContainer,
  moveOrContinue,
  mustRestart,
  settleSource,
} from './container-write.ts';

const isPossible = (before: Source | null, after: Source | null): boolean =>
  before !== null && after !== null && mayBeOrigin(before, after);

export const container = gantryResource({
  typeName: 'gantry_container',
  doc: 'A system container. Changes apply to the running container where possible. Changes that take effect at a start restart it, which the plan announces. Another source or architecture, or a root disk in another pool, replaces it.',
  version: 1,
  attributes: containerAttributes,
  identity: ['name'],
  listing: listByKind('container'),
  timeoutsMs: { create: 15 * 60_000, update: 10 * 60_000, delete: 10 * 60_000 },
  addedLimitMs,
  importing: {
    doc: `\`${importShape}\`; \`image\`, \`copy\` or \`backup\` set its \`source\`, which is otherwise the fingerprint of its image. The next apply adds attributes that only the configuration knows (\`files\`, \`exec\`, \`wait_for\`, \`snapshots\`, \`stop_timeout\`, \`allow_restart\`) to the state`,
    example: 'web,image=debian/12',
    parse: parseContainerId,
  },
  validate: ({ source, instance_type: instanceType, snapshots, config, files, wait_for: waits, ...secret }) => [
    ...secretProblems(secret.config_wo as Value, secret.config_wo_version as Value, config as Value),
    ...sourceProblems(source as Value),
    ...backupProblems(source as Value, instanceType as Value),
    ...policyProblems(snapshots as Value, config as Value),
    ...fileProblems(files as Value),
    ...waitProblems(waits as Value),
  ],
  plan: planContainer,
  planDelete: ({ name, expanded_config: config }) =>
    /^(true|1|yes|on)$/i.test(config?.['security.protection.delete'] ?? '')
      ? [
          failure(
            `The container ${name} is protected`,
            'Remove security.protection.delete in a separate apply, then delete the container.',
          ),
        ]
      : [],

  async read(state, context) {
    const seen = await readRenamed(context, state.name, state.created_at);
    if (seen === undefined) return null;
    keepEtag(context.privateData, seen);
    const { name } = seen.object;
    const isNew = state.running === null;
    const place = { target: state.target, isNew };
    const target = await readTarget(context, `container ${name}`, seen.object, place);
    const restart_pending = isRestartPending(context.privateData, seen.object);
    const read = readContainer(seen.object, state);
    return {
      ...read,
      name,
      exec: withoutOwed(read.exec ?? null, context.privateData),
      restart_pending,
      target,
      files: await readFiles(context, { ...state, name }, seen.object),
    };
  },

  async create({ planned, config }, context) {
    const { client } = context;
    const wanted = { planned, secret: secretToWrite(config.config_wo as Value, planned, null) };
    const { name } = planned;
    const member = nonEmpty(planned.target);
    if (member !== null) needCluster(client, 'place containers on members (target)');
    if (planned.instance_type !== null) needExtension(client, 'instance_types', 'take instance_type');
    const target = member ?? client.target;
    const source = await makeContainer(context, wanted, target);
    if (['copy', 'backup'].includes(planned.source?.type ?? '')) await settleSource(context, wanted);
    const willRun = planned.running !== false;
    const late = await writeFiles(context, name, { wanted: planned.files, prior: null, willRun });
    return { source, ...(await afterStart(context, planned, null, { late, hasStarted: willRun })) };
  },

  async update({ planned, config }, prior, context) {
    const { name } = planned;
    const secret = secretToWrite(config.config_wo as Value, planned, prior);
    const isNoted = isImported(context.privateData) && isPossible(prior.source, planned.source);
    if (!isNoted) await checkSource(context.client, prior.source, planned.source, prior.name);
    const changed = await changeObject(context, { planned, secret }, prior);
    const { before } = changed;
    const runs = planned.running !== false && !isWaiting(before.config);
    const late = await writeFiles(context, prior.name, { wanted: planned.files, prior: prior.files, willRun: runs });
    const isRunning = isUp(before.status);
    const target = await moveTarget(context, planned, before);
    const stops =
      isRunning && (planned.running === false || (await mustRestart(context, planned, changed, target !== undefined)));
    const restarts = stops && planned.ephemeral === true && planned.running !== false;
    const end = restarts ? restartContainer : stopContainer;
    if (runs && (stops || !isRunning)) noteStart(context.privateData, prior.exec);
    if (stops) await end(context, before, planned.stop_timeout ?? 30);
    if (target !== undefined) await moveOrContinue(context, before, target, stops && planned.running !== false);
    await renameKind(context, 'container', prior, planned);
    // It starts when its member is restored.
    if (!runs) return afterStart(context, planned, prior, { late, hasStarted: false, runs });
    if ((stops && !restarts) || !isRunning) await startContainer(context, name);
    else if (isFrozen(before.status)) await thawContainer(context, name);
    if (stops) forgetRestart(context.privateData);
    return afterStart(context, planned, prior, { late, hasStarted: stops || !isRunning });
  },

  async delete(prior, context) {
    const { client, signal } = context;
    for (let attempt = 1; ; attempt += 1) {
      const seen = await client.client.get('container', prior.name, signal).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (seen === undefined) return;
      checkPlanned(`container ${prior.name}`, prior, seen.metadata);
      try {
        if (isUp(seen.metadata.status)) await stopContainer(context, seen.metadata, prior.stop_timeout ?? 30);
        await performDelete(context, () => client.client.delete('container', prior.name, signal));
        return;
      } catch (error) {
        signal.throwIfAborted();
        // A daemon that just started starts its containers one after another, perhaps this one only now.
        const isRunning = isRefused(error, 'running');
        if (!(isRunning || isNotFound(error)) || attempt >= 3) throw error;
        await pause(200, signal);
      }
    }
  },
});

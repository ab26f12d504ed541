// gantry_container: a system container, with its power, files and commands.
import type { Container } from '../../../server/api/container/container.ts';
import { isNotFound, isRefused } from '../../../server/client/client-error.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { deleteIfThere } from '../../../server/client/files/file-helpers.ts';
import { needCluster, needExtension, type Link } from '../../connection/link.ts';
import { failure, warning } from '../../framework/diagnostic.ts';
import { isImported, markImport } from '../../framework/import-mark.ts';
import type { Context, CreateContext } from '../../framework/object-type.ts';
import { asDynamicJson } from '../../framework/stored-state.ts';
import type { Value } from '../../framework/value.ts';
import { containerAttributes, type ContainerState, type FileSpec, type Source } from './container-attributes.ts';
import { backupProblems, fileProblems, policyProblems, sourceProblems, waitProblems } from './container-checks.ts';
import { dueCommands, notedCommands, runDue } from './container-commands.ts';
import { filesIn, readFileSpec, writeFileSpec } from './container-files.ts';
import { planContainer } from './container-plan.ts';
import { awaitAddress, startContainer, stopContainer, thawContainer, waitForAll } from './container-power.ts';
import { checkSource } from './same-source.ts';
import {
  backupSource,
  copySource,
  costOf,
  createBody,
  expanded,
  isFrozen,
  isUp,
  parseImageReference,
  putContainer,
  readContainer,
} from './container-state.ts';
import { isWaiting, readTarget } from '../shared/placement.ts';
import { checkDeclaredOnce, withoutApart } from '../shared/separate-devices.ts';
import { moveDue, moveTo, restartRefused } from './container-place.ts';
import { inTurn } from './container-queue.ts';
import { badId, parseImportId, type ImportId } from '../shared/import-ids.ts';
import { gantryResource } from '../shared/common-attributes.ts';
import { inherited } from './copy-source.ts';
import { createFromBackup } from './backup-file.ts';
import { conflicting, edit, editOf, keepEtag, perform, performCreate, performDelete } from '../shared/write.ts';

const shape =
  '[project/]name[,image=<alias, fingerprint or https://host/alias> | ,copy=<container>[/<snapshot>] | ,backup=<file>]';

export const container = gantryResource({
  typeName: 'gantry_container',
  doc: 'A system container. Changes apply to the running container where possible. Changes that take effect at a start restart it, which the plan announces. Another source or architecture, or a root disk in another pool, replaces it.',
  example: `resource "gantry_container" "web" {
  name     = "web"
  source   = { type = "image", alias = "debian/12" }
  profiles = ["default"]
  config   = { "limits.memory" = "256MiB" }
  devices = {
    http = { type = "proxy", listen = "tcp:0.0.0.0:8080", connect = "tcp:127.0.0.1:80" }
  }
  files = {
    "/etc/motd" = { content = "managed by Terraform\\n" }
  }
  wait_for = [{ type = "ipv4" }]
}
`,
  version: 1,
  upgrades: {
    // Declared with their exact type they would need a class that CDKTF lacks.
    0: (old) => ({
      ...old,
      expanded_devices: asDynamicJson(containerAttributes.expanded_devices.type, old['expanded_devices']),
    }),
  },
  attributes: containerAttributes,
  identity: ['name'],
  timeoutsMs: { create: 15 * 60_000, update: 10 * 60_000, delete: 10 * 60_000 },
  importing: {
    doc: `\`${shape}\`; \`image\`, \`copy\` or \`backup\` set its \`source\`, which is otherwise the fingerprint of its image. The next apply adds attributes that only the configuration knows (\`files\`, \`exec\`, \`wait_for\`, \`snapshots\`, \`stop_timeout\`, \`allow_restart\`) to the state`,
    example: 'web,image=debian/12',
    parse(id) {
      const { parts, options, scope } = parseImportId(id, 1, shape, ['image', 'copy', 'backup']);
      const source = sourceOf(options, id);
      return { name: parts[0] ?? '', ...scope, ...(source === undefined ? {} : { source }) };
    },
  },
  validate: ({ source, instance_type: instanceType, snapshots, config, files, wait_for: waits }) => [
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
    const seen = await context.client.reader.read('container', state.name, context.signal);
    if (seen === undefined) return null;
    keepEtag(context.privateData, seen);
    const isNew = state.running === null;
    if (isNew) markImport(context.privateData);
    const place = { target: state.target, isNew };
    const target = await readTarget(context, `container ${state.name}`, seen.object, place);
    return { ...readContainer(seen.object, state), target, files: await readFiles(context, state) };
  },

  async create({ planned }, context) {
    const { client } = context;
    const { name } = planned;
    if (planned.target !== null) needCluster(client, 'place containers on members (target)');
    if (planned.instance_type !== null) needExtension(client, 'instance_types', 'take instance_type');
    const target = planned.target ?? client.target;
    const source = await makeContainer(context, planned, target);
    if (['copy', 'backup'].includes(planned.source?.type ?? '')) await keepOnlyOwn(context, planned);
    await writeFiles(context, name, planned.files, null);
    return { source, ...(await afterStart(context, planned, null, planned.running !== false)) };
  },

  async update({ planned }, prior, context) {
    const { name } = planned;
    const isNoted = isImported(context.privateData) && planned.source?.type === 'backup';
    if (!isNoted) await checkSource(context.client, prior.source, planned.source, prior.name);
    const before = await changeObject(context, planned, prior);
    await writeFiles(context, prior.name, planned.files, prior.files);
    const isRunning = isUp(before.status);
    const target = await moveDue(context, planned, before);
    const stops =
      isRunning && (planned.running === false || (await mustRestart(context, planned, before, target !== undefined)));
    if (stops) await stopContainer(context, before, planned.stop_timeout ?? 30);
    if (target !== undefined) await moveOrGoOn(context, before, target, stops && planned.running !== false);
    if (name !== prior.name)
      await perform(context, () => context.client.client.rename('container', prior.name, name, context.signal));
    // It starts when its member is restored.
    if (planned.running === false || isWaiting(before.config)) return afterStart(context, planned, prior, false, false);
    if (stops || !isRunning) await startContainer(context, name);
    else if (isFrozen(before.status)) await thawContainer(context, name);
    return afterStart(context, planned, prior, stops || !isRunning);
  },

  async delete(prior, context) {
    const { client, signal } = context;
    for (let attempt = 1; ; attempt += 1) {
      const seen = await client.client.get('container', prior.name, signal).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (seen === undefined) return;
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

/** The source from an import id; undefined when the id names none. */
function sourceOf({ image, copy, backup }: ImportId['options'], id: string): Source | undefined {
  if (backup !== undefined && backup !== '' && image === undefined && copy === undefined) return backupSource(backup);
  if (backup !== undefined) throw badId(id, shape);
  if (copy !== undefined && copy !== '' && image === undefined) return copySource(copy);
  if (image === undefined && copy === undefined) return undefined;
  const source = copy === undefined ? parseImageReference(image ?? '') : undefined;
  if (source !== undefined) return source;
  throw badId(id, shape);
}

/** Resolves to the source for the new state. */
async function makeContainer(
  context: CreateContext<Link>,
  planned: ContainerState,
  target: string | undefined,
): Promise<Source | null> {
  const { source } = planned;
  if (source?.type === 'backup') return createFromBackup(context, planned, source, target);
  const body = { ...createBody(planned), ...(await inherited(context, planned)) };
  const write = target === undefined ? {} : { target };
  await performCreate(context, () => context.client.client.create('container', body, write, context.signal));
  return source;
}

/** A copy or a restored backup starts with the config and devices of its source. This removes those that are not configured. */
async function keepOnlyOwn(context: Context<Link>, planned: ContainerState): Promise<void> {
  const change = {
    changedSince: () => [],
    body: (live: Container) => putContainer(planned, planned, withoutApart(live)),
  };
  await edit(context, editOf(context, 'container', planned.name, change));
}

/** Writes config, devices and other members; returns their former values. */
function changeObject(context: Context<Link>, planned: ContainerState, prior: ContainerState): Promise<Container> {
  const change = editOf(context, 'container', prior.name, {
    changedSince: (live) =>
      conflicting({ prior, planned }, (state) => readContainer(live, state), [
        'description',
        'profiles',
        'ephemeral',
        'config',
        'devices',
        'snapshots',
      ]),
    body: (live) => {
      checkDeclaredOnce(live, planned.devices);
      return putContainer(planned, prior, live);
    },
  });
  return inTurn(context.client, prior.name, () => edit(context, change));
}

/** Compares the expanded config and devices, which merge the profiles and its own keys. */
async function mustRestart(
  context: Context<Link>,
  planned: ContainerState,
  before: Container,
  moves: boolean,
): Promise<boolean> {
  const after = (await context.client.client.get('container', before.name, context.signal)).metadata;
  if (planned.name !== before.name || moves) {
    if (planned.allow_restart !== false) return true;
    throw restartRefused(before.name, moves ? 'moved' : 'renamed');
  }
  const { effect, causes } = costOf(expanded(before), expanded(after));
  if (effect !== 'restart') return false;
  if (planned.allow_restart !== false) return true;
  const detail = `${causes.join(', ')} will take effect at its next start, since allow_restart is false.`;
  context.warn(warning(`The container ${before.name} was not restarted`, detail));
  return false;
}

/** A container that stopped for a move which fails runs again where it is. */
async function moveOrGoOn(
  context: Context<Link>,
  { name }: Container,
  target: string,
  wasStopped: boolean,
): Promise<void> {
  try {
    await moveTo(context, name, target);
  } catch (error) {
    if (wasStopped && !context.signal.aborted) await startContainer(context, name).catch(() => undefined);
    throw error;
  }
}

async function afterStart(
  context: Context<Link>,
  planned: ContainerState,
  prior: ContainerState | null,
  hasStarted: boolean,
  runs = planned.running !== false,
): Promise<Partial<ContainerState>> {
  const { name } = planned;
  if (prior === null && runs) await startContainer(context, name);
  if (runs && hasStarted) {
    if (planned.wait_for === null) await awaitAddress(context, name);
    else await waitForAll(context, name, planned.wait_for);
  }
  const noted = notedCommands(context, name, planned.exec);
  const due = runs ? dueCommands({ wanted: planned.exec, prior: prior?.exec, hasStarted, noted }) : [];
  return { exec: await runDue(context, name, planned.exec, prior?.exec, due) };
}

type Files = Readonly<Record<string, FileSpec>>;

async function readFiles(context: Context<Link>, { name, files }: ContainerState): Promise<Files | null> {
  if (files === null) return null;
  const access = filesIn(context, name);
  const found: Record<string, FileSpec> = {};
  for (const [path, file] of Object.entries(files)) {
    const seen = await readFileSpec(access, path, file, context.signal);
    if (seen !== undefined) found[path] = seen;
  }
  return found;
}

async function writeFiles(
  context: Context<Link>,
  name: string,
  wanted: Files | null,
  prior: Files | null,
): Promise<void> {
  const access = filesIn(context, name);
  for (const [path, file] of Object.entries(wanted ?? {})) {
    const before = prior?.[path];
    const isSame =
      before !== undefined &&
      (['sha256', 'mode', 'uid', 'gid'] as const).every((member) => before[member] === file[member]);
    if (!isSame) await writeFileSpec(access, path, file, context.signal);
  }
  for (const path of Object.keys(prior ?? {})) {
    if (wanted?.[path] === undefined) await deleteIfThere(access, path, context.signal);
  }
}

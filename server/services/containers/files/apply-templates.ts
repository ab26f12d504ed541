// Renders the image's templates into a container's files before it starts (real system section 14.2).
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { isTrue } from '../../../api/container/container-config.ts';
import { newerSeedKey } from '../../../api/container/cloud-init-seed-keys.ts';
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import type { ContainerMetadata } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import { DriverError } from '../../../drivers/driver-error.ts';
import type { FileRoot } from '../../../drivers/files/driver.ts';
import { makeDirectory } from '../../../drivers/files/make.ts';
import { readEntry } from '../../../drivers/files/read.ts';
import { writeFile } from '../../../drivers/files/write.ts';
import { Callable, renderTemplate } from '../../../lib/template/render.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf } from '../../shared/find-container.ts';
import { treeOnDisk, volumeDir } from './file-tree.ts';
import { readMetadata } from './metadata.ts';
import { maxTemplates } from './metadata-check.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { readMetadataText, readTemplateText } from './volume-files.ts';
import { reasonOf } from '../../../lib/shared/reason.ts';
import { plainName } from '../../../api/project/project-names.ts';

/** Set by create and copy: their templates are applied at the first start. */
export const applyTemplateKey = 'volatile.apply_template';

type ApplyDeps = Pick<ContainerDeps, 'records' | 'pools' | 'view' | 'runtime' | 'idMaps'>;

/** The container is stopped and its lock held. Throws AppError badRequest naming the template and its problem. */
export async function applyTemplates(
  deps: ApplyDeps,
  entry: ContainerEntry,
  rootfs: string,
  signal: AbortSignal,
): Promise<void> {
  const volume = volumeDir(deps, entry.name, entry.document.pool);
  if ((await readMetadataText(volume, `container ${entry.name}`)) === undefined) return;
  const { templates } = await readMetadata(deps, entry);
  const due = dueTemplates(templates, entry.document.config[applyTemplateKey]);
  if (due.length === 0) return;
  if (due.length > maxTemplates)
    throw errors.badRequest(`The image of ${entry.name} has more than ${maxTemplates} templates`);
  const tree = treeOnDisk(deps, entry, rootfs);
  for (const one of due) {
    signal.throwIfAborted();
    await applyOne(deps, entry, { volume, tree }, one, signal);
  }
}

/** Shorter than the wait of a reboot. */
const betweenBootsMs = 5000;

/** For a container that reboots from inside: applies what every start does. Nothing can refuse the next boot, so a template that cannot be
 *  rendered is logged; the wait for the container's lock is shorter than the reboot's. */
export async function templatesBetweenBoots(
  deps: ApplyDeps & Pick<ContainerDeps, 'locks'>,
  name: string,
): Promise<void> {
  const tooLate = AbortSignal.timeout(betweenBootsMs);
  const applied = deps.locks.run(lockOf(name), async () => {
    const entry = deps.records.containers.get(name);
    if (tooLate.aborted || entry?.document.lifecycle !== 'ready') return;
    await applyTemplates(deps, entry, join(volumeDir(deps, name, entry.document.pool), 'rootfs'), tooLate);
  });
  applied.catch(() => {});
  await Promise.race([applied, once(tooLate, 'abort')]);
  if (tooLate.aborted) throw errors.internal(`The templates of ${name} were not applied: it was busy when it rebooted`);
}

export function withoutTemplateTrigger(config: ConfigMap): ConfigMap {
  return Object.fromEntries(Object.entries(config).filter(([key]) => key !== applyTemplateKey));
}

interface DueTemplate {
  readonly trigger: string;
  readonly target: string;
  readonly template: ContainerMetadata['templates'][string];
}

/** Templates pending since create or copy come first, then those of every start. Pure. */
export function dueTemplates(
  templates: ContainerMetadata['templates'],
  waiting: string | undefined,
): readonly DueTemplate[] {
  return [...(waiting === undefined || waiting === '' ? [] : [waiting]), 'start'].flatMap((trigger) =>
    Object.entries(templates)
      .filter(([, template]) => template.when.includes(trigger))
      .map(([target, template]) => ({ trigger, target, template })),
  );
}

async function applyOne(
  deps: ApplyDeps,
  entry: ContainerEntry,
  { volume, tree }: { readonly volume: string; readonly tree: FileRoot },
  { trigger, target, template }: DueTemplate,
  signal: AbortSignal,
): Promise<void> {
  const path = Buffer.from(target);
  if (template.create_only && (await isThere(tree, path))) return;
  const fail = (why: string): never => {
    throw errors.badRequest(
      `Cannot make ${target} of container ${entry.name} from template ${template.template}: ${why}`,
    );
  };
  const source =
    (await readTemplateText(volume, `container ${entry.name}`, template.template)) ?? fail('the template is missing');
  const { config, devices } = deps.view.expanded(entry);
  let text = '';
  try {
    text = renderTemplate(
      source.toString('utf8'),
      templateContext(entry, { config, devices }, { trigger, target, template }),
    );
  } catch (error) {
    fail(reasonOf(error));
  }
  await makeParents(tree, target);
  // Programs of any user of the container read files from an image.
  const options = { append: false, ...((await isThere(tree, path)) ? {} : { mode: 0o644 }) };
  await writeFile(tree, path, Readable.from(text === '' ? [] : [Buffer.from(text)]), options, signal);
}

export function templateContext(
  { name, document }: ContainerEntry,
  { config, devices }: { readonly config: ConfigMap; readonly devices: DeviceMap },
  { trigger, target, template }: DueTemplate,
): Record<string, unknown> {
  const container = {
    name: plainName(name),
    architecture: document.architecture,
    privileged: String(isTrue(config['security.privileged'] ?? '')),
    ephemeral: String(document.ephemeral),
  };
  return {
    trigger,
    path: target,
    container,
    // The name in newer images.
    instance: { ...container, type: 'container' },
    config,
    devices,
    properties: template.properties,
    config_get: new Callable(([key = '', fallback = '']) =>
      typeof key === 'string' ? (templateValue(config, key) ?? fallback) : fallback,
    ),
  };
}

/** Templates of older images read only `user.user-data`: `cloud-init.user-data` overrides it there, too. */
function templateValue(config: ConfigMap, key: string): string | undefined {
  const newer = newerSeedKey(key);
  const overriding = newer === undefined ? '' : (config[newer] ?? '');
  return overriding || (Object.hasOwn(config, key) ? config[key] : undefined);
}

async function isThere(tree: FileRoot, path: Buffer): Promise<boolean> {
  try {
    const entry = await readEntry(tree, path);
    if (entry.type === 'file') entry.content.destroy();
    return true;
  } catch (error) {
    if (error instanceof DriverError && error.code === 'NotFound') return false;
    // A FIFO or the like: something exists there.
    if (error instanceof DriverError && error.code === 'Invalid') return true;
    throw error;
  }
}

async function makeParents(tree: FileRoot, target: string): Promise<void> {
  const parents: string[] = [];
  for (let dir = dirname(target); dir !== '/' && dir !== '.'; dir = dirname(dir)) parents.push(dir);
  for (const dir of parents.toReversed()) await makeDirectory(tree, Buffer.from(dir), { mode: 0o755 });
}

// Finds declarations that are impossible or exclude each other, which the server would only refuse in the middle of an apply.
import { architectureName } from '../../../server/api/image/architectures.ts';
import { isRoot } from '../../../server/api/devices/index.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf, presentTexts, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { runnableArchitectures } from '../live/architectures.ts';
import { scopesOf } from '../live/project-scope.ts';
import { containerClashes } from './containers.ts';
import { declaredContainers, expectedContainers, type ExpectedContainer } from './expected-containers.ts';
import { overlappingSubnets } from './networks.ts';
import { sharedPaths } from './shared-paths.ts';
import { uselessAddresses } from './static-addresses.ts';
import { rawLxcProblems } from '../../../server/api/container/raw-lxc.ts';

/** Resources that two objects claim and only one can have. With an empty world: from the documents alone. */
export function clashes(objects: readonly Document[], observed: Observed): readonly Diagnostic[] {
  const containers = expectedContainers(objects, observed);
  return [
    ...overlappingSubnets(objects, observed),
    ...containerClashes(containers),
    ...sharedPaths(containers, observed),
    ...lostRoots(containers, observed),
    ...uselessAddresses(containers, objects, observed),
    ...refusedValues(objects, observed),
  ];
}

/** New containers without a root disk. */
export const rootlessContainers = (objects: readonly Document[], observed: Observed): readonly Diagnostic[] =>
  declaredContainers(
    objects.filter(({ kind, name }) => kind === 'profile' || (kind === 'container' && !observed.containers.has(name))),
    observed,
  ).flatMap(({ document, devices, isKnown }: ExpectedContainer) =>
    document === undefined || !isKnown || isCopy(document) || Object.values(devices).some(isRoot)
      ? []
      : [withoutRoot(document, `${document.address} has no root disk`)],
  );

/** Containers that this set does not declare, and whose profiles lose the root disk. */
const lostRoots = (containers: readonly ExpectedContainer[], observed: Observed): readonly Diagnostic[] =>
  containers.flatMap(({ name, address, document, devices, layers = [] }) => {
    const now = observed.containers.get(name)?.object.expanded_devices ?? {};
    if (document !== undefined || !Object.values(now).some(isRoot) || Object.values(devices).some(isRoot)) return [];
    const profile = layers.find((layer) => layer.document !== undefined)?.document;
    return profile === undefined ? [] : [withoutRoot(profile, `${address} would lose its root disk`)];
  });

/** A copy gets the root disk of its source. */
const isCopy = ({ values }: Document): boolean => mapOf(values['source'])['type'] === 'copy';

const withoutRoot = (document: Document, what: string): Diagnostic => ({
  severity: 'error',
  code: 'no-root-disk',
  address: document.address,
  path: 'devices',
  message: `${what}: neither its devices nor its profiles have a disk with path /`,
  remedy: 'give it or one of its profiles a device, such as root: {type: disk, path: /, pool: default}',
  ...document.location,
});

/** Finds valid values that this server would refuse: missing pool drivers, architectures that its host does not run, lines of
 *  raw.lxc. */
const refusedValues = (objects: readonly Document[], observed: Observed): readonly Diagnostic[] =>
  objects.flatMap((object) => [
    ...missingDriver(object, observed),
    ...foreignArchitecture(object, observed),
    ...refusedLines(object, observed),
  ]);

function missingDriver(object: Document, { pools, server }: Observed): readonly Diagnostic[] {
  const driver = textOf(object.values['driver']);
  if (object.kind !== 'storage_pool' || driver === undefined || pools.has(object.name)) return [];
  const { poolDrivers } = server;
  if (poolDrivers === undefined || poolDrivers.includes(driver)) return [];
  const message = `the server cannot make ${object.address}: it has no driver ${driver}, only ${poolDrivers.join(', ')}`;
  const remedy = `choose one of these drivers, or install the programs of ${driver} on its host and restart the server`;
  return [problem(object, 'driver', message, remedy)];
}

/** New containers, and those that the plan makes again, whose own architecture or that of their image no host of the server runs. */
function foreignArchitecture(object: Document, observed: Observed): readonly Diagnostic[] {
  const runnable = runnableArchitectures(observed);
  if (object.kind !== 'container' || runnable === undefined) return [];
  const live = observed.containers.get(object.name)?.object.architecture;
  const own = architectureName(textOf(object.values['architecture']) ?? '');
  // LXD goes by the image alone.
  const chosen = own === undefined || own === live || observed.server.isGantry !== true ? [] : [['architecture', own]];
  const image = live === undefined ? imageArchitecture(object, observed) : undefined;
  return [...chosen, ...(image === undefined ? [] : [['source', image]])].flatMap(([path = '', name = '']) => {
    if (runnable.includes(name)) return [];
    const message = `the server would refuse ${object.address}: ${path === 'source' ? 'its image is for' : 'it is for'} ${name}, and the host runs ${runnable.join(', ')}`;
    return [problem(object, path, message, `choose an image and an architecture that the host runs`)];
  });
}

/** Undefined for an image that the server does not have. */
function imageArchitecture({ values, project }: Document, observed: Observed): string | undefined {
  const source = mapOf(values['source']);
  const of = (key: string): string => textOf(source[key]) ?? '';
  if (of('type') !== 'image' || of('server') !== '') return undefined;
  const { keyOf } = scopesOf(observed, []);
  const aliased = observed.aliases.get(keyOf('image_alias', of('alias'), project))?.object.target;
  const target = of('alias') === '' ? of('fingerprint') : aliased;
  if (target === undefined || target === '') return undefined;
  const image = [...observed.images.values()].find(({ object }) => object.fingerprint.startsWith(target));
  return architectureName(image?.object.architecture ?? '');
}

/** The rules of gantryd; LXD has its own. */
function refusedLines(object: Document, { containers, profiles, server }: Observed): readonly Diagnostic[] {
  if (server.isGantry !== true || (object.kind !== 'container' && object.kind !== 'profile')) return [];
  const live = (object.kind === 'container' ? containers : profiles).get(object.name)?.object.config;
  return rawLxcProblems(presentTexts(mapOf(object.values['config'])), live).map(({ path, message }) =>
    problem(object, path, `the server would refuse ${object.address}: ${message}`, 'change or remove that line'),
  );
}

const problem = (object: Document, path: string, message: string, remedy: string): Diagnostic => ({
  severity: 'error',
  code: 'refused-value',
  address: object.address,
  path,
  message,
  remedy,
  ...object.location,
});

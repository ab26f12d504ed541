// Rules of gantry.yaml between its parts: names are unique, references name something, sets do not wait for each other in a ring.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { wrong, type Finding } from '../../manifest/text/finding.ts';
import type { ControllerFile, WrittenSet } from './schema.ts';

export function checkNames(file: ControllerFile): readonly Finding[] {
  const findings: Finding[] = [];
  const { sources, sets = [], notifications = [] } = file;
  for (const [list, entries] of Object.entries({ sources, sets, notifications }))
    findings.push(...duplicates(list, entries));
  const known = { source: sources.map(({ name }) => name), set: sets.map(({ name }) => name) };
  for (const [index, set] of sets.entries()) {
    const at = `sets.${index}`;
    findings.push(
      ...unknown(`${at}.source`, 'source', set.source, known.source),
      ...pushable(`${at}.images`, set, sources),
    );
    for (const [at2, name] of (set.dependsOn ?? []).entries())
      findings.push(...unknown(`${at}.dependsOn.${at2}`, 'set', name, known.set));
    for (const [at2, name] of (set.notify ?? []).entries())
      findings.push(
        ...unknown(
          `${at}.notify.${at2}`,
          'notification',
          name,
          notifications.map((one) => one.name),
        ),
      );
  }
  for (const [index, source] of sources.entries())
    findings.push(...oneOf(`sources.${index}`, source, ['git', 'directory', 'archive', 'oci', 'bucket']));
  for (const [index, notification] of notifications.entries())
    findings.push(
      ...oneOf(`notifications.${index}`, notification, ['webhook', 'slack', 'matrix', 'commitStatus', 'email']),
    );
  const ring = findings.length > 0 ? undefined : ringOf(sets);
  if (ring !== undefined)
    findings.push(
      wrong('bad-config', `sets.${ring.index}.dependsOn`, `the sets wait for each other: ${ring.names.join(' -> ')}`),
    );
  return findings;
}

/** Where the commits of image updates go. */
export function pushable(
  path: string,
  { name, images, source }: WrittenSet,
  sources: ControllerFile['sources'],
): readonly Finding[] {
  const found = sources.find((one) => one.name === source);
  if (images === undefined || found === undefined) return [];
  if (found.git === undefined)
    return [wrong('bad-config', path, `${name} cannot have images: its source ${source} is not a git repository`)];
  const { tag, semver } = found.git;
  if (images.branch !== undefined || (tag === undefined && semver === undefined)) return [];
  return [wrong('bad-config', path, `${path} must name a branch to push to: the source ${source} follows tags`)];
}

const duplicates = (list: string, entries: readonly { readonly name: string }[]): readonly Finding[] =>
  entries.flatMap(({ name }, index) =>
    entries.findIndex((one) => one.name === name) === index
      ? []
      : [wrong('bad-config', `${list}.${index}.name`, `the name ${name} is used twice in ${list}`)],
  );

function oneOf(path: string, entry: { readonly name: string }, kinds: readonly string[]): readonly Finding[] {
  const count = kinds.filter((kind) => kind in entry).length;
  if (count === 1) return [];
  return [wrong('bad-config', path, `${entry.name} must have exactly one of ${kinds.join(', ')}; it has ${count}`)];
}

const unknown = (path: string, what: string, name: string, known: readonly string[]): readonly Finding[] =>
  known.includes(name) ? [] : [wrong('bad-config', path, `there is no ${what} ${name}${hint(name, known)}`)];

type Waiting = { readonly name: string; readonly dependsOn?: readonly string[] };

/** The first ring of sets. */
export function ringOf(
  sets: readonly Waiting[],
): { readonly index: number; readonly names: readonly string[] } | undefined {
  const byName = new Map(sets.map((set) => [set.name, set]));
  const walk = (name: string, trail: readonly string[]): readonly string[] | undefined => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name];
    for (const next of byName.get(name)?.dependsOn ?? []) {
      const found = walk(next, [...trail, name]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  for (const [index, { name }] of sets.entries()) {
    const names = walk(name, []);
    if (names !== undefined) return { index, names };
  }
  return undefined;
}

// Warns about limits and restrictions of projects that the result of a plan would break: the server would refuse some of its steps. The
// rules are those of the daemon (server/api/project); links in host paths are not followed here.
import {
  emptyContents,
  type ProjectContents,
  type ProjectMember,
  type ProjectProblem,
} from '../../../server/api/project/project-contents.ts';
import { defaultProject } from '../../../server/api/project/project-names.ts';
import { isLimited, newProjectProblems } from '../../../server/api/project/project-problems.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import { addressOf, type Address, type Document, type JsonObject } from '../documents/document.ts';
import { mapOf, presentTexts, textOf } from '../documents/json-values.ts';
import type { Live, Observed } from '../documents/observed.ts';
import { expandContainer } from '../live/expand-profiles.ts';
import { projectOfLive, scopesOf } from '../live/project-scope.ts';
import { projectWorld } from '../live/world-after-steps.ts';
import type { Step } from '../plan/plan.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';

/** One warning per problem; none for existing problems that do not get worse. */
export function projectLimitWarnings(
  objects: readonly Document[],
  observed: Observed,
  steps: readonly Step[],
): readonly Diagnostic[] {
  if (observed.projects.size === 0 && !steps.some(({ kind }) => kind === 'project')) return [];
  const after = projectWorld(observed, steps);
  const limited = [...after.projects].filter(([, { object }]) => isLimited(presentTexts(object.config)));
  return limited.flatMap(([project]) => {
    const now = observed.projects.has(project) ? contentsOf(observed, project) : undefined;
    const then = { ...contentsOf(after, project), snapshots: snapshotsIn(steps, observed, project) };
    const broken = newProjectProblems(now, then, asWritten);
    if (broken.length > 0) return broken.map((problem) => warningOf(problem, project, objects, observed));
    // The project changes before its contents do.
    const between = now === undefined ? [] : newProjectProblems(now, { ...now, config: then.config }, asWritten);
    return between.slice(0, 1).map((problem) => tooEarly(problem, project, objects, observed));
  });
}

/** Links are not resolved: only the host could. */
const asWritten = (path: string): string => path;

function contentsOf(observed: Observed, project: string): ProjectContents {
  const { hasOwn, keyOf } = scopesOf(observed);
  const isIn = (object: object): boolean =>
    (projectOfLive(observed, object) ?? observed.base ?? defaultProject) === project;
  const own = <T extends object>(kind: KindName, table: ReadonlyMap<string, Live<T>>): readonly JsonObject[] =>
    hasOwn(kind, project) ? [...table.values()].map(({ object }) => object as unknown as JsonObject).filter(isIn) : [];
  const profileOf = (name: string, of: string | undefined): JsonObject | undefined =>
    observed.profiles.get(keyOf('profile', name, of))?.object;
  const nameOf = (object: JsonObject): string => textOf(object['name']) ?? '';
  return {
    ...emptyContents(project, presentTexts(observed.projects.get(project)?.object.config)),
    containers: own('container', observed.containers).map((object): ProjectMember => {
      return { name: nameOf(object), ...expandContainer(object, profileOf) };
    }),
    profiles: own('profile', observed.profiles).map((object) => ({
      name: nameOf(object),
      ...expandContainer({ config: mapOf(object['config']), devices: mapOf(object['devices']) }, () => undefined),
    })),
    volumes: own('storage_volume', observed.volumes).map((object) => ({
      pool: textOf(object['pool']) ?? '',
      name: nameOf(object),
      config: presentTexts(object['config']),
    })),
    networks: own('network', observed.networks)
      .filter((object) => object['managed'] !== false)
      .map(nameOf),
    images: Object.fromEntries(
      own('image', observed.images).map((object) => [
        textOf(object['fingerprint']) ?? '',
        typeof object['size'] === 'number' ? object['size'] : 0,
      ]),
    ),
  };
}

const snapshotsIn = (steps: readonly Step[], { base = defaultProject }: Observed, project: string): readonly string[] =>
  steps.flatMap((step) =>
    step.action === 'snapshot' && (step.project ?? base) === project
      ? [`${plainName(step.name, step.project)}/${step.snapshot}`]
      : [],
  );

const kindOf: Readonly<Partial<Record<string, KindName>>> = {
  container: 'container',
  profile: 'profile',
  volume: 'storage_volume',
  image: 'image',
};

function warningOf(
  { subject, path, message }: ProjectProblem,
  project: string,
  objects: readonly Document[],
  { base = defaultProject }: Observed,
): Diagnostic {
  const kind = subject === undefined ? 'project' : (kindOf[subject.kind] ?? 'container');
  const [name = ''] = subject?.kind === 'snapshot' ? subject.name.split('/') : [subject?.name ?? project];
  const address: Address = addressOf(kind, kind === 'project' || project === base ? name : scopedName(name, project));
  const what = subject?.kind === 'snapshot' ? `snapshot ${subject.name} ` : path === '' ? '' : `${path} `;
  return {
    severity: 'warning',
    code: 'project-limit',
    address,
    path: subject === undefined ? `config.${path}` : path,
    message: `the server will refuse ${address}: ${what}${message}`,
    remedy: `change the objects of the project ${project}, or its limits and restrictions`,
    ...objects.find((one) => one.address === address)?.location,
  };
}

function tooEarly(
  problem: ProjectProblem,
  project: string,
  objects: readonly Document[],
  observed: Observed,
): Diagnostic {
  const { subject, ...own } = problem;
  const what = subject === undefined ? '' : `${subject.kind} ${subject.name} `;
  return {
    ...warningOf(own, project, objects, observed),
    path: 'config',
    message: `the server will refuse project/${project}: it changes before its contents, and as they are now ${what}${problem.path} ${problem.message}`,
    remedy: 'change the contents with one apply, and the limits or restrictions of the project with the next',
  };
}

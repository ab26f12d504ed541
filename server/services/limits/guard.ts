// Refuses transactions that would break a limit or a restriction of a project. Every change passes here before it is recorded, so that none
// is missed and two at once cannot take the last place.
import { AppError, errors } from '../../api/errors.ts';
import type { ProjectProblem, SubjectKind } from '../../api/project/project-contents.ts';
import { isLimited, newProjectProblems } from '../../api/project/project-problems.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import type { Problem } from '../../api/problem.ts';
import type { Kind } from '../../records/documents.ts';
import type { Changes, Guard, Put, Records } from '../../records/records.ts';
import { volumeIdOf } from '../../records/record-names.ts';
import { heldBy } from '../shared/owned-records.ts';
import { isServerKey } from '../shared/expand.ts';
import { configOf, contentsOf, usersOfProfilesIn } from './contents-of.ts';
import { resolveOnHost } from './host-paths.ts';
import { RecordView } from './view.ts';

export const projectGuard =
  (records: Records): Guard =>
  (changes, others) => {
    if (!changes.puts.some((put) => isRelevant(records, put))) return;
    const before = new RecordView(records, others);
    const after = new RecordView(records, others, changes);
    for (const project of new Set(changes.puts.flatMap((put) => projectsOf(after, put)))) {
      const config = configOf(after, project);
      if (config === undefined || !isLimited(config)) continue;
      // Serializes with other members' changes in the project.
      changes.takeTurn('projects', project);
      // Serializes with changes of the project itself.
      if (
        records.projects.has(project) &&
        !changes.puts.some(({ kind, name }) => kind === 'projects' && name === project)
      )
        changes.require('projects', project);
      const then = contentsOf(after, project);
      const problems = then === undefined ? [] : newProjectProblems(contentsOf(before, project), then, resolveOnHost);
      if (problems.length > 0) throw refusal(project, changes, problems);
    }
  };

const relevant: ReadonlySet<Kind> = new Set<Kind>([
  'containers',
  'snapshots',
  'backups',
  'profiles',
  'networks',
  'volumes',
  'volumeSnapshots',
  'images',
  'projects',
  'sagas',
]);

/** A container's description changes rarely; the daemon's notes on it change at each start. */
function isRelevant(records: Records, put: Put): boolean {
  if (!relevant.has(put.kind)) return false;
  if (put.kind !== 'containers') return true;
  const known = records.containers.get(put.name)?.document;
  return known === undefined || known.pool !== put.document.pool || askedFor(known) !== askedFor(put.document);
}

function askedFor({ profiles, config, devices }: Extract<Put, { kind: 'containers' }>['document']): string {
  const own = Object.entries(config).filter(([key]) => !isServerKey(key));
  return JSON.stringify([profiles, own, devices]);
}

/** The projects whose contents the record is part of. */
function projectsOf(view: RecordView, put: Put): readonly string[] {
  const { kind, name } = put;
  if (kind === 'images') return [projectOf(name)];
  if (kind === 'projects') return [name];
  if (kind === 'profiles') return usersOfProfilesIn(view, projectOf(name));
  if (kind === 'networks') return ['default'];
  if (put.kind === 'sagas')
    return (put.document.holds ?? []).flatMap((holder) => projectOfHeld(view, holder.kind, holder.name));
  return projectOfHeld(view, kind, name);
}

function projectOfHeld(view: RecordView, kind: Kind, name: string): readonly string[] {
  const holder = heldBy(kind, name, (owners) => view.list(owners));
  if (holder === undefined) return [];
  return [projectOf(holder.kind === 'volumes' ? volumeIdOf(holder.name).name : holder.name)];
}

/** A changed project is refused because of its new config; any other change because the project forbids it. */
function refusal(project: string, changes: Changes, problems: readonly ProjectProblem[]): AppError {
  const changed = changes.puts.flatMap(subjectOf);
  const only = changed.length === 1 ? changed[0] : undefined;
  const reported: readonly Problem[] = problems.map(({ subject, path, message }) => {
    if (subject === undefined || (only?.kind === subject.kind && only.name === subject.name)) return { path, message };
    const place = `${subject.kind} ${subject.name}`;
    return { path: path === '' ? place : `${place}: ${path}`, message };
  });
  if (changes.puts.some(({ kind }) => kind === 'projects')) return errors.invalid(`project ${project}`, reported);
  const text = reported.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('; ');
  return new AppError('forbidden', `The project ${project} does not allow this: ${text}`, { details: reported });
}

const kinds: Partial<Record<Kind, SubjectKind>> = { containers: 'container', profiles: 'profile', volumes: 'volume' };

function subjectOf({ kind, name }: Put): readonly { readonly kind: SubjectKind; readonly name: string }[] {
  const subject = kinds[kind];
  if (subject === undefined) return [];
  if (kind !== 'volumes') return [{ kind: subject, name: plainName(name) }];
  const volume = volumeIdOf(name);
  return [{ kind: subject, name: `${volume.pool}/${plainName(volume.name)}` }];
}

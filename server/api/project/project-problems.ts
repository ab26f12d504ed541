// Limits and restrictions together: which problems a change would add. Pure.
import type { ProjectContents, ProjectProblem } from './project-contents.ts';
import { limitProblems, setLimits } from './project-limits.ts';
import { isRestricted, restrictionProblems, type ResolvePath } from './project-restrictions.ts';

/** Whether there is anything to check. */
export const isLimited = (config: ProjectContents['config']): boolean =>
  isRestricted(config) || setLimits(config).length > 0;

export const projectProblems = (contents: ProjectContents, resolve: ResolvePath): readonly ProjectProblem[] => [
  ...limitProblems(contents),
  ...restrictionProblems(contents, resolve),
];

/** Existing problems do not refuse a change that adds none, such as a deletion. */
export function newProjectProblems(
  before: ProjectContents | undefined,
  after: ProjectContents,
  resolve: ResolvePath,
): readonly ProjectProblem[] {
  const found = projectProblems(after, resolve);
  if (found.length === 0 || before === undefined) return found;
  const old = projectProblems(before, resolve);
  const known = new Set(old.map(keyOf));
  const useBefore = new Map(old.flatMap(({ total }) => (total === undefined ? [] : [[total.key, total] as const])));
  return found.filter((problem) => {
    if (problem.total === undefined) return !known.has(keyOf(problem));
    const had = useBefore.get(problem.total.key);
    return had === undefined || had.use < problem.total.use || had.limit > problem.total.limit;
  });
}

const keyOf = ({ subject, path, message }: ProjectProblem): string =>
  JSON.stringify([subject?.kind, subject?.name, path, message]);

// On a daemon for unprivileged containers only, refuses transactions that make a container privileged, directly or by a profile: every
// change passes here before it is recorded. A container that was privileged before can be read, changed and deleted.
import { privilegeProblems } from '../../api/container/unprivileged-only.ts';
import { AppError } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Changes, Guard, Records } from '../../records/records.ts';
import { expand } from '../shared/expand.ts';
import { profilesSeenFrom } from './contents-of.ts';
import { plannedBy } from './planned.ts';
import { RecordView } from './view.ts';

export const unprivilegedGuard =
  (records: Records): Guard =>
  (changes, others) => {
    if (!changes.puts.some(({ kind }) => ['containers', 'profiles', 'sagas'].includes(kind))) return;
    const after = new RecordView(records, others, changes);
    const found = [...profileProblems(after, changes), ...containerProblems(after, changes)];
    if (found.length === 0) return;
    const before = new RecordView(records, others);
    const known = new Set([...profileProblems(before), ...containerProblems(before)].map(keyOf));
    const fresh = found.filter((each) => !known.has(keyOf(each)));
    if (fresh.length > 0) throw refusal(fresh);
  };

/** Throws AppError forbidden for a container that must not start on such a daemon. */
export function checkUnprivileged(name: string, config: ConfigMap): void {
  const found = privilegeProblems(config).map((problem) => ({
    problem,
    label: `container ${plainName(name)}`,
    of: '',
  }));
  if (found.length > 0) throw refusal(found);
}

interface PrivilegeProblem {
  readonly problem: Problem;
  readonly label: string;
  /** The same before and after a rename. */
  readonly of: string;
}

const keyOf = ({ of, problem }: PrivilegeProblem): string => `${of} ${problem.path}`;

function profileProblems(view: RecordView, changes?: Changes): readonly PrivilegeProblem[] {
  const changed = changes?.puts.filter(({ kind }) => kind === 'profiles').map(({ name }) => name);
  return view
    .list('profiles')
    .filter(({ name }) => changed?.includes(name) ?? true)
    .flatMap(({ name, document: { config } }) => {
      const of = JSON.stringify(['profile', config['security.privileged'], config['raw.idmap']]);
      return privilegeProblems(config).map((problem) => ({ problem, label: `profile ${plainName(name)}`, of }));
    });
}

/** Problems of all containers, if a profile or pending change may affect any of them. */
function containerProblems(view: RecordView, changes?: Changes): readonly PrivilegeProblem[] {
  const all = changes?.puts.some(({ kind }) => kind !== 'containers') ?? true;
  const changed = new Set(changes?.puts.flatMap(({ kind, name }) => (kind === 'containers' ? [name] : [])));
  const now = view.list('containers').filter(({ name }) => all || changed.has(name));
  const planned = all ? [...plannedBy(view).containers].map(([name, document]) => ({ name, document })) : [];
  return [...now, ...planned].flatMap((entry) => problemsOf(view, entry));
}

function problemsOf(
  view: RecordView,
  { name, document }: { readonly name: string; readonly document: ContainerDocument },
): readonly PrivilegeProblem[] {
  const { config } = expand(document, profilesSeenFrom(view, projectOf(name)));
  const label = `container ${plainName(name)}`;
  return privilegeProblems(config).map((problem) => ({ problem, label, of: document.uuid }));
}

function refusal(found: readonly Pick<PrivilegeProblem, 'label' | 'problem'>[]): AppError {
  const details = found
    .slice(0, 20)
    .map(({ label, problem: { path, message } }) => ({ path: `${label}: ${path}`, message }));
  const text = details.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new AppError('forbidden', `Privileged containers are not allowed: ${text}`, { details });
}

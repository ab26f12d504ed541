// Refuses transactions that give a container the hardware address of its bridge, or one of a restricted project an address of another
// project's container: only one of the two could be up, and the first to start would keep the other down.
import { errors } from '../../api/errors.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { isRestricted } from '../../api/project/project-restrictions.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import type { ContainerDocument, ProfileDocument } from '../../records/documents.ts';
import type { Changes, Guard, Records } from '../../records/records.ts';
import { expand } from '../shared/expand.ts';
import { bridgeHwaddr } from '../networks/bridge-hwaddr.ts';
import { bridgeProblems, claimsOf, isSameAddress, takenProblems, type Claim } from '../networks/nic-addresses.ts';
import { othersWith } from '../shared/other-users.ts';
import { containersWith } from '../shared/used-by.ts';
import { configOf, profilesSeenFrom, usersOfProfilesIn } from './contents-of.ts';
import { RecordView } from './view.ts';

export const addressGuard =
  (records: Records, driver: Pick<NetworkDriver, 'hwaddr'>): Guard =>
  (changes, others) => {
    if (!changes.puts.some(({ kind }) => kind === 'containers' || kind === 'profiles')) return;
    const after = new RecordView(records, others, changes);
    const before = new RecordView(records, []);
    for (const put of changes.puts) {
      if (put.kind !== 'containers' && put.kind !== 'profiles') continue;
      const fresh = put.kind === 'containers' ? freshClaims(records, before, after, put) : profileClaims(records, put);
      const problems = bridgeProblems(fresh, (network) => bridgeHwaddr(records, driver, network));
      if (problems.length > 0) throw errors.invalid(`${put.kind.slice(0, -1)} ${plainName(put.name)}`, problems);
    }
    const under = [...others, changes].flatMap(({ puts }) =>
      puts.flatMap(({ kind, name }) => (kind === 'containers' ? [name] : [])),
    );
    for (const { name, document } of touched(after, changes, (project) => isIn(after, project))) {
      const known = previous(records, name, document);
      const fresh = freshClaims(records, before, after, { name, document });
      // Serializes with other members' address changes on these networks.
      for (const network of newlyChosen(before, known, after, { name, document }))
        changes.takeTurn('networkDefinitions', network);
      const foreign = fresh.flatMap(({ network }) => claimsOn(records, after, network, under, { name, document }));
      const problems = takenProblems(fresh, foreign);
      if (problems.length > 0) throw errors.invalid(`container ${plainName(name)}`, problems);
    }
    if (records.member === undefined || !hasRestricted(after)) return;
    for (const one of touched(after, changes, (project) => !isIn(after, project)))
      for (const network of newlyChosen(before, previous(records, one.name, one.document), after, one))
        changes.require('networkDefinitions', network);
  };

interface NamedContainer {
  readonly name: string;
  readonly document: ContainerDocument;
}

/** The containers of such projects that the changes may give an address. */
function touched(
  after: RecordView,
  changes: Changes,
  isWanted: (project: string) => boolean,
): readonly NamedContainer[] {
  const own = changes.puts.flatMap((put) => (put.kind === 'containers' ? [put] : []));
  const users = changes.puts.flatMap((put) => {
    if (put.kind !== 'profiles') return [];
    const projects = usersOfProfilesIn(after, projectOf(put.name)).filter(isWanted);
    if (projects.length === 0) return [];
    const profile = plainName(put.name);
    return after
      .list('containers')
      .filter(({ name, document }) => projects.includes(projectOf(name)) && document.profiles.includes(profile));
  });
  return [...own, ...users].filter(({ name }) => isWanted(projectOf(name)));
}

const isIn = (view: RecordView, project: string): boolean => isRestricted(configOf(view, project) ?? {});

const hasRestricted = (view: RecordView): boolean =>
  view.list('projects').some(({ document }) => isRestricted(document.config));

/** Networks on which a user chose a new address for it: two may choose the same one at once, unlike random ones. */
function newlyChosen(
  before: RecordView,
  known: NamedContainer | undefined,
  after: RecordView,
  wanted: NamedContainer,
): ReadonlySet<string> {
  const chosenIn = (view: RecordView, { name, document }: NamedContainer): readonly Claim[] =>
    claimsOf(name, expand(document, profilesSeenFrom(view, projectOf(name))).devices, {});
  const had = known === undefined ? [] : chosenIn(before, known);
  const fresh = chosenIn(after, wanted).filter((claim) => !had.some((other) => isSameAddress(claim, other)));
  return new Set(fresh.map(({ network }) => network));
}

/** The same container as recorded, perhaps under another name: it moves. */
function previous(records: Records, name: string, { uuid }: ContainerDocument): NamedContainer | undefined {
  const entry = records.containers.get(name);
  if (entry !== undefined) return entry;
  return uuid === '' ? undefined : records.containers.list().find(({ document }) => document.uuid === uuid);
}

/** Addresses that it did not have before. */
function freshClaims(
  records: Records,
  before: RecordView,
  after: RecordView,
  wanted: NamedContainer,
): readonly Claim[] {
  const known = previous(records, wanted.name, wanted.document);
  const had = known === undefined ? [] : claims(before, known);
  return claims(after, wanted).filter((claim) => !had.some((other) => isSameAddress(claim, other)));
}

/** Hardware addresses that the profile did not have before. */
function profileClaims(records: Records, { name, document }: { name: string; document: ProfileDocument }) {
  const had = claimsOf(name, records.profiles.get(name)?.document.devices ?? {}, {});
  return claimsOf(name, document.devices, {}).filter((claim) => !had.some((other) => isSameAddress(claim, other)));
}

function claims(view: RecordView, { name, document }: NamedContainer): readonly Claim[] {
  const { devices, config } = expand(document, profilesSeenFrom(view, projectOf(name)));
  return claimsOf(name, devices, config);
}

/** Claims of other projects' containers, on any member. */
function claimsOn(
  records: Records,
  after: RecordView,
  network: string,
  under: readonly string[],
  { name, document: { uuid } }: NamedContainer,
): readonly Claim[] {
  const isForeign = (other: NamedContainer): boolean =>
    projectOf(other.name) !== projectOf(name) && other.document.uuid !== uuid;
  const there = containersWith(records, 'network', network).map((entry) => entry.name);
  const here = [...new Set([...there, ...under])].flatMap((other) => {
    const document = after.get('containers', other);
    return document === undefined ? [] : [{ name: other, document }];
  });
  return [...here, ...othersWith(records, 'network', network)]
    .filter(isForeign)
    .flatMap((other) => claims(after, other));
}
